"""`FailedRowLog`: rows that were skipped or replaced because they failed."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

__all__ = ["FailedRow", "FailedRowLog"]

# Exception messages are truncated to this length, and counters hold at most this many different keys.
_REASON_CHARS = 500
_MAX_KEYS = 256
_OVERFLOW_KEY = "(others)"


@dataclasses.dataclass(frozen=True, slots=True)
class FailedRow:
    """One failed row: operation, row number and reason.

    >>> FailedRow(op="map(decode)", row=7, reason="ValueError: not a JPEG", file="a.jpg").row
    7
    """

    op: str
    row: int | None = None
    reason: str = ""
    file: str | None = None
    column: str | None = None
    action: Literal["skip", "replace"] = "skip"
    # the source row that replaces it, under REPLACE
    replacement: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The entry as a JSON-compatible dict."""
        return dataclasses.asdict(self)


class FailedRowLog:
    """Failed rows of one run. Counts are exact; only the first ``capacity`` entries are kept whole.

    >>> log = FailedRowLog()
    >>> log.record("map(decode)", row=7, reason="ValueError: not a JPEG", file="a.jpg")
    >>> len(log), log.entries()[0].file
    (1, 'a.jpg')
    >>> log.summary()["by_op"]
    {'map(decode)': 1}
    """

    def __init__(self, capacity: int = 10_000) -> None:
        self.capacity = capacity
        self._lock = threading.Lock()
        self._entries: list[FailedRow] = []
        self._actions: Counter[str] = Counter()
        self._ops: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()

    def record(
        self,
        op: str,
        *,
        row: int | None = None,
        reason: str | BaseException = "",
        file: str | None = None,
        column: str | None = None,
        action: Literal["skip", "replace"] = "skip",
    ) -> None:
        """Record one failed row; ``reason`` may be an exception.

        >>> log = FailedRowLog()
        >>> log.record("filter", row=1, reason=ValueError("bad"))
        >>> log.entries()[0].reason
        'ValueError: bad'
        """
        if isinstance(reason, BaseException):
            reason = f"{type(reason).__name__}: {reason}"
        text = reason if len(reason) <= _REASON_CHARS else reason[: _REASON_CHARS - 3] + "..."
        number = None if row is None else int(row)
        self.extend([FailedRow(op, number, text, file, column, action)])

    def extend(self, entries: Iterable[FailedRow]) -> None:
        """Add entries collected in a worker process.

        >>> log = FailedRowLog(capacity=1)
        >>> log.extend([FailedRow("map", 1), FailedRow("map", 2)])
        >>> len(log), len(log.entries())
        (2, 1)
        """
        with self._lock:
            for entry in entries:
                if len(self._entries) < self.capacity:
                    self._entries.append(entry)
                self._actions[entry.action] += 1
                _count(self._ops, entry.op)
                # the first line identifies the type of failure; later lines hold file names and numbers
                _count(self._reasons, entry.reason.partition("\n")[0][:120])

    def __len__(self) -> int:
        return sum(self._actions.values())

    def __repr__(self) -> str:
        return f"Ledger({len(self)} rows, {len(self._entries)} kept)"

    def entries(self) -> list[FailedRow]:
        """The stored entries, oldest first.

        >>> FailedRowLog().entries()
        []
        """
        with self._lock:
            return list(self._entries)

    def summary(self) -> dict[str, Any]:
        """Counts by op and by reason, the most frequent first; ready for JSON.

        >>> FailedRowLog().summary()
        {'skipped': 0, 'replaced': 0, 'not_kept': 0, 'by_op': {}, 'by_reason': {}}
        """
        with self._lock:
            return {
                "skipped": self._actions["skip"],
                "replaced": self._actions["replace"],
                "not_kept": sum(self._actions.values()) - len(self._entries),
                "by_op": dict(self._ops.most_common()),
                "by_reason": dict(self._reasons.most_common()),
            }

    def to_dict(self) -> dict[str, Any]:
        """Summary and entries together; ready for JSON.

        >>> sorted(FailedRowLog().to_dict())
        ['entries', 'summary']
        """
        return {"summary": self.summary(), "entries": [entry.to_dict() for entry in self.entries()]}

    def clear(self) -> None:
        """Remove all entries and counts.

        >>> FailedRowLog().clear()
        """
        with self._lock:
            self._entries.clear()
            for counter in (self._actions, self._ops, self._reasons):
                counter.clear()


def _count(counter: Counter[str], key: str) -> None:
    """Count a key; further keys are counted together once there are too many different ones."""
    counter[key if key in counter or len(counter) < _MAX_KEYS else _OVERFLOW_KEY] += 1
