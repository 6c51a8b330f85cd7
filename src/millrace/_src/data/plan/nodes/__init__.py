"""Plan nodes: one class per op of a pipeline."""
