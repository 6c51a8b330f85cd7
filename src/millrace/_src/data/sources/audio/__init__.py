"""The open audio data sets, one per file."""
