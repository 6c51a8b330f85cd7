"""Checkpoints: parameters in files, and back. ``millrace.train`` is where users find these names."""
