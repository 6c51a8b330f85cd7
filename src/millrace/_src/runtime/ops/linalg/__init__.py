"""Linalg."""
