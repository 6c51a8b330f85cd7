"""Image operations."""
