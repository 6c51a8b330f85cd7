"""Worker pool."""
