"""Damaged and hostile input for every parser: files, JSON and messages of protocols.

A target has valid seeds, written by Millrace's own writers, and a function that parses bytes. The driver changes seeds
at random and checks that only errors of Millrace come out, in bounded time and memory. ``python -m tests.fuzz``
runs it for some minutes (``make nightly``); ``test_fuzz.py`` runs a short part that is the same each time.
"""
