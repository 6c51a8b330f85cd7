"""The `millrace` command."""
