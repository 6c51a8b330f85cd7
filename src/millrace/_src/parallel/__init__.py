"""Launching of parallel training, elastic batches, auto-parallel names."""
