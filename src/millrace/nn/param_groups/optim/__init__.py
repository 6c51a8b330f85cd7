"""Optimizers of ``millrace.experimental.optim``."""
