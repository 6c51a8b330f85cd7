"""Control flow, custom operations, debugging and other framework operations."""
