"""Audio transforms: short declarations over kernels/audio, a file per family."""
