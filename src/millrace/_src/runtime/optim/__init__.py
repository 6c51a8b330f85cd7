"""Optimizers: what changes the parameters of a net by their gradients."""
