"""cache as a node: the rows that leave the op below it are made once.

Where every row below keeps its number in the source, rows are kept by that number: any order, shard and shuffle may
stand above and below. Elsewhere (behind a batch, a filter, a stream) they are kept by their place in the sequence,
which then has to be the same in every epoch.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from millrace.core.errors import PlanError

from .bytecode import uses
from .node import INFINITE, Node, added, size_of, walk
from .read import Read

__all__ = ["Cached", "Keeper", "check_below", "draws_itself"]


class Keeper(Protocol):
    """What the engine asks of a cache. The classes are in the room ``cache``, which no plan knows."""

    def settle(self) -> None:
        """In the user's process, before workers start."""

    def open(self, key: str, rows: int | None) -> Any:
        """The shelf of the rows under a key."""

    def to_dict(self) -> dict[str, Any]:
        """What JSON keeps of it."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cached(Node):
    """The rows of its input, kept by ``cache``; ``subject`` is the tree below as the user wrote it."""

    cache: Keeper
    subject: Node | None = added(None)

    keeps_rows = True
    keeps_order = True

    @property
    def label(self) -> str:
        return "Cache"

    @property
    def by_number(self) -> bool:
        """Whether each row that comes has its number in a source that can be asked for any."""
        node = self.inputs[0]
        while not isinstance(node, Read):
            if (
                not (node.row_wise and node.keeps_rows and node.keeps_order)
                or node.in_turn
                or not node.inputs
            ):
                return False
            node = node.inputs[0]
        return node.addressable

    @property
    def row_wise(self) -> bool:
        return self.by_number

    def details(self) -> dict[str, Any]:
        return {"cache": repr(self.cache)}


def check_below(node: Cached) -> None:
    """Refuse what a cache would freeze or leave out, and name the line that has to move."""
    for below in walk(node.inputs[0]):
        why = below.anew
        if why:
            raise PlanError(
                f"{below.label}Node containing random operation is not supported as a descendant of cache: {why} for "
                f"every epoch, and the cache{_at(node)} would give all epochs what the first one got. "
                f"Move the {_call(below)}{_at(below)} behind the cache."
            )
        if getattr(below, "callbacks", ()) or below.waits:
            raise PlanError(
                f"{below.label}Node is not supported as a descendant of cache: rows that are kept do not pass "
                f"the {_call(below)}{_at(below)} again. Move it behind the cache{_at(node)}."
            )
    if not node.by_number:
        _check_sequence(node)


def _check_sequence(node: Cached) -> None:
    for below in walk(node.inputs[0]):
        if below.reorders:
            between = next((n for n in _upwards(node, below) if not n.row_wise), None)
            reason = (
                f"the {_call(between)}{_at(between)} counts rows as they come"
                if between
                else "it is read in one pass"
            )
            raise PlanError(
                f"the rows below the cache{_at(node)} come in another order each epoch ({_call(below)}{_at(below)}),"
                f" and {reason}: the cache would give all epochs the order of the first. Put the cache below "
                f"{f'the {_call(between)}{_at(between)}' if between else 'the shuffle'}, or shuffle behind the cache."
            )
    if size_of(node.inputs[0]) == INFINITE:
        raise PlanError(f"the rows below the cache{_at(node)} have no end; put repeat() behind the cache")


def _upwards(node: Cached, below: Node) -> Iterator[Node]:
    """The nodes between one below and the cache, from the lower to the upper."""
    chain: list[Node] = []

    def find(at: Node) -> bool:
        if at is below:
            return True
        if any(find(child) for child in at.inputs):
            chain.append(at)
            return True
        return False

    find(node.inputs[0])
    return iter(chain)


def _call(node: Node | None) -> str:
    if node is None:
        return ""
    return node.label if isinstance(node, Read) else f"{node.label.lower()}()"


def _at(node: Node | None) -> str:
    return f" at {node.where}" if node is not None and node.where else ""


def draws_itself(function: Callable[..., Any]) -> str | None:
    """The name under which a user's function reaches a generator of random numbers, where its code shows one."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        call = vars(type(function)).get("__call__")
        code = getattr(call, "__code__", None)
        function = call or function
    if code is None:
        return None
    scope = getattr(getattr(function, "__func__", function), "__globals__", {})
    for use in uses(code):
        value = scope.get(use.name)
        if not isinstance(value, types.ModuleType):
            continue
        steps = [key for way, key in use.steps if way == "attribute"]
        if value.__name__ in ("random", "numpy.random") or (
            value.__name__ == "numpy" and steps[:1] == ["random"]
        ):
            return use.text
    return None
