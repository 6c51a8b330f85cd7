"""Shared modules of MindRecord: ``exceptions``."""
