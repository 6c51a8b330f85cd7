"""Rows that were made once and are read again: by later epochs, by other processes, by tomorrow's run."""
