"""The training runtime on PyTorch."""
