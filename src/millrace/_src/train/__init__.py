"""Training: `Model`, callbacks, metrics, mixed precision, checkpoints, export, profiling."""
