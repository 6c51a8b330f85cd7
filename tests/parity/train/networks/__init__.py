"""Fifty steps of training, beside MindSpore."""
