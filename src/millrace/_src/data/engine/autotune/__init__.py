"""Autotune: online tuning of workers, chunk sizes and prefetch depth; results do not depend on it."""
