"""How every command ends: an interrupt and a reader that has left are no faults."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

__all__ = ["exit_status"]

_BROKEN_PIPE = 141  # 128 + SIGPIPE, as a shell shows it
_INTERRUPTED = 130


def exit_status(command: Callable[[], int]) -> int:
    """Run a command and return its exit status."""
    try:
        try:
            return command()
        finally:
            sys.stdout.flush()  # a reader that has left is noticed here, not while the interpreter ends
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader (head, less) has left; nothing more may be written, at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
