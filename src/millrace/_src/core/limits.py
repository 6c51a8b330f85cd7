"""Limits on untrusted files and requests, with their defaults.

A limit bounds memory, not correctness: a file beyond one is refused with an error that names the limit. Readers read
the limits when they run, so that a program can replace an instance before it loads an unusual file.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ARCHIVE", "ArchiveLimits"]

MIB, GIB = 1 << 20, 1 << 30


@dataclass(frozen=True)
class ArchiveLimits:
    """Limits of a model archive (``.mindir``) and of an ONNX file.

    The first group bounds the file, the second its program, the third what the program allocates when it runs.
    """

    # bytes of program.json and servable.json; parsed JSON takes up to 40 times as much memory
    program_bytes: int = 16 * MIB
    about_bytes: int = 16 * MIB
    weights_bytes: int = 64 * GIB
    onnx_bytes: int = 2 * GIB  # also the limit of protocol buffers
    directory_bytes: int = 64 * 1024

    calls: int = 200_000
    tensors: int = 100_000
    inputs: int = 256
    results: int = 256
    list_items: int = 65_536
    rank: int = 64
    json_depth: int = 32
    text: int = 1024
    digits: int = 20  # of an integer in JSON: 64 bits

    # bytes of one result, and of all results that are alive at one time, constants and inputs aside
    result_bytes: int = 4 * GIB
    live_bytes: int = 16 * GIB
    # rows of one call of a program with a free number of rows
    rows: int = 1 << 20


ARCHIVE = ArchiveLimits()
