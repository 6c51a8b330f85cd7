"""Learning-rate schedulers of ``millrace.experimental.optim.lr_scheduler``."""
