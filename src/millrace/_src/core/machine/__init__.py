"""Machine."""
