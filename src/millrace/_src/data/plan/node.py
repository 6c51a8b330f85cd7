"""Base class of plan nodes: frozen and picklable, without open files. Building one reads no data."""

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

# A number of rows: an int, INFINITE for an endless repeat, UNKNOWN if it is known only after a run.
Size = float | int | None
INFINITE = math.inf
UNKNOWN = None

N = TypeVar("N", bound="Node")


@dataclasses.dataclass(frozen=True, eq=False)
class Placement:
    """Where ops run: adjacent nodes with the same Placement object run as one segment."""

    executor: str
    workers: int
    # chunks hold a multiple of `row_multiple` rows (whole batches), at most `rows`; `fixed_rows` forbids adapting
    row_multiple: int
    max_rows: int
    fixed_rows: bool
    # chunks under way at a time
    max_in_flight: int
    # the node that groups the rows of a batch before this segment
    rebatch: Node | None = None


def internal_field(default: Any) -> Any:
    """A field that ``bind`` or a pass sets: not an argument of the user, so not part of the fingerprint."""
    return dataclasses.field(default=default, metadata={"added": True})


# Names that fields have in pickles of version 0.2.0.
_FIELDS_0_2_0 = {
    "op": "op_id",
    "where": "call_site",
    "place": "placement",
    "workers": "num_workers",
    "processes": "wants_processes",
    "whole": "from_batch_sampler",
    "most_rows": "max_rows",
    "passes": "repeat_count",
    "subject": "logical_input",
    "even": "pad_to_equal",
    "kept_at": "cache_call_site",
    "token": "gate_id",
    "keys": "random_keys",
    "gather": "batch_rows",
    "steps": "order_steps",
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """One step of a pipeline. ``op`` numbers it in the user's tree; ``where`` is the user's file and line.

    Passes read its traits and never check its class. A trait is a class attribute, or a property where it depends on
    the fields.
    """

    def __init_subclass__(cls, *, stable_name: str | None = None, **options: Any) -> None:
        """Its id is ``node.name``; ``stable_name`` states the name for a class that was renamed."""
        super().__init_subclass__(**options)
        register(cls, "node", stable_name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        fields = {field.name for field in dataclasses.fields(self)}
        names = {name: name if name in fields else _FIELDS_0_2_0.get(name, name) for name in state}
        vars(self).update({names[name]: value for name, value in state.items()})

    inputs: tuple[Node, ...] = ()
    op_id: int = internal_field(0)
    call_site: str = internal_field("")
    placement: Placement | None = internal_field(None)

    # traits --------------------------------------------------------------------------------------

    @property
    def row_wise(self) -> bool:
        """It processes one row at a time without state: it runs inside a segment, on any executor."""
        return False

    @property
    def random_access(self) -> bool:
        """It supports random access by row number, so that order steps and batch boundaries become arithmetic."""
        return False

    @property
    def preserves_rows(self) -> bool:
        """It outputs every input row exactly once."""
        return False

    @property
    def preserves_order(self) -> bool:
        """It preserves the order of rows."""
        return False

    @property
    def makes_batches(self) -> bool:
        """Its input is rows and its output is batches."""
        return False

    @property
    def may_fail(self) -> bool:
        """A row can fail in it (reading, a user function); in error mode REPLACE its segment ends here."""
        return False

    @property
    def user_code(self) -> bool:
        """It runs user code, which stays in the main process unless the user requests worker processes."""
        return False

    @property
    def is_expensive(self) -> bool:
        """A row takes about a millisecond or more."""
        return False

    @property
    def cost_varies(self) -> bool:
        """Its rows are expensive the first time and cheap when they are repeated."""
        return False

    @property
    def holds_gil(self) -> bool:
        """Its work is Python code of Millrace, which holds the GIL: threads cannot run it in parallel."""
        return False

    @property
    def nondeterminism_reason(self) -> str:
        """Why its rows differ between epochs, as the beginning of a sentence; empty if they do not."""
        return ""

    @property
    def reorders_each_epoch(self) -> bool:
        """Its rows may have another order in every epoch."""
        return False

    @property
    def is_synchronized(self) -> bool:
        """It counts batches to synchronize with code outside the pipeline."""
        return False

    @property
    def is_sequential(self) -> bool:
        """Each row depends on the previous one: one worker processes them in order."""
        return False

    @property
    def wants_processes(self) -> bool:
        """The user requested worker processes."""
        return False

    @property
    def num_workers(self) -> int | None:
        """The number of workers that the user requested."""
        return None

    @property
    def inline_cache(self) -> Any:
        """The cache argument of the op; ``bind`` makes a node of it."""
        return None

    @property
    def required_columns(self) -> tuple[str, ...] | None:
        """All input columns, independent of the needed output columns, if the op names them."""
        return None

    @property
    def fused_nodes(self) -> tuple[Node, ...]:
        """The ops inside a node that passes have fused from several."""
        return ()

    @property
    def row_id_inputs(self) -> tuple[Node, ...]:
        """The inputs whose row numbers its rows have, in order; errors identify rows by them."""
        return self.inputs[:1]

    def input_rows_for(self, rows: int) -> int | None:
        """The number of input rows for the first ``rows`` output rows, if it is known and skipping them has no side
        effect.
        """
        alone = self.row_wise and self.preserves_rows and self.preserves_order and not self.is_sequential
        return rows if alone else None

    def input_columns_for(self, needed: set[str], columns: list[str]) -> set[str] | None:
        """The input ``columns`` that are necessary for the ``needed`` output columns; None for all of them."""
        return None

    @property
    def passes_rows_through(self) -> bool:
        """Its output rows are unchanged input rows."""
        return False

    def with_passthrough_columns(
        self, extra: tuple[str, ...], moved: tuple[str, ...]
    ) -> tuple[Node, dict[str, str]] | None:
        """The node with additional columns passing through it, and the columns that it renames; None if impossible.

        ``moved`` are the columns with offloaded work: the node must not read their values.
        """
        return (self, {}) if self.passes_rows_through else None

    def order_step(self) -> OrderStep | None:
        """Its effect on the order of rows, if that is arithmetic on row numbers."""
        return None

    def is_noop(self) -> bool:
        """Whether its output equals its input."""
        return False

    def input_epochs(self, passes: int | None) -> int | None:
        """The number of epochs of its input for that many of its epochs; None for endless."""
        return passes

    def with_context(self: N, passes: int, batch_rows: int) -> N:
        """The node with information about the nodes above it: its epochs per epoch of the iterator, and the number of
        its rows in a batch.
        """
        return self

    # description -----------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The name of the op in MindSpore, from its stable id."""
        return (find_id(type(self)) or type(self).__name__).rpartition(".")[2]

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        """Output columns, as far as they are known without running."""
        return inputs[0] if inputs else None

    def size(self, inputs: tuple[Size, ...]) -> Size:
        """Number of output rows."""
        return inputs[0] if inputs else UNKNOWN

    def details(self) -> dict[str, Any]:
        """The arguments shown by explain() and to_json()."""
        return {}

    def replace(self: N, **changes: Any) -> N:
        return dataclasses.replace(self, **changes)


def user_fields(node: Node) -> dict[str, Any]:
    """The user's arguments by name: all fields but the inputs and the internal fields."""
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
