"""Elementwise math, reductions and statistics."""
