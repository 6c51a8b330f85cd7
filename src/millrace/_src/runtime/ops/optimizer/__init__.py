"""Optimizer."""
