"""Probability distributions and bijectors: the implementation of ``millrace.nn.probability``."""
