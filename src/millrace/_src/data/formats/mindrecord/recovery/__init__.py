"""Verification, salvage and repair of damaged MindRecord sets."""
