"""Fingerprint."""
