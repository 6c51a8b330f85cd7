"""Layers with PyTorch's names and arguments; ``millrace.mint.nn`` hands them out."""
