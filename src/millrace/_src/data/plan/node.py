"""A node of the plan: frozen, picklable, without handles. Building one reads no data."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from millrace._src.core.package import PACKAGE_ROOT
from millrace._src.core.stable_ids import find_id, register
from millrace._src.core.values.schema import Schema

from .order_steps import OrderStep

__all__ = [
    "INFINITE",
    "UNKNOWN",
    "Node",
    "Placement",
    "Size",
    "internal_field",
    "call_site",
    "source_nodes",
    "rewrite",
    "size_of",
    "user_fields",
    "walk",
]

# A number of rows: an int, INFINITE for an endless repeat, UNKNOWN when only running tells.
Size = float | int | None
INFINITE = math.inf
UNKNOWN = None

N = TypeVar("N", bound="Node")


@dataclasses.dataclass(frozen=True, eq=False)
class Placement:
    """Where ops run: nodes that hold the same Place object, one above the other, run as one segment."""

    executor: str
    workers: int
    # chunks hold a multiple of `row_multiple` rows (whole batches), at most `rows`; `fixed_rows` forbids adapting
    row_multiple: int
    max_rows: int
    fixed_rows: bool
    # chunks under way at a time
    max_in_flight: int
    # what brings the rows of a batch together before they come here
    rebatch: Node | None = None


def internal_field(default: Any) -> Any:
    """A field that ``bind`` or a pass fills in: no argument of the user's, so no part of what a plan *is*."""
    return dataclasses.field(default=default, metadata={"added": True})


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """One step of a pipeline. ``op`` numbers it in the user's tree; ``where`` is the user's file and line.

    Passes ask for its traits and never for its class. A trait is a plain attribute where the class decides it, a
    property where the fields do.
    """

    def __init_subclass__(cls, *, stable_name: str | None = None, **options: Any) -> None:
        """Its id is ``node.name``; ``stable_name`` states the name for a class that was renamed."""
        super().__init_subclass__(**options)
        register(cls, "node", stable_name)

    inputs: tuple[Node, ...] = ()
    op_id: int = internal_field(0)
    call_site: str = internal_field("")
    placement: Placement | None = internal_field(None)

    # traits --------------------------------------------------------------------------------------

    @property
    def row_wise(self) -> bool:
        """It sees one row at a time and remembers none: it runs inside a segment, on any executor."""
        return False

    @property
    def random_access(self) -> bool:
        """Its rows can be asked for by number, so that order steps and batch borders become arithmetic."""
        return False

    @property
    def preserves_rows(self) -> bool:
        """Every row that comes in leaves, once."""
        return False

    @property
    def preserves_order(self) -> bool:
        """Rows leave in the order in which they came."""
        return False

    @property
    def makes_batches(self) -> bool:
        """Rows come in and batches leave."""
        return False

    @property
    def may_fail(self) -> bool:
        """A row can fail in it (reading, a user's function), and then error mode REPLACE lets its segment end here."""
        return False

    @property
    def user_code(self) -> bool:
        """It runs the user's own code, which stays in the user's process unless the user says otherwise."""
        return False

    @property
    def is_expensive(self) -> bool:
        """A row takes about a millisecond or more."""
        return False

    @property
    def cost_varies(self) -> bool:
        """Its rows are heavy the first time and light when they come again."""
        return False

    @property
    def holds_gil(self) -> bool:
        """Its work is Python of ours: threads cannot do it at the same time."""
        return False

    @property
    def nondeterminism_reason(self) -> str:
        """Why its rows differ from one epoch to the next, in words that a sentence goes on from; empty: they do not."""
        return ""

    @property
    def reorders_each_epoch(self) -> bool:
        """Its rows may come in another order in every epoch."""
        return False

    @property
    def is_synchronized(self) -> bool:
        """It counts what passes, for somebody outside the pipeline."""
        return False

    @property
    def is_sequential(self) -> bool:
        """Each row needs the one before: one worker takes them in turn."""
        return False

    @property
    def wants_processes(self) -> bool:
        """The user asked for worker processes."""
        return False

    @property
    def num_workers(self) -> int | None:
        """How many workers the user asked for."""
        return None

    @property
    def inline_cache(self) -> Any:
        """The cache that the user gave the op itself; ``bind`` makes a node of it."""
        return None

    @property
    def required_columns(self) -> tuple[str, ...] | None:
        """All the columns that it is to be given, whatever is asked of it, where the op itself names them."""
        return None

    @property
    def fused_nodes(self) -> tuple[Node, ...]:
        """The ops inside, for a node that passes made of several."""
        return ()

    @property
    def row_id_inputs(self) -> tuple[Node, ...]:
        """The inputs whose row numbers its rows carry, one after the other; errors name rows by them."""
        return self.inputs[:1]

    def input_rows_for(self, rows: int) -> int | None:
        """How many of the rows that come in make the first ``rows`` that leave, where that is known and nobody misses
        them when they are not made.
        """
        alone = self.row_wise and self.preserves_rows and self.preserves_order and not self.is_sequential
        return rows if alone else None

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        """Which of ``columns`` it must be given so that the ``needed`` ones come out; None for all of them."""
        return None

    @property
    def passes_rows_through(self) -> bool:
        """Its rows are rows that came in, as they came."""
        return False

    def with_passthrough_columns(
        self, extra: tuple[str, ...], moved: tuple[str, ...]
    ) -> tuple[Node, dict[str, str]] | None:
        """The node with more columns passing through it, and new names that it gives; None where that cannot be.

        ``moved`` are the columns on which work was left to a card: it must not look into them.
        """
        return (self, {}) if self.passes_rows_through else None

    def order_step(self) -> OrderStep | None:
        """What it does to the order of rows, where that is arithmetic on row numbers."""
        return None

    def is_noop(self) -> bool:
        """Whether what comes out is what goes in."""
        return False

    def input_epochs(self, passes: int | None) -> int | None:
        """How often its input is gone through for so many passes of its own; None is without end."""
        return passes

    def with_context(self: N, passes: int, batch_rows: int) -> N:
        """The node with what it must know of those above it: how often they go through it in an epoch of the iterator,
        and how many of its rows make a batch.
        """
        return self

    # what it is ----------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The op's name in MindSpore's words: the name in its id, which files hold."""
        return (find_id(type(self)) or type(self).__name__).rpartition(".")[2]

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


def user_fields(node: Node) -> dict[str, Any]:
    """The arguments the user gave, by name: all fields but the inputs and what bind and passes added."""
    return {
        field.name: getattr(node, field.name)
        for field in dataclasses.fields(node)
        if field.name != "inputs" and not field.metadata.get("added")
    }


def walk(node: Node) -> Iterator[Node]:
    """Every node of the tree, inputs first."""
    for child in node.inputs:
        yield from walk(child)
    yield node


def source_nodes(node: Node) -> Iterator[Node]:
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


def call_site(outside: tuple[str, ...] = (PACKAGE_ROOT,)) -> str:
    """``file:line`` of the user's call: the first frame outside this package, or outside these folders."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((*outside, __file__)):
        if frame.f_back is None:
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
