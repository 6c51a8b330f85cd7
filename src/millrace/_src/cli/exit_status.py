"""Exit status of commands; interrupts and closed pipes are not errors."""

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
            sys.stdout.flush()  # a closed pipe is noticed here, not while the interpreter exits
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return _INTERRUPTED
    except (
        BrokenPipeError
    ):  # the reader (head, less) has exited; nothing more may be written, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
