"""Optimizers with PyTorch's arguments: groups of parameters as dicts, and schedulers that write their rates."""
