"""Checkpoints: save and load parameters and training states. Public names are in ``millrace.train``."""
