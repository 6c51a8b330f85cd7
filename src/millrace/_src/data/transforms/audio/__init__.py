"""Audio transforms: declarations of about ten lines over kernels/audio, a file per family."""
