"""Layers with PyTorch's names and arguments; ``millrace.mint.nn`` exports them."""
