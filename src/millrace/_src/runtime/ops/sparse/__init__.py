"""Sparse."""
