"""Optimizers: parameter updates from gradients."""
