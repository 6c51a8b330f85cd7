"""Callbacks: what they are told of a training, and the ready ones, one family per file."""
