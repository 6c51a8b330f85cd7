"""Read node: the rows of a source, and the steps that determine their order."""

from __future__ import annotations

import dataclasses
from typing import Any

from millrace._src.core.values.schema import Schema
from millrace._src.data.plan.node import UNKNOWN, Node, Size, internal_field
from millrace._src.data.plan.order_steps import OrderStep, PermuteStep, SliceStep, steps_size
from millrace._src.data.plan.source_protocol import Source

__all__ = ["OrderStep", "PermuteStep", "Read", "SliceStep", "steps_size"]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Read(Node):
    """Rows of a source in the order of its sampler, then of the steps that passes pushed down here."""

    source: Source
    sampler: Any = None
    num_workers: int | None = None
    # lists of row numbers, one per batch, instead of a sampler; each list becomes one chunk
    batch_sampler: Any = None
    # the cache argument of the source
    cache: Any = None
    order_steps: tuple[OrderStep, ...] = internal_field(())
    columns: tuple[str, ...] | None = internal_field(None)

    may_fail = True

    @property
    def inline_cache(self) -> Any:
        return self.cache

    @property
    def row_wise(self) -> bool:
        return self.source.random_access

    @property
    def random_access(self) -> bool:
        return self.source.random_access and self.batch_sampler is None

    @property
    def user_code(self) -> bool:
        return self.source.user_code

    @property
    def wants_processes(self) -> bool:
        return self.source.processes

    @property
    def is_expensive(self) -> bool:
        return self.source.is_expensive

    @property
    def decodes(self) -> tuple[str, ...]:
        """Columns of encoded images that it decodes."""
        return self.source.decoded_columns

    @property
    def nondeterminism_reason(self) -> str:
        return "it samples new random numbers" if getattr(self.source, "wants_rng", False) else ""

    @property
    def reorders_each_epoch(self) -> bool:
        if self.batch_sampler is not None:  # a user's object may return any order
            return not isinstance(getattr(self.batch_sampler, "batch_sampler", None), (list, tuple))
        permuted = any(isinstance(step, PermuteStep) and step.key is None for step in self.order_steps)
        return permuted or (self.sampler is not None and self.sampler.varies_by_epoch())

    @property
    def label(self) -> str:
        return self.source.name

    def schema(self, inputs: tuple[Schema | None, ...]) -> Schema | None:
        schema = self.source.schema()
        return schema if self.columns is None else schema.project(self.columns)

    def size(self, inputs: tuple[Size, ...]) -> Size:
        rows = self.source.size()
        if rows is None or self.batch_sampler is not None:
            return UNKNOWN
        if self.sampler is not None:
            rows = self.sampler.count(rows, labels=self.labels)
        return steps_size(rows, self.order_steps)

    def labels(self) -> Any:
        """The class of every source row, for a sampler that samples by class."""
        return self.source.labels(self.sampler.class_column)

    def details(self) -> dict[str, Any]:
        shown: dict[str, Any] = dict(self.source.arguments())
        shown.pop("keeps_sampler", None)  # only for to_json
        if self.sampler is not None:
            shown["sampler"] = self.sampler
        if self.order_steps:
            shown["order"] = [_step_text(step) for step in self.order_steps]
        if self.num_workers is not None:
            shown["num_parallel_workers"] = self.num_workers
        if self.cache is not None:
            shown["cache"] = repr(self.cache)
        return shown


def _step_text(step: OrderStep) -> str:
    if isinstance(step, PermuteStep):
        return "permute"
    stop = "" if step.take is None else str(step.skip + step.take)
    return f"[{step.skip}:{stop}]" + (f" to a multiple of {step.multiple}" if step.multiple > 1 else "")
