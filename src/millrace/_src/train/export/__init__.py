"""Export of networks to ONNX files and archives."""
