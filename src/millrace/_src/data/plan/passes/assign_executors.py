"""Assign executor, workers and rows per chunk to row-wise ops, before anything is fused.

A chain of row-wise ops and batches is split into groups; a group runs as one task per chunk. A chain is split where one
op must stay in the main process and the next one should run in worker processes, and before a batch whose rows all
workers should compute together.

Threads share memory and start at once, but every call into a library releases the GIL and must acquire it again, and
with more than a few threads that is the bottleneck: decoding on 16 threads ran no faster than on 3, on 16 processes
ten times as fast (docs/design/2026-11-15-decode.md). So expensive ops of Millrace go to processes if many workers are
used. User functions and objects stay in the main process unless the user requests processes: a user's object is read
there, and only ops of Millrace are moved.

Cheap rows need large chunks (they share the dispatch cost), expensive rows small ones (all workers work on one
batch). Row sizes known from the schema bound a chunk by bytes; otherwise the stage adapts while it runs.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

from millrace._src.core.config import DEFAULT_WORKERS
from millrace._src.core.executor_traits import INLINE, PROCESSES, THREADS, executor_traits
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, Placement, schema_of, walk
from millrace._src.data.plan.nodes.order_ops import Batch, Read
from millrace._src.data.plan.nodes.physical import Rebatch

__all__ = ["assign_executors", "assign_single_executor"]

# Threads scale up to this number.
MAX_THREADS = 2
# Processes take up to a second to start, and each iterator starts new ones: for short epochs, threads are faster.
MIN_ROWS = 4096
# Larger batches of expensive rows are computed by all workers: a single one would be too slow, and use too much memory.
MAX_BATCH_ROWS = 256
CHUNK_BYTES = 1 << 20
LIGHT_ROWS = 2048
# Rows of a cache are expensive or cheap: the stage adapts at run time, up to this number.
CACHED_ROWS = 64


@dataclasses.dataclass
class OperatorGroup:
    """Ops that run as one task; ``batch`` is the one whose rows must be grouped first."""

    ops: list[Node]
    unit: int = 1
    batch: Batch | None = None
    # it runs in worker processes without a request of the user
    leaves: bool = False
    # its rows are the input of a group in which they are expensive
    feeds_heavy: bool = False

    @property
    def heavy(self) -> bool:
        return any(op.is_expensive for op in self.ops)


def assign_executors(root: Node, settings: Settings) -> Node:
    chain: list[Node] = []
    node = root
    while node.row_wise or isinstance(node, Batch):
        chain.insert(0, node)
        if not node.inputs:
            break
        node = node.inputs[0]
    below = tuple(assign_executors(child, settings) for child in (chain[0] if chain else root).inputs)
    if not chain:
        return root if below == root.inputs else root.replace(inputs=below)
    for group in _groups(chain, settings):
        placement = _choose_placement(group, settings)
        for op in group.ops:
            below = (op.replace(inputs=below, placement=placement),)
    return below[0]


def assign_single_executor(root: Node, settings: Settings) -> Node:
    """Assign one executor to a chain of row-wise ops down to its source, whatever each op requests."""
    chain = list(walk(root))
    placement = _choose_placement(OperatorGroup(chain), settings)
    below: tuple[Node, ...] = ()
    for op in chain:
        below = (op.replace(inputs=below, placement=placement),)
    return below[0]


# how ops are grouped ---------------------------------------------------------------------------------


def _groups(chain: list[Node], settings: Settings) -> list[OperatorGroup]:
    groups: list[OperatorGroup] = []
    for op in chain:
        last = groups[-1] if groups else None
        if isinstance(op, Batch) and not op.from_batch_sampler:
            if last is not None and _aligns_with_batch(last, op, settings):
                last.ops.append(op)
                last.unit = op.fixed_size or 1
            else:
                groups.append(OperatorGroup([op], batch=op))
            continue
        # if failed rows are replaced, each op that may fail begins a new group: it replaces a row with one of its rows
        alone = settings.error_samples_mode == "replace" and op.may_fail
        if last is not None and not alone and _share_process(last.ops, op):
            last.ops.append(op)
        else:
            groups.append(OperatorGroup([op]))
    if groups and _should_split(groups[0], settings):
        groups[:2] = _split_group(groups[0], groups[1] if len(groups) > 1 else None, settings)
    for group, following in itertools.pairwise(groups):
        group.feeds_heavy = following.heavy and following.batch is None
    return groups


def _share_process(ops: list[Node], op: Node) -> bool:
    """Whether ops can share a process: user code stays in the main process unless the user requests processes."""
    return (
        len({member.wants_processes for member in (*ops, op) if member.wants_processes or member.user_code})
        <= 1
    )


def _aligns_with_batch(group: OperatorGroup, batch: Batch, settings: Settings) -> bool:
    """Whether chunks are aligned with the boundaries of this batch, so that stacking is part of the same task.

    Expensive rows are the exception: one batch should use all workers, so its rows are split into small chunks and are
    grouped afterwards. With many processes they are aligned: each process makes whole batches, which reach the main
    process without a copy.
    """
    if batch.fixed_size is None or not group.ops[0].random_access:
        return False
    if not all(op.preserves_rows for op in group.ops[1:]) or settings.error_samples_mode != "return":
        return False
    if settings.chunk_rows is not None and settings.chunk_rows % batch.fixed_size:
        return False
    if not _share_process(group.ops, batch):
        return False
    both = [*group.ops, batch]
    leaves = _moves_to_processes(both, settings) or _runs_outside_process(settings)
    return not group.heavy or (leaves and batch.fixed_size <= MAX_BATCH_ROWS)


def _should_split(group: OperatorGroup, settings: Settings) -> bool:
    """Whether expensive ops move to processes while the user's object is still read in the main process."""
    read, rest = group.ops[0], group.ops[1:]
    if not isinstance(read, Read) or not read.random_access or not read.user_code or read.wants_processes:
        return False
    return _is_ours(rest) and _is_worth_processes(read, rest, settings)


def _split_group(
    group: OperatorGroup, following: OperatorGroup | None, settings: Settings
) -> list[OperatorGroup]:
    read, rest = group.ops[0], group.ops[1:]
    batch = following.batch if following is not None else None
    whole = (
        batch is not None
        and following is not None
        and batch.fixed_size is not None
        and batch.fixed_size <= MAX_BATCH_ROWS
        and settings.error_samples_mode == "return"
        and settings.chunk_rows is None
        and _is_ours(following.ops)
        and all(op.preserves_rows for op in rest)
    )
    if whole and following is not None:  # a process makes whole batches
        return [OperatorGroup([read]), OperatorGroup([*rest, *following.ops], batch=batch, leaves=True)]
    after = [] if following is None else [following]
    return [OperatorGroup([read]), OperatorGroup(rest, leaves=True), *after]


# what a group gets ---------------------------------------------------------------------------------


def _choose_placement(group: OperatorGroup, settings: Settings) -> Placement:
    workers, executor = _workers(group.ops, settings), _executor(group, settings)
    unit = group.unit
    if settings.debug_mode:
        rows, fixed = unit, True
    elif settings.chunk_rows is not None:
        rows, fixed = max(unit, settings.chunk_rows - settings.chunk_rows % unit), True
    else:
        rows, fixed = max(1, _max_rows(group, executor) // unit) * unit, False
    # prefetch_size counts what the user sees: batches where the group makes them, else rows
    per_chunk = max(1, rows // unit) if any(op.makes_batches for op in group.ops) else rows
    # cheap rows in another process: one chunk is queued at each worker while it works on another
    ready = not executor_traits(executor).same_process and not group.heavy
    window = max(workers * (1 + ready) + 1, math.ceil(settings.prefetch_size / per_chunk))
    return Placement(
        executor=executor,
        workers=workers,
        row_multiple=unit,
        max_rows=rows,
        fixed_rows=fixed,
        max_in_flight=window if executor_traits(executor).background else 1,
        rebatch=None if group.batch is None else Rebatch.before(group.batch),
    )


def _executor(group: OperatorGroup, settings: Settings) -> str:
    if settings.debug_mode:
        return INLINE
    if settings.executor is not None:
        return settings.executor
    wants_processes = any(op.wants_processes for op in group.ops)
    return (
        PROCESSES if wants_processes or group.leaves or _moves_to_processes(group.ops, settings) else THREADS
    )


def _workers(ops: list[Node], settings: Settings) -> int:
    """The number of workers: from the user for an op or for all, else from the cores and the ops."""
    if any(op.is_sequential for op in ops):
        return 1
    requested = [op.num_workers for op in ops if op.num_workers is not None]
    if requested:
        return max(requested)
    if settings.num_parallel_workers is not None:
        return settings.num_parallel_workers
    default = min(DEFAULT_WORKERS, available_cores())
    first = ops[0]
    only_stacks = all(op.makes_batches and not op.user_code for op in ops[isinstance(first, Read) :])
    if isinstance(first, Read):
        # rows that only one thread at a time may read, and that are only stacked: a second thread would only wait
        return 1 if first.source.max_readers == 1 and only_stacks else default
    # stacking is a copy: two threads saturate the memory bus
    return min(2, default) if only_stacks else default


def _moves_to_processes(ops: list[Node], settings: Settings) -> bool:
    """Whether ops move to worker processes without a request of the user."""
    first = ops[0]
    if not isinstance(first, Read) or not first.source.is_file_backed or not _is_ours(ops):
        return False
    return _is_worth_processes(first, ops, settings)


def _runs_outside_process(settings: Settings) -> bool:
    """Whether the user chose an executor outside this process: rows should be transferred once, as batches."""
    if settings.debug_mode or settings.executor is None:
        return False
    return not executor_traits(settings.executor).shares_memory


def _is_ours(ops: list[Node]) -> bool:
    return not any(op.user_code or op.wants_processes for op in ops)


def _is_worth_processes(read: Read, ops: list[Node], settings: Settings) -> bool:
    """Whether processes pay off: expensive rows, enough of them, many workers, and no executor set by the user."""
    if settings.debug_mode or settings.executor is not None or not any(op.is_expensive for op in ops):
        return False
    # more processes than cores would only compete for them
    if min(_workers(ops, settings), available_cores()) <= MAX_THREADS:
        return False
    rows = read.size(())
    return isinstance(rows, int) and rows >= MIN_ROWS


def _max_rows(group: OperatorGroup, executor: str) -> int:
    first = group.ops[0]
    if group.heavy and first.cost_varies:
        return CACHED_ROWS
    if group.heavy or group.feeds_heavy:
        return executor_traits(executor).heavy_rows
    schema = schema_of(first) if isinstance(first, Read) else None
    row_bytes = None if schema is None else schema.row_bytes
    return LIGHT_ROWS if row_bytes is None else max(1, min(LIGHT_ROWS, CHUNK_BYTES // max(1, row_bytes)))
