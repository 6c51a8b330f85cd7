"""A dataset is a node and a session: the node is frozen, everything that changes lives in the session."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from millrace._src.core import settings
from millrace._src.core.executor_traits import INLINE
from millrace._src.core.log import get_logger
from millrace._src.core.machine.worker_devices import check_independent
from millrace._src.data.engine.pipeline_run import PipelineRun
from millrace._src.data.engine.stages.base import Signal
from millrace._src.data.engine.stages.sync_wait import SyncGate
from millrace._src.data.plan.bind import Plan, bind, optimize, resolve_seed
from millrace._src.data.plan.node import INFINITE, Node, rewrite, size_of, walk
from millrace._src.data.plan.nodes import order_ops as ops
from millrace._src.observe.active_monitor import register_run

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["DatasetBase", "DatasetState"]

log = get_logger(__name__)


@dataclasses.dataclass(eq=False)
class DatasetState:
    """What a dataset remembers between calls; ``below`` are the sessions of the datasets it was made from."""

    input_states: tuple[DatasetState, ...] = ()
    # the datasets that this one was made from: what `children` shows
    inputs: tuple[Any, ...] = ()
    gates: dict[str, SyncGate] = dataclasses.field(default_factory=dict)
    init_step: int | None = None
    batch_size: int | None = None
    input_indexs: Any = None
    dynamic_columns: dict[str, list[int | None]] = dataclasses.field(default_factory=dict)
    cached_metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    runs: list[PipelineRun] = dataclasses.field(default_factory=list)
    # the seed of the first run: where the user set none, dataset[i] is a row of that run
    first_seed: int | None = None
    has_run: bool = False
    # the user's line that made the last iterator
    iterated_at: str = ""
    # the concatenation as it was before use_sampler, which replaces the sampler of an earlier call
    node_before_sampler: Node | None = None
    # the executor, and what it was told, if the user said so for this dataset
    executor_choice: tuple[str | None, tuple[tuple[str, Any], ...]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Runs are this process's alone: a copy has none yet."""
        return vars(self) | {"runs": []}

    def resolve_executor(self) -> tuple[str | None, tuple[tuple[str, Any], ...]] | None:
        """Where to run, as it was said last; of several datasets brought together, for the first of them."""
        if self.executor_choice is not None:
            return self.executor_choice
        return next(filter(None, (session.resolve_executor() for session in self.input_states)), None)

    def all_gates(self) -> dict[str, SyncGate]:
        gates: dict[str, SyncGate] = {}
        for session in self.input_states:
            gates |= session.all_gates()
        return gates | self.gates


class DatasetBase:
    """What every op method builds on."""

    # the class of what a method returns; set by dataset.py, which imports the op modules
    _dataset_class: ClassVar[type[Any]]

    _node: Node
    _session: DatasetState

    def _with_node(self, node: Node, *datasets: DatasetBase) -> Dataset:
        """A new dataset with this node on top; this one stays as it is and may feed others too."""
        parts = (self, *datasets)
        dataset: Dataset = self._dataset_class._from_node(
            node, DatasetState(tuple(part._session for part in parts), parts)
        )
        return dataset

    @classmethod
    def _from_node(cls, node: Node, session: DatasetState) -> Any:
        dataset = cls.__new__(cls)
        dataset._node, dataset._session = node, session
        return dataset

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A dataset of its own over the same frozen nodes: what one is told (use_sampler ...) the other never hears.

        The user's source object is shared, as in MindSpore.
        """
        duplicate = copy.copy(self)
        metadata, columns = dict(self._session.cached_metadata), dict(self._session.dynamic_columns)
        duplicate._session = dataclasses.replace(
            self._session,
            cached_metadata=metadata,
            dynamic_columns=columns,
            runs=[],
            first_seed=None,
            has_run=False,
            iterated_at="",
        )
        memo[id(self)] = duplicate
        return duplicate

    def _first_seed(self) -> int:
        """The seed of the first run, drawn now if there was none and the user set none."""
        if self._session.first_seed is None:
            self._session.first_seed = resolve_seed(self._node, settings.current())
        return self._session.first_seed

    def _plan(self, seed: int | None = None, for_device: bool = False) -> Plan:
        values, executor_choice = settings.current(), self._session.resolve_executor()
        if executor_choice is not None:
            values = values.replace(executor=executor_choice[0], executor_options=executor_choice[1])
        return optimize(bind(self._node, values, seed), for_device)

    def _run(self, epochs: int | None, state: Any = None, for_device: bool = False) -> PipelineRun:
        seed = state.get("seed") if isinstance(state, dict) else None
        if seed is None and settings.current().seed is None and not self._session.has_run:
            seed = self._first_seed()
        run = PipelineRun(self._plan(seed if isinstance(seed, int) else None, for_device), epochs, state)
        self._session.runs, self._session.has_run = [run], True
        if self._session.first_seed is None:
            self._session.first_seed = run.plan.seed
        check_independent()
        register_run(run)
        return run

    # sizes ---------------------------------------------------------------------------------------

    def _known_size(self) -> int | None:
        """Rows of an epoch if that can be told without running; an endless repeat counts once."""
        size = size_of(self._node)
        if size == INFINITE:
            size = size_of(rewrite(self._node, _repeat_once))
        return None if size is None or math.isinf(size) else int(size)

    def _remember_size(self, rows: int) -> None:
        """An epoch had this many rows: keep that where nothing else can tell (a filter, rows that failed)."""
        # a user's sampler is not asked once more only to hear the same
        if (
            any(_sampler_predicate(node, "must_iterate_to_count") for node in walk(self._node))
            or self._known_size() != rows
        ):
            self._session.cached_metadata["size"] = rows

    def _replace_node(self, node: Node) -> None:
        """Another node for this dataset (use_sampler): what was seen of the old one is forgotten."""
        self._node = node
        self._session.cached_metadata.clear()

    def _peek(self, node: Node, limit: int | None) -> Iterator[dict[str, Any]]:
        """The first rows of a tree (all when limit is None), run in this thread without hooks, callbacks and gates."""
        quiet = settings.current().replace(executor=INLINE, debug_mode=False, debug_hooks=())
        if limit is not None:
            node = ops.Take(inputs=(node,), count=limit)
        run = PipelineRun(optimize(bind(_without_side_effects(node), quiet)), 1)
        try:
            while not isinstance(row := run.next_row(), Signal):
                yield row
        finally:
            run.close()

    def get_dataset_size(self) -> int:
        """Batches (or rows, where nothing is batched) in one epoch.

        Known without reading wherever the ops allow it; a filter or a batch size by function is counted by
        running once, and remembered.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2, 3]).batch(2).get_dataset_size()
        2
        """
        seen = self._session.cached_metadata
        if "size" not in seen:
            size = self._known_size()
            if size is not None:
                return size
            seen["size"] = sum(1 for _ in self._peek(rewrite(self._node, _repeat_once), None))
        return int(seen["size"])

    def __len__(self) -> int:
        return self.get_dataset_size()

    def __bool__(self) -> bool:
        return True  # `if dataset:` asks whether there is one, and must not count rows

    # order ---------------------------------------------------------------------------------------

    def is_shuffled(self) -> bool:
        """Whether the order is random anywhere in the pipeline.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2], shuffle=False).is_shuffled()
        False
        """
        return any(
            isinstance(node, ops.Shuffle) or _sampler_predicate(node, "is_shuffled")
            for node in walk(self._node)
        )

    def is_sharded(self) -> bool:
        """Whether only one shard of a source is read.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2], num_shards=2, shard_id=0).is_sharded()
        True
        """
        return any(
            (isinstance(node, ops.Shard) and node.shards > 1) or _sampler_predicate(node, "is_sharded")
            for node in walk(self._node)
        )


def _sampler_predicate(node: Node, question: str) -> bool:
    return isinstance(node, ops.Read) and node.sampler is not None and bool(getattr(node.sampler, question)())


def _repeat_once(node: Node) -> Node:
    return node.inputs[0] if isinstance(node, ops.Repeat) and node.count is None else node


def _without_side_effects(node: Node) -> Node:
    """The same rows without anything that the training side would notice: callbacks, gates and caches."""

    def rule(n: Node) -> Node:
        if n.is_synchronized or isinstance(n, ops.Cache):
            return n.inputs[0]
        if n.inline_cache is not None:
            n = n.replace(cache=None)
        return n.replace(callbacks=()) if isinstance(n, ops.Map) and n.callbacks else n

    return rewrite(node, rule)
