"""Numpy."""
