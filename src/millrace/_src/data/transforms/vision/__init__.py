"""Image transforms: short declarations over kernels/vision, a file per family."""
