"""Find the rank that failed first, and its error."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millrace._src.runtime.distributed.termination import SIGTERM_EXIT_CODE

__all__ = ["ProcessFailure", "last_traceback", "first_failure"]

# Errors of ranks whose peer is gone: these ranks are not the root cause.
LEFT_ALONE = ("could not finish it with the others", "Connection closed by peer", "Connection reset by peer")
LONGEST = 200  # maximum printed lines of a traceback


@dataclass(frozen=True)
class ProcessFailure:
    """How one rank ended."""

    rank: int
    pid: int
    exitcode: int
    traceback: str

    @property
    def root_cause_order(self) -> int:
        """Rank of being the root cause: failed by itself (0), had printed an error when it was terminated (1), lost a
        peer (2), was only terminated (3)."""
        alone = any(phrase in self.traceback for phrase in LEFT_ALONE)
        if self.exitcode in (-signal.SIGTERM, SIGTERM_EXIT_CODE):
            return 1 if self.traceback.startswith("Traceback") and not alone else 3
        return 2 if alone and self.exitcode > 0 else 0

    def sentence(self, host: str) -> str:
        """The failure in one line.

        >>> ProcessFailure(3, 77, -9, "").sentence("mill")
        'rank 3 (pid 77 on mill) was killed by SIGKILL; possibly out of memory, see dmesg'
        """
        who = f"rank {self.rank} (pid {self.pid} on {host})"
        # a rank terminated while its own error was ending it would have exited with Python's status 1
        exitcode = 1 if self.root_cause_order == 1 else self.exitcode
        if exitcode < 0:
            name = signal.Signals(-exitcode).name
            why = "; possibly out of memory, see dmesg" if name == "SIGKILL" else ""
            return f"{who} was killed by {name}{why}"
        last = self.traceback.rstrip().rpartition("\n")[2]
        detail = f": {last}" if self.traceback.startswith("Traceback") else ""
        return f"{who} ended with status {exitcode}{detail}"


def first_failure(deaths: Sequence[ProcessFailure]) -> ProcessFailure:
    """The root cause among the failures.

    >>> left = ProcessFailure(0, 1, 1, "RuntimeError: AllReduce: Connection closed by peer")
    >>> first_failure([left, ProcessFailure(1, 2, 1, "ValueError: boom")]).rank
    1
    """
    return min(deaths, key=lambda death: (death.root_cause_order, death.rank))


def last_traceback(folder: Path, local_rank: int) -> str:
    """The last traceback that a rank wrote, or its last output lines."""
    files = sorted(folder.rglob(f"{local_rank}/stderr.log"), key=lambda path: path.stat().st_mtime)
    if not files:
        return ""
    with files[-1].open("rb") as file:
        file.seek(max(0, files[-1].stat().st_size - 100_000))
        text = file.read().decode(errors="replace")
    text = re.sub(
        r"^\[rank\d+\]: ?", "", text, flags=re.MULTILINE
    )  # PyTorch's prefix; the rank is printed above
    begin = text.rfind("Traceback (most recent call last)")
    # chained exceptions have several tracebacks
    while begin > 0 and "\nThe above exception was the direct cause" in text[begin - 120 : begin]:
        before = text.rfind("Traceback (most recent call last)", 0, begin)
        if before < 0:
            break
        begin = before
    lines = (text[begin:] if begin >= 0 else "\n".join(text.splitlines()[-20:])).rstrip().splitlines()
    if len(lines) > LONGEST:
        lines = [*lines[: LONGEST // 2], "...", *lines[-LONGEST // 2 :]]
    return "\n".join(lines)
