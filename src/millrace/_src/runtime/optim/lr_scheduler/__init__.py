"""Schedulers of ``millrace.experimental.optim.lr_scheduler``."""
