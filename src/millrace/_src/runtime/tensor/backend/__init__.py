"""Context, devices, memory, streams, and access to PyTorch's private interfaces."""
