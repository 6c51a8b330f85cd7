"""Audio kernels: pure functions on waveforms and spectrograms; any leading dimensions, time (or frame) last."""
