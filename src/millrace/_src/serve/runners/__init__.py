"""Model runners: PyTorch archives, onnxruntime, MNN."""
