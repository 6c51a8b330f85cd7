"""Communication operators of a PyTorch library, so that a capture records them like any other call.

Each moves data between detached tensors; the gradients are in `functional.py`. Every process of the group has to
make the same calls in the same order. A function starts the communication and returns a `PendingCollective`; the
operator waits for it at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, MillraceError, OperationError
from millrace._src.runtime.distributed.group_registry import ProcessGroup, require_membership, world_group
from millrace._src.runtime.tensor.backend.torch_private import is_view

__all__ = ["ASYNC_COLLECTIVES", "REDUCTIONS", "PendingCollective", "wait_all_reduce", "start_all_reduce"]

REDUCTIONS = {
    "sum": dist.ReduceOp.SUM,
    "prod": dist.ReduceOp.PRODUCT,
    "max": dist.ReduceOp.MAX,
    "min": dist.ReduceOp.MIN,
    "avg": dist.ReduceOp.SUM,  # divided afterwards: gloo has no mean
}
# gloo sums these dtypes in the second dtype, which holds every result that fits the first
_REDUCTION_DTYPES = {torch.int16: torch.int32, torch.uint16: torch.int32, torch.uint32: torch.int64}

_library = torch.library.Library("millrace", "FRAGMENT")


@dataclass
class PendingCollective:
    """Communication in progress: the tensor that it fills, and the work to wait for."""

    name: str
    result: Any
    work: list[Any] = field(default_factory=list)
    on_complete: Callable[[], None] | None = None  # completes the output when all data has arrived

    def wait(self) -> Any:
        try:
            for each in self.work:
                each.wait()
        except (RuntimeError, ValueError) as error:
            raise _communication_error(self.name, error) from None
        self.work = []
        if self.on_complete is not None:
            self.on_complete()
            self.on_complete = None
        return self.result


AsyncCollective = Callable[..., PendingCollective]
# name -> function that starts it
ASYNC_COLLECTIVES: dict[str, AsyncCollective] = {}


def _define_collective(schema: str) -> Callable[[AsyncCollective], AsyncCollective]:
    """Define an operator, and add the ranks to errors of the library."""

    def declare(function: AsyncCollective) -> AsyncCollective:
        name = schema.partition("(")[0]

        def begin(*args: Any) -> PendingCollective:
            try:
                return function(*args)
            except MillraceError:
                raise
            except (RuntimeError, ValueError) as error:
                raise _communication_error(name, error) from None

        ASYNC_COLLECTIVES[name] = begin
        _library.define(schema)
        _library.impl(name, lambda *args: begin(*args).wait(), "CompositeExplicitAutograd")
        return begin

    return declare


def _communication_error(name: str, error: Exception) -> OperationError:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    # gloo's messages start with a source line and end with advice
    text = re.sub(r"^\[[^\]]*\.\w+:\d+\] ", "", text).partition(". This is typically")[0]
    here = world_group()
    who = f"rank {here.rank} of {here.size}" if here else "this process"
    return OperationError(
        f"For '{name}', {who} could not finish it with the others: {text}. Another process has ended or makes other "
        "calls: the first error among the ranks has the cause."
    )


def _reduction(op: str, x: torch.Tensor) -> Any:
    if op not in REDUCTIONS:
        raise ArgumentValueError(
            f"The argument 'op' must be one of 'sum', 'prod', 'max', 'min' and 'avg', but got '{op}'."
        )
    if x.dtype is torch.bool:
        raise ArgumentTypeError(
            "Collective operations do not add up bool tensors; convert with x.astype(mindspore.int32)."
        )
    if x.is_complex() and op not in ("sum", "avg"):
        raise ArgumentTypeError(f"Complex numbers have no '{op}' over processes; 'sum' and 'avg' work.")
    return REDUCTIONS[op]


def _to_summable(x: torch.Tensor) -> torch.Tensor:
    """Copy in a dtype that the library can add."""
    if x.is_complex():
        return torch.view_as_real(x.resolve_conj()).contiguous().clone()
    wider = _REDUCTION_DTYPES.get(x.dtype)
    return x.to(wider).contiguous() if wider else x.contiguous().clone()


def _plain(x: torch.Tensor, op: str) -> bool:
    """Whether the copy that is reduced is the result."""
    return op != "avg" and not x.is_complex() and x.dtype not in _REDUCTION_DTYPES


def _finish_reduction(
    name: str, x: torch.Tensor, data: torch.Tensor, op: str, among: ProcessGroup, work: Any
) -> PendingCollective:
    """Reduced tensor in its original dtype; `data` has the numbers that are reduced."""
    if _plain(x, op):
        return PendingCollective(name, data, [work])
    shape = data.shape[:-1] if x.is_complex() else data.shape
    output = torch.empty(shape, dtype=x.dtype, device=x.device)

    def last() -> None:
        total = data
        if op == "avg":
            mode = None if data.is_floating_point() else "trunc"
            total = torch.div(data, among.size, rounding_mode=mode)
        output.copy_(torch.view_as_complex(total) if x.is_complex() else total)

    return PendingCollective(name, output, [work], last)


def _as_bytes(x: torch.Tensor) -> torch.Tensor:
    """View of the memory of a tensor as bytes: moves do not depend on the dtype."""
    return x.contiguous().reshape(-1).view(torch.uint8)


def _row_shape(x: torch.Tensor) -> tuple[int, ...]:
    return tuple(x.shape[1:])


@_define_collective("all_reduce(Tensor x, str op, str group) -> Tensor")
def _all_reduce(x: torch.Tensor, op: str, group: str) -> PendingCollective:
    among, how = require_membership(group, "AllReduce"), _reduction(op, x)
    data = _to_summable(x)
    work = dist.all_reduce(data, how, among.handle, async_op=True)
    return _finish_reduction("AllReduce", x, data, op, among, work)


@_define_collective("reduce(Tensor x, int root, str op, str group) -> Tensor")
def _reduce(x: torch.Tensor, root: int, op: str, group: str) -> PendingCollective:
    """Sum at the root; the input everywhere else."""
    among, how = require_membership(group, "Reduce"), _reduction(op, x)
    data = _to_summable(x)
    work = dist.reduce(
        data, among.ranks[_check_rank(root, among, "Reduce")], how, among.handle, async_op=True
    )
    if among.rank == root:
        return _finish_reduction("Reduce", x, data, op, among, work)
    return PendingCollective("Reduce", x.clone(), [work])


@_define_collective("broadcast(Tensor x, int root, str group) -> Tensor")
def _broadcast(x: torch.Tensor, root: int, group: str) -> PendingCollective:
    among = require_membership(group, "Broadcast")
    data = x.contiguous().clone()
    source = among.ranks[_check_rank(root, among, "Broadcast")]
    if not data.numel():
        return PendingCollective("Broadcast", data)
    return PendingCollective(
        "Broadcast", data, [dist.broadcast(_as_bytes(data), source, among.handle, async_op=True)]
    )


@_define_collective("all_gather(Tensor x, int[] sizes, str group) -> Tensor")
def _all_gather(x: torch.Tensor, sizes: Sequence[int], group: str) -> PendingCollective:
    """Rows of all processes, concatenated; `sizes` has the rows of each, or is empty if all have equally many."""
    among = require_membership(group, "AllGather")
    counts = list(sizes) or [x.shape[0]] * among.size
    _check_counts(counts, among, "output_split_sizes", "AllGatherV")
    if counts[among.rank] != x.shape[0]:
        raise ArgumentValueError(
            f"For 'AllGatherV', rank {among.rank} has {x.shape[0]} rows, but output_split_sizes has "
            f"{counts[among.rank]}."
        )
    output = x.new_empty((sum(counts), *_row_shape(x)))
    parts = list(output.split(counts))
    if not output.numel():
        return PendingCollective("AllGather", output)
    if len(set(counts)) == 1:
        work = dist.all_gather([_as_bytes(part) for part in parts], _as_bytes(x), among.handle, async_op=True)
        return PendingCollective("AllGather", output, [work])
    # different numbers of rows: each process sends its rows to all others
    parts[among.rank].copy_(x)
    peers = [rank for rank in range(among.size) if rank != among.rank]
    work = start_exchange([x] * len(peers), peers, [parts[rank] for rank in peers], peers, 0, among)
    return PendingCollective("AllGatherV", output, work)


@_define_collective("reduce_scatter(Tensor x, int[] sizes, str op, str group) -> Tensor")
def _reduce_scatter(x: torch.Tensor, sizes: Sequence[int], op: str, group: str) -> PendingCollective:
    """Sum over all processes, of which each keeps its rows."""
    among, how = require_membership(group, "ReduceScatter"), _reduction(op, x)
    if not sizes and x.shape[0] % among.size:
        raise ArgumentValueError(
            f"For 'ReduceScatter', the first dimension of the input ({x.shape[0]}) must be divided by the number of "
            f"processes ({among.size})."
        )
    counts = list(sizes) or [x.shape[0] // among.size] * among.size
    _check_counts(counts, among, "input_split_sizes", "ReduceScatterV")
    if sum(counts) != x.shape[0]:
        raise ArgumentValueError(
            f"For 'ReduceScatterV', input_split_sizes {counts} must add up to the {x.shape[0]} rows of the input."
        )
    data = _to_summable(x)
    if data.is_cuda and len(set(counts)) == 1:
        mine = data.new_empty((counts[0], *data.shape[1:]))
        work = dist.reduce_scatter_tensor(mine, data, how, group=among.handle, async_op=True)
    else:
        work = dist.all_reduce(data, how, among.handle, async_op=True)
        mine = data.split(counts)[among.rank]
    if not _plain(x, op) or not is_view(mine):
        return _finish_reduction("ReduceScatter", x, mine, op, among, work)
    output = torch.empty_like(mine)  # a view of the sum would keep all of its memory alive

    def last() -> None:
        output.copy_(mine)

    return PendingCollective("ReduceScatter", output, [work], last)


@_define_collective("all_to_all(Tensor x, int[] sent, int[] received, str group) -> Tensor")
def _all_to_all(
    x: torch.Tensor, sent: Sequence[int], received: Sequence[int], group: str
) -> PendingCollective:
    """Send `sent[k]` rows to the k-th process, and receive `received[k]` from it."""
    among = require_membership(group, "AlltoAll")
    _check_counts(sent, among, "send_numel_list", "AlltoAllV")
    _check_counts(received, among, "recv_numel_list", "AlltoAllV")
    if sum(sent) != x.shape[0]:
        raise ArgumentValueError(
            f"For 'AlltoAllV', the lengths to send {list(sent)} must add up to the {x.shape[0]} rows of the input."
        )
    output = x.new_empty((sum(received), *_row_shape(x)))
    width = x.element_size()
    for length in _row_shape(x):
        width *= length
    work = dist.all_to_all_single(
        _as_bytes(output),
        _as_bytes(x),
        [count * width for count in received],
        [count * width for count in sent],
        among.handle,
        async_op=True,
    )
    return PendingCollective("AlltoAll", output, [work])


@_define_collective("gather(Tensor x, int root, str group) -> Tensor")
def _gather(x: torch.Tensor, root: int, group: str) -> PendingCollective:
    """Rows of all processes at the root; zeros of the same shape everywhere else."""
    among = require_membership(group, "CollectiveGather")
    root = _check_rank(root, among, "CollectiveGather")
    output = x.new_zeros((x.shape[0] * among.size, *_row_shape(x)))
    parts = list(_as_bytes(output).chunk(among.size)) if among.rank == root else None
    work = dist.gather(_as_bytes(x), parts, among.ranks[root], among.handle, async_op=True)
    return PendingCollective("CollectiveGather", output, [work])


@_define_collective("scatter(Tensor x, int root, str group) -> Tensor")
def _scatter(x: torch.Tensor, root: int, group: str) -> PendingCollective:
    """Rows of this process from the root's tensor."""
    among = require_membership(group, "CollectiveScatter")
    root = _check_rank(root, among, "CollectiveScatter")
    if x.shape[0] % among.size:
        raise ArgumentValueError(
            f"For 'CollectiveScatter', the first dimension of the input ({x.shape[0]}) must be divided by the number "
            f"of processes ({among.size})."
        )
    output = x.new_empty((x.shape[0] // among.size, *_row_shape(x)))
    parts = list(_as_bytes(x).chunk(among.size)) if among.rank == root else None
    work = dist.scatter(_as_bytes(output), parts, among.ranks[root], among.handle, async_op=True)
    return PendingCollective("CollectiveScatter", output, [work])


@_define_collective(
    "exchange(Tensor[] sent, int[] to, Tensor(a!)[] received, int[] from_, int tag, str group) -> ()"
)
def _exchange(
    sent: Sequence[torch.Tensor],
    to: Sequence[int],
    received: Sequence[torch.Tensor],
    from_: Sequence[int],
    tag: int,
    group: str,
) -> PendingCollective:
    """Send tensors to and receive tensors from some processes, by group rank."""
    among = require_membership(group, "Send" if sent else "Receive")
    return PendingCollective("Send and Receive", None, start_exchange(sent, to, received, from_, tag, among))


def start_exchange(
    sent: Sequence[torch.Tensor],
    to: Sequence[int],
    received: Sequence[torch.Tensor],
    from_: Sequence[int],
    tag: int,
    among: ProcessGroup,
) -> list[Any]:
    """Start to send and receive, and return the work to wait for."""
    for rank in (*to, *from_):
        _check_rank(rank, among, "Send and Receive")
    local = [x for x, rank in zip(sent, to, strict=True) if rank == among.rank]
    calls = [
        dist.P2POp(dist.isend, _as_bytes(x), among.ranks[rank], among.handle, tag)
        for x, rank in zip(sent, to, strict=True)
        if rank != among.rank
    ]
    for x, rank in zip(received, from_, strict=True):
        if rank != among.rank:
            memory = x.view(-1).view(torch.uint8)
            calls.append(dist.P2POp(dist.irecv, memory, among.ranks[rank], among.handle, tag))
        elif local:
            x.copy_(local.pop(0))
        else:
            raise ArgumentValueError(f"Rank {among.rank} waits for a tensor from itself that it never sends.")
    return list(dist.batch_isend_irecv(calls)) if calls else []


@_define_collective("barrier(Tensor x, str group) -> ()")
def _barrier(x: torch.Tensor, group: str) -> PendingCollective:
    work = dist.barrier(require_membership(group, "Barrier").handle, async_op=True)
    return PendingCollective("Barrier", None, [work])


# Reductions that overlap with computation: `start` begins one, `finish` waits for it, identified by a ticket.
_pending_works: dict[int, Any] = {}


@_define_collective("start(Tensor(a!) data, str op, str group, int ticket) -> ()")
def _start(data: torch.Tensor, op: str, group: str, ticket: int) -> PendingCollective:
    among, how = require_membership(group, "AllReduce"), _reduction(op, data)
    _pending_works[ticket] = dist.all_reduce(data, how, among.handle, async_op=True)
    return PendingCollective("AllReduce", None)


@_define_collective("finish(Tensor(a!) data, int ticket) -> ()")
def _finish(data: torch.Tensor, ticket: int) -> PendingCollective:
    work = _pending_works.pop(ticket, None)
    return PendingCollective("AllReduce", None, [] if work is None else [work])


def start_all_reduce(data: torch.Tensor, op: str, group: str, ticket: int) -> None:
    """Start to sum `data` over a group in place; it must not be used before `wait_all_reduce`."""
    torch.ops.millrace.start(data, op, group, ticket)


def wait_all_reduce(data: torch.Tensor, ticket: int) -> None:
    """Wait for the reduction that `start_all_reduce` started."""
    torch.ops.millrace.finish(data, ticket)


def _check_rank(root: int, among: ProcessGroup, owner: str) -> int:
    if not 0 <= root < among.size:
        raise ArgumentValueError(
            f"For '{owner}', the rank must be in [0, {among.size}) of group '{among.name}', but got {root}."
        )
    return root


def _check_counts(counts: Sequence[int], among: ProcessGroup, name: str, owner: str) -> None:
    if len(counts) != among.size or any(count < 0 for count in counts):
        raise ArgumentValueError(
            f"For '{owner}', '{name}' must have a length for each of {among.size} processes, but got {list(counts)}."
        )
