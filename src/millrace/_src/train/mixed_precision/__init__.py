"""Mixed precision: which cells compute in a smaller type, and how the loss is scaled so that gradients survive it."""
