"""Physical nodes that only passes create: segments of row-wise ops, rebatching, reads through a cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values.schema import Schema
from millrace._src.data.plan.node import Node, Placement, Size, internal_field, rewrite, schema_of, walk

from .cache_ops import Cache, CacheProtocol
from .order_ops import Batch
from .read import Read

__all__ = ["CachedRead", "Rebatch", "RebatchByTokens", "Segment"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Segment(Node):
    """Row-wise ops that run as one task per chunk, on one executor.

    ``ops[0]`` may be a random-access Read; the segment then has no input, and its stage receives indices.
    """

    ops: tuple[Node, ...] = ()
    placement: Placement = internal_field(None)
    # a faster equivalent of the first `fast_path_length` ops for rows without errors; for each of them the index of
    # the op that its time is counted for
    fast_path_ops: tuple[Node, ...] = internal_field(())
    fast_path_positions: tuple[int, ...] = internal_field(())
    fast_path_length: int = internal_field(0)

    @property
    def label(self) -> str:
        return " + ".join(op.label for op in self.ops)

    @property
    def batch_rows(self) -> int | None:
        """Rows per batch if the segment reads and batches in one task, along batch boundaries."""
        if not self.ops[0].random_access:
            return None
        return next((op.fixed_size for op in self.ops if isinstance(op, Batch)), None)

    @property
    def fused_nodes(self) -> tuple[Node, ...]:
        return self.ops

    @property
    def is_expensive(self) -> bool:
        return any(op.is_expensive for op in self.ops)

    @property
    def cost_varies(self) -> bool:
        return self.ops[0].cost_varies

    @property
    def holds_gil(self) -> bool:
        return any(op.holds_gil for op in self.ops) and not any(op.user_code for op in self.ops)

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        for op in self.ops:
            inputs = (op.schema(inputs),)
        return inputs[0] if inputs else None

    def size(self, inputs: tuple[Size, ...]) -> Size:
        for op in self.ops:
            inputs = (op.size(inputs),)
        return inputs[0]

    def details(self) -> dict[str, Any]:
        placement = self.placement
        rows = (
            str(placement.max_rows)
            if placement.fixed_rows or placement.max_rows == placement.row_multiple
            else f"{placement.row_multiple}..{placement.max_rows}"
        )
        return {
            "on": f"{placement.workers} {placement.executor}",
            "rows per chunk": rows,
            "in flight": placement.max_in_flight,
        }


@stable_id("node.Regroup")
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Rebatch(Node):
    """Regroups rows so that each chunk is exactly one batch; the segment stacks them."""

    batch_size: int | Callable[..., int] | None
    drop_remainder: bool = False
    passes: int = 1

    def details(self) -> dict[str, Any]:
        return {"rows": self.batch_size if isinstance(self.batch_size, int) else "by function"}

    @staticmethod
    def before(batch: Batch) -> Rebatch:
        common: dict[str, Any] = {
            "inputs": batch.inputs,
            "op_id": batch.op_id,
            "call_site": batch.call_site,
            "batch_size": batch.batch_size,
            "drop_remainder": batch.drop_remainder,
            "passes": batch.repeat_count,
        }
        if batch.max_tokens is None:
            return Rebatch(**common)
        return RebatchByTokens(
            **common,
            max_tokens=batch.max_tokens,
            max_rows=batch.max_rows,
            length_of=batch.length_of,
            pad_info=batch.pad_info,
        )


@stable_id("node.RegroupTokens")
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RebatchByTokens(Rebatch):
    """Regroups rows so that each chunk is a batch of as many rows as fit into a number of tokens."""

    max_tokens: int
    max_rows: int | None = None
    length_of: str | Callable[..., Any] | None = None
    pad_info: dict[str, tuple[Any, Any]] | None = None

    @property
    def label(self) -> str:
        return "Regroup"

    def details(self) -> dict[str, Any]:
        return {"tokens": self.max_tokens, "rows": self.max_rows}


@stable_id("node.KeptRead")
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class CachedRead(Read):
    """A source and its ops up to a cache, as one node: cached rows are not computed again.

    ``compute_segment`` holds the ops as they run, over the source in the order of its rows; ``logical_input`` is the
    tree as the user wrote it.
    """

    cache: CacheProtocol
    compute_segment: Node
    logical_input: Node
    # rows per batch, if the output rows are written into batches
    batch_rows: int | None = internal_field(None)

    decodes = ()
    nondeterminism_reason = ""

    @property
    def user_code(self) -> bool:
        return any(op.user_code for op in walk(self.compute_segment))

    @property
    def wants_processes(self) -> bool:
        return any(op.wants_processes for op in walk(self.compute_segment))

    @property
    def is_expensive(self) -> bool:
        return any(op.is_expensive for op in walk(self.compute_segment))

    @property
    def cost_varies(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return " + ".join([*(op.label for op in walk(self.compute_segment)), "Cache"])

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        schema = schema_of(self.logical_input)  # a pass may have removed unused columns from the segment
        return schema if schema is None or self.columns is None else schema.project(self.columns)

    @staticmethod
    def of(node: Cache) -> CachedRead:
        """Fuse a cache by row number with the ops below it, down to the source."""
        nodes = list(walk(node.inputs[0]))
        read = nodes[0]
        assert isinstance(read, Read)
        requested = [op.num_workers for op in nodes if op.num_workers is not None]
        inner = rewrite(
            node.inputs[0], lambda op: op.replace(order_steps=(), sampler=None) if op is read else op
        )
        return CachedRead(
            source=read.source,
            sampler=read.sampler,
            num_workers=max(requested) if requested else None,
            order_steps=read.order_steps,
            op_id=read.op_id,
            call_site=node.call_site,
            cache=node.cache,
            compute_segment=inner,
            logical_input=node.logical_input or node.inputs[0],
        )
