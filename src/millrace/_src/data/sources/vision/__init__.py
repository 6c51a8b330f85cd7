"""The open vision data sets, one per file."""
