"""Callbacks of training and evaluation, one family per file."""
