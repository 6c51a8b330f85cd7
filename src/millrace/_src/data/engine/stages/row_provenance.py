"""Row provenance: global row numbers and file names used in error messages.

A row has the number that it has in its source, also after filters and shuffles. Rows of a concatenation are numbered
across its sources, as if they were one source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millrace._src.data.plan.node import Node
from millrace._src.data.plan.nodes.order_ops import Read
from millrace._src.data.plan.source_protocol import Source

__all__ = ["row_locator", "first_row_numbers"]


def first_row_numbers(node: Node) -> list[int]:
    """The number of each input's first row; all zero if an input before the last has an unknown size."""
    numbers, start = [], 0
    for child in node.row_id_inputs:
        numbers.append(start)
        for source in _sources(child):
            size = source.size() if len(numbers) < len(node.row_id_inputs) else 0
            if size is None:
                return [0] * len(node.row_id_inputs)
            start += size
    return numbers


def row_locator(node: Node) -> Callable[[int], str | None] | None:
    """A function from row number to file, or None."""
    sources = list(_sources(node))
    if len(sources) == 1:
        return sources[0].row_location
    return _MultiSourceLocator(sources) if sources else None


class _MultiSourceLocator:
    """Several sources with consecutive row numbers."""

    def __init__(self, sources: list[Source]) -> None:
        self._sources = sources

    def __call__(self, row: int) -> str | None:
        sizes = [source.size() for source in self._sources[:-1]]
        if None in sizes:
            return None
        for source, size in zip(self._sources, sizes, strict=False):
            if row < (size or 0):
                return source.row_location(row)
            row -= size or 0
        return self._sources[-1].row_location(row)


def _sources(node: Node) -> Iterator[Source]:
    """The sources whose row numbers the rows of this node have, in order."""
    for part in (node, *node.fused_nodes):
        if isinstance(part, Read):
            yield part.source
    for child in node.row_id_inputs:
        yield from _sources(child)
