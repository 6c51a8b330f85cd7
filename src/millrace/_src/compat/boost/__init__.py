"""Boost modes: parameter freezing, gradient accumulation, less BatchNorm."""
