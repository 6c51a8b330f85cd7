"""The open text data sets, one per file."""
