"""Base class of datasets: a frozen plan node and a mutable DatasetState."""

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


# Names that the fields of `DatasetState` have in pickles of version 0.2.0.
_FIELDS_0_2_0 = {
    "below": "input_states",
    "parts": "inputs",
    "seen": "cached_metadata",
    "drawn_seed": "first_seed",
    "ran": "has_run",
    "unsampled": "node_before_sampler",
    "runs_on": "executor_choice",
}


@dataclasses.dataclass(eq=False)
class DatasetState:
    """What a dataset remembers between calls; ``below`` are the sessions of the datasets it was made from."""

    input_states: tuple[DatasetState, ...] = ()
    # the datasets that this one was made from, for `children`
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
    # the user's line that created the last iterator
    iterated_at: str = ""
    # the concatenation as it was before use_sampler, which replaces the sampler of an earlier call
    node_before_sampler: Node | None = None
    # the executor and its options, if the user set them for this dataset
    executor_choice: tuple[str | None, tuple[tuple[str, Any], ...]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Runs are not pickled: they belong to this process."""
        return vars(self) | {"runs": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({_FIELDS_0_2_0.get(name, name): value for name, value in state.items()})

    def resolve_executor(self) -> tuple[str | None, tuple[tuple[str, Any], ...]] | None:
        """The last executor set with run_on; for several inputs, that of the first one with a setting."""
        if self.executor_choice is not None:
            return self.executor_choice
        return next(filter(None, (session.resolve_executor() for session in self.input_states)), None)

    def all_gates(self) -> dict[str, SyncGate]:
        gates: dict[str, SyncGate] = {}
        for session in self.input_states:
            gates |= session.all_gates()
        return gates | self.gates


class DatasetBase:
    """Base class of the op methods."""

    # the class of what a method returns; set by dataset.py, which imports the op modules
    _dataset_class: ClassVar[type[Any]]

    _node: Node
    _session: DatasetState

    def _with_node(self, node: Node, *datasets: DatasetBase) -> Dataset:
        """A new dataset with this node on top; this one is unchanged and can be the input of others too."""
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
        """Copy the dataset over the same frozen nodes: later changes (use_sampler ...) affect only one of them.

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
        """The seed of the first run; chosen now if there was no run and the user set no seed."""
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
        """Rows of an epoch if they are known without running; an endless repeat counts once."""
        size = size_of(self._node)
        if size == INFINITE:
            size = size_of(rewrite(self._node, _repeat_once))
        return None if size is None or math.isinf(size) else int(size)

    def _remember_size(self, rows: int) -> None:
        """Remember the rows of an epoch if they are not known otherwise (a filter, failed rows)."""
        # do not iterate a user's sampler again for the same number
        if (
            any(_sampler_predicate(node, "must_iterate_to_count") for node in walk(self._node))
            or self._known_size() != rows
        ):
            self._session.cached_metadata["size"] = rows

    def _replace_node(self, node: Node) -> None:
        """Replace the node of this dataset (use_sampler), and clear the cached metadata."""
        self._node = node
        self._session.cached_metadata.clear()

    def _peek(self, node: Node, limit: int | None) -> Iterator[dict[str, Any]]:
        """The first rows of a tree (all if limit is None), run in this thread without hooks, callbacks and gates."""
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

        It is known without reading if the ops allow it; with a filter or a batch size by function, the pipeline runs
        once to count, and the result is remembered.

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
        return True  # `if dataset:` checks for None, and must not count rows

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
    """The same rows without side effects for the training loop: without callbacks, gates and caches."""

    def rule(n: Node) -> Node:
        if n.is_synchronized or isinstance(n, ops.Cache):
            return n.inputs[0]
        if n.inline_cache is not None:
            n = n.replace(cache=None)
        return n.replace(callbacks=()) if isinstance(n, ops.Map) and n.callbacks else n

    return rewrite(node, rule)
