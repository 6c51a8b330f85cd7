"""A node of the plan: frozen, picklable, without handles. Building one reads no data."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from millrace.core.schema import Schema

__all__ = ["INFINITE", "UNKNOWN", "Node", "Size", "call_site", "leaves", "rewrite", "size_of", "walk"]

# A number of rows: an int, INFINITE for an endless repeat, UNKNOWN when only running tells.
Size = float | int | None
INFINITE = math.inf
UNKNOWN = None

N = TypeVar("N", bound="Node")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """One step of a pipeline. ``op`` numbers it in the user's tree; ``where`` is the user's file and line."""

    inputs: tuple[Node, ...] = ()
    op: int = 0
    where: str = ""

    @property
    def label(self) -> str:
        """The op's name in MindSpore's words."""
        return type(self).__name__

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        """Columns that come out, as far as they are known without running."""
        return inputs[0] if inputs else None

    def size(self, inputs: tuple[Size, ...]) -> Size:
        """Rows that come out."""
        return inputs[0] if inputs else UNKNOWN

    def details(self) -> dict[str, Any]:
        """The arguments worth showing in explain() and in to_json()."""
        return {}

    def replace(self: N, **changes: Any) -> N:
        return dataclasses.replace(self, **changes)


def walk(node: Node) -> Iterator[Node]:
    """Every node of the tree, inputs first."""
    for child in node.inputs:
        yield from walk(child)
    yield node


def leaves(node: Node) -> Iterator[Node]:
    return (n for n in walk(node) if not n.inputs)


def rewrite(node: Node, rule: Callable[[Node], Node]) -> Node:
    """Apply a rule to every node, inputs first; unchanged subtrees stay the same objects."""
    inputs = tuple(rewrite(child, rule) for child in node.inputs)
    if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
        node = node.replace(inputs=inputs)
    return rule(node)


def size_of(node: Node) -> Size:
    return node.size(tuple(size_of(child) for child in node.inputs))


def schema_of(node: Node) -> Schema | None:
    return node.schema(tuple(schema_of(child) for child in node.inputs))


_PACKAGE = str(Path(__file__).resolve().parents[2])


def call_site() -> str:
    """``file:line`` of the user's call: the first frame outside this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        if frame.f_back is None:
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
