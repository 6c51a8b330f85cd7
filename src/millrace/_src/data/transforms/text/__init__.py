"""Text transforms: declarations of about ten lines over kernels/text, a file per family."""
