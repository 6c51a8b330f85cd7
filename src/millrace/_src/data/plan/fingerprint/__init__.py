"""Fingerprints: what makes two pipelines the same, for saved states and cache keys."""
