"""Image transforms: declarations of about ten lines over kernels/vision, a file per family."""
