"""Limits of the serving boundary: named defaults, and byte budgets shared by all requests of a server."""

from __future__ import annotations

from types import TracebackType

from millrace._src.core.errors import ServeError

__all__ = [
    "BYTES_ELEMENT",
    "INLINE",
    "MAX_BODY",
    "MAX_CHUNKS",
    "MAX_CONNECTIONS",
    "MAX_FIELDS",
    "MAX_HEAD",
    "MAX_ID",
    "MAX_JSON_ESCAPES",
    "MAX_JSON_STRINGS",
    "MAX_PIPELINED",
    "MAX_RESPONSE",
    "MAX_STREAMS",
    "MAX_TURNS",
    "MIN_CHUNK",
    "TOTAL_FACTOR",
    "BudgetError",
    "ByteBudget",
    "Lease",
    "parse_length",
]

# --- defaults of Config -------------------------------------------------------------------------------------------
MAX_BODY = 64 << 20
MAX_RESPONSE = 64 << 20
# All bodies together, and all responses together, where Config sets no total: so many of the largest.
TOTAL_FACTOR = 8
MAX_CONNECTIONS = 1000

# --- fixed limits -------------------------------------------------------------------------------------------------
# The first line and the headers of an HTTP request: some hundred bytes, a few thousand with a long token.
MAX_HEAD = 64 << 10
# HTTP requests sent on one connection before the first response.
MAX_PIPELINED = 64
# After so many chunks of one HTTP body, a chunk holds at least MIN_CHUNK bytes on average.
MAX_CHUNKS, MIN_CHUNK = 1024, 64
# Concurrent gRPC calls on one connection.
MAX_STREAMS = 128
# Characters of a request's id, which the response repeats.
MAX_ID = 4096
# Text and keys in one JSON request. Each becomes a Python object of 50 bytes or more.
MAX_JSON_STRINGS = 200_000
# Backslashes in one JSON request of long texts.
MAX_JSON_ESCAPES = 1_000_000
# Fields in one gRPC message, those of its nested messages included.
MAX_FIELDS = 200_000
# What one element of a BYTES tensor takes in memory next to its content.
BYTES_ELEMENT = 48
# A body or a response up to this size is converted in the event loop, a larger one in a thread.
INLINE = 64 << 10
# Parts of bodies above INLINE, up to 256 KB each, that are read in one iteration of the event loop.
MAX_TURNS = 2
# Of a budget, what requests up to INLINE may take on top of it: large ones cannot keep small ones out.
_SMALL_SHARE = 8
# The longest decimal number in a header that is converted to an integer.
_DIGITS = 18


class BudgetError(ServeError):
    """The memory budget of all requests is exhausted; the client may retry."""

    def __init__(self, message: str, status: int = 503) -> None:
        super().__init__(message, status)


class ByteBudget:
    """Bytes that all requests of a server hold at once. It belongs to one event loop.

    >>> budget = ByteBudget(100, "request bodies")
    >>> with budget.lease(60):
    ...     budget.used
    60
    >>> budget.used
    0
    """

    __slots__ = ("limit", "name", "peak", "used")

    def __init__(self, limit: int, name: str) -> None:
        self.limit, self.name = limit, name
        self.used = self.peak = 0

    def lease(self, size: int = 0) -> Lease:
        """Reserve `size` bytes until the lease is closed."""
        lease = Lease(self)
        if size:
            lease.grow(size)
        return lease


class Lease:
    """The part of a budget that one request holds. Closing it twice changes nothing."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: ByteBudget) -> None:
        self._budget, self.size = budget, 0

    def grow(self, size: int) -> None:
        """Reserve `size` bytes more, or raise BudgetError."""
        budget = self._budget
        limit = budget.limit
        if self.size + size <= INLINE:
            limit += limit // _SMALL_SHARE
        if budget.used + size > limit:
            raise BudgetError(
                f"expected at most {limit} bytes of {budget.name} at once, got {budget.used + size}. Try again later"
            )
        self.size += size
        budget.used += size
        if budget.used > budget.peak:
            budget.peak = budget.used

    def shrink(self, size: int) -> None:
        """Keep only `size` bytes."""
        if size < self.size:
            self._budget.used -= self.size - size
            self.size = size

    def close(self) -> None:
        """Give all bytes back."""
        self.shrink(0)

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def parse_length(text: str) -> int | None:
    """A number of bytes from a header; None where it is no plain decimal number, or has more digits than any length.

    >>> parse_length("20"), parse_length("-1"), parse_length("1" * 5000)
    (20, None, None)
    """
    return int(text) if len(text) <= _DIGITS and text.isascii() and text.isdigit() else None
