"""Collective."""
