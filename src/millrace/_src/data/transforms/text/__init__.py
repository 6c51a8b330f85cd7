"""Text transforms: short declarations over kernels/text, a file per family."""
