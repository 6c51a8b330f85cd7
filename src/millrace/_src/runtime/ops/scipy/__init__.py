"""Scipy."""
