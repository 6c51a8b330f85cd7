"""Dataset cache: processed rows stored in a shared-memory server or on disk and reused across epochs, processes and
runs.
"""
