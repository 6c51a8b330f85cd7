"""Mixed precision: casting levels, cast lists, loss scaling."""
