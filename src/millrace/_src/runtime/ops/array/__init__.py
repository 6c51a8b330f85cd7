"""Array."""
