"""Public vision datasets."""
