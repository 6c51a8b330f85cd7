"""Profiler: operator tables, and traces for Chrome and Perfetto."""
