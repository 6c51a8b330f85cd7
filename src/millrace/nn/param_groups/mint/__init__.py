"""Optimizers of ``millrace.mint.optim``."""
