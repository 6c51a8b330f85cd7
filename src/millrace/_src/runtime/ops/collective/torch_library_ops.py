"""What goes between processes, as operators of PyTorch's own kind: a recording writes them down like any other call.

Each is plain data movement on detached tensors; gradients stand in collective.py. Every process of the group has to
make the same calls in the same order. Each begins, and gives what to wait for; the operator waits at once.
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
    "avg": dist.ReduceOp.SUM,  # and then divided: gloo has no mean
}
# gloo adds these in the type beside them, which holds every result that fits the first
_REDUCTION_DTYPES = {torch.int16: torch.int32, torch.uint16: torch.int32, torch.uint32: torch.int64}

_library = torch.library.Library("millrace", "FRAGMENT")


@dataclass
class PendingCollective:
    """Something under way: the tensor that it fills, and what to wait for."""

    name: str
    result: Any
    work: list[Any] = field(default_factory=list)
    on_complete: Callable[[], None] | None = None  # what remains to be done when all has arrived

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
# name -> what begins it
ASYNC_COLLECTIVES: dict[str, AsyncCollective] = {}


def _define_collective(schema: str) -> Callable[[AsyncCollective], AsyncCollective]:
    """Define one, and turn what the library raises into words about ranks."""

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
    # gloo begins with a line of its source and ends with advice
    text = re.sub(r"^\[[^\]]*\.\w+:\d+\] ", "", text).partition(". This is typically")[0]
    here = world_group()
    who = f"rank {here.rank} of {here.size}" if here else "this process"
    return OperationError(
        f"For '{name}', {who} could not finish it with the others: {text}. Another process has ended or makes other "
        "calls: the first error among the ranks says why."
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


def _numbers(x: torch.Tensor) -> torch.Tensor:
    """A copy in a type that the library adds up."""
    if x.is_complex():
        return torch.view_as_real(x.resolve_conj()).contiguous().clone()
    wider = _REDUCTION_DTYPES.get(x.dtype)
    return x.to(wider).contiguous() if wider else x.contiguous().clone()


def _plain(x: torch.Tensor, op: str) -> bool:
    """The copy that is added up is the result."""
    return op != "avg" and not x.is_complex() and x.dtype not in _REDUCTION_DTYPES


def _finish_reduction(
    name: str, x: torch.Tensor, data: torch.Tensor, op: str, among: ProcessGroup, work: Any
) -> PendingCollective:
    """The sum in the type that was given; `data` has the numbers that are added up."""
    if _plain(x, op):
        return PendingCollective(name, data, [work])
    shape = data.shape[:-1] if x.is_complex() else data.shape
    made = torch.empty(shape, dtype=x.dtype, device=x.device)

    def last() -> None:
        total = data
        if op == "avg":
            mode = None if data.is_floating_point() else "trunc"
            total = torch.div(data, among.size, rounding_mode=mode)
        made.copy_(torch.view_as_complex(total) if x.is_complex() else total)

    return PendingCollective(name, made, [work], last)


def _bytes(x: torch.Tensor) -> torch.Tensor:
    """The memory of a tensor: what is only moved is moved as bytes, whatever its type."""
    return x.contiguous().reshape(-1).view(torch.uint8)


def _rows(x: torch.Tensor) -> tuple[int, ...]:
    return tuple(x.shape[1:])


@_define_collective("all_reduce(Tensor x, str op, str group) -> Tensor")
def _all_reduce(x: torch.Tensor, op: str, group: str) -> PendingCollective:
    among, how = require_membership(group, "AllReduce"), _reduction(op, x)
    data = _numbers(x)
    work = dist.all_reduce(data, how, among.handle, async_op=True)
    return _finish_reduction("AllReduce", x, data, op, among, work)


@_define_collective("reduce(Tensor x, int root, str op, str group) -> Tensor")
def _reduce(x: torch.Tensor, root: int, op: str, group: str) -> PendingCollective:
    """The sum at the root; what was given everywhere else."""
    among, how = require_membership(group, "Reduce"), _reduction(op, x)
    data = _numbers(x)
    work = dist.reduce(data, among.ranks[_place(root, among, "Reduce")], how, among.handle, async_op=True)
    if among.rank == root:
        return _finish_reduction("Reduce", x, data, op, among, work)
    return PendingCollective("Reduce", x.clone(), [work])


@_define_collective("broadcast(Tensor x, int root, str group) -> Tensor")
def _broadcast(x: torch.Tensor, root: int, group: str) -> PendingCollective:
    among = require_membership(group, "Broadcast")
    data = x.contiguous().clone()
    source = among.ranks[_place(root, among, "Broadcast")]
    if not data.numel():
        return PendingCollective("Broadcast", data)
    return PendingCollective(
        "Broadcast", data, [dist.broadcast(_bytes(data), source, among.handle, async_op=True)]
    )


@_define_collective("all_gather(Tensor x, int[] sizes, str group) -> Tensor")
def _all_gather(x: torch.Tensor, sizes: Sequence[int], group: str) -> PendingCollective:
    """Rows of all, one after the other; `sizes` has the rows of each, or is empty where all have as many."""
    among = require_membership(group, "AllGather")
    counts = list(sizes) or [x.shape[0]] * among.size
    _fits(counts, among, "output_split_sizes", "AllGatherV")
    if counts[among.rank] != x.shape[0]:
        raise ArgumentValueError(
            f"For 'AllGatherV', rank {among.rank} has {x.shape[0]} rows, but output_split_sizes says "
            f"{counts[among.rank]}."
        )
    made = x.new_empty((sum(counts), *_rows(x)))
    parts = list(made.split(counts))
    if not made.numel():
        return PendingCollective("AllGather", made)
    if len(set(counts)) == 1:
        work = dist.all_gather([_bytes(part) for part in parts], _bytes(x), among.handle, async_op=True)
        return PendingCollective("AllGather", made, [work])
    # rows of different lengths: each sends its own to all others
    parts[among.rank].copy_(x)
    others = [place for place in range(among.size) if place != among.rank]
    work = start_exchange([x] * len(others), others, [parts[place] for place in others], others, 0, among)
    return PendingCollective("AllGatherV", made, work)


@_define_collective("reduce_scatter(Tensor x, int[] sizes, str op, str group) -> Tensor")
def _reduce_scatter(x: torch.Tensor, sizes: Sequence[int], op: str, group: str) -> PendingCollective:
    """The sum over all, of which each keeps its rows."""
    among, how = require_membership(group, "ReduceScatter"), _reduction(op, x)
    if not sizes and x.shape[0] % among.size:
        raise ArgumentValueError(
            f"For 'ReduceScatter', the first dimension of the input ({x.shape[0]}) must be divided by the number of "
            f"processes ({among.size})."
        )
    counts = list(sizes) or [x.shape[0] // among.size] * among.size
    _fits(counts, among, "input_split_sizes", "ReduceScatterV")
    if sum(counts) != x.shape[0]:
        raise ArgumentValueError(
            f"For 'ReduceScatterV', input_split_sizes {counts} must add up to the {x.shape[0]} rows of the input."
        )
    data = _numbers(x)
    if data.is_cuda and len(set(counts)) == 1:
        mine = data.new_empty((counts[0], *data.shape[1:]))
        work = dist.reduce_scatter_tensor(mine, data, how, group=among.handle, async_op=True)
    else:
        work = dist.all_reduce(data, how, among.handle, async_op=True)
        mine = data.split(counts)[among.rank]
    if not _plain(x, op) or not is_view(mine):
        return _finish_reduction("ReduceScatter", x, mine, op, among, work)
    made = torch.empty_like(mine)  # a part of the sum would keep all of it alive

    def last() -> None:
        made.copy_(mine)

    return PendingCollective("ReduceScatter", made, [work], last)


@_define_collective("all_to_all(Tensor x, int[] sent, int[] received, str group) -> Tensor")
def _all_to_all(
    x: torch.Tensor, sent: Sequence[int], received: Sequence[int], group: str
) -> PendingCollective:
    """`sent[k]` rows go to the k-th process, `received[k]` come from it."""
    among = require_membership(group, "AlltoAll")
    _fits(sent, among, "send_numel_list", "AlltoAllV")
    _fits(received, among, "recv_numel_list", "AlltoAllV")
    if sum(sent) != x.shape[0]:
        raise ArgumentValueError(
            f"For 'AlltoAllV', the lengths to send {list(sent)} must add up to the {x.shape[0]} rows of the input."
        )
    made = x.new_empty((sum(received), *_rows(x)))
    width = x.element_size()
    for length in _rows(x):
        width *= length
    work = dist.all_to_all_single(
        _bytes(made),
        _bytes(x),
        [count * width for count in received],
        [count * width for count in sent],
        among.handle,
        async_op=True,
    )
    return PendingCollective("AlltoAll", made, [work])


@_define_collective("gather(Tensor x, int root, str group) -> Tensor")
def _gather(x: torch.Tensor, root: int, group: str) -> PendingCollective:
    """Rows of all at the root; zeros of the same shape everywhere else."""
    among = require_membership(group, "CollectiveGather")
    root = _place(root, among, "CollectiveGather")
    made = x.new_zeros((x.shape[0] * among.size, *_rows(x)))
    parts = list(_bytes(made).chunk(among.size)) if among.rank == root else None
    work = dist.gather(_bytes(x), parts, among.ranks[root], among.handle, async_op=True)
    return PendingCollective("CollectiveGather", made, [work])


@_define_collective("scatter(Tensor x, int root, str group) -> Tensor")
def _scatter(x: torch.Tensor, root: int, group: str) -> PendingCollective:
    """Each gets its rows of what the root has."""
    among = require_membership(group, "CollectiveScatter")
    root = _place(root, among, "CollectiveScatter")
    if x.shape[0] % among.size:
        raise ArgumentValueError(
            f"For 'CollectiveScatter', the first dimension of the input ({x.shape[0]}) must be divided by the number "
            f"of processes ({among.size})."
        )
    made = x.new_empty((x.shape[0] // among.size, *_rows(x)))
    parts = list(_bytes(x).chunk(among.size)) if among.rank == root else None
    work = dist.scatter(_bytes(made), parts, among.ranks[root], among.handle, async_op=True)
    return PendingCollective("CollectiveScatter", made, [work])


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
    """Tensors to some processes and from some; places are those in the group."""
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
    """Begin to send and receive; what to wait for."""
    for place in (*to, *from_):
        _place(place, among, "Send and Receive")
    own = [x for x, place in zip(sent, to, strict=True) if place == among.rank]
    calls = [
        dist.P2POp(dist.isend, _bytes(x), among.ranks[place], among.handle, tag)
        for x, place in zip(sent, to, strict=True)
        if place != among.rank
    ]
    for x, place in zip(received, from_, strict=True):
        if place != among.rank:
            memory = x.view(-1).view(torch.uint8)
            calls.append(dist.P2POp(dist.irecv, memory, among.ranks[place], among.handle, tag))
        elif own:
            x.copy_(own.pop(0))
        else:
            raise ArgumentValueError(f"Rank {among.rank} waits for a tensor from itself that it never sends.")
    return list(dist.batch_isend_irecv(calls)) if calls else []


@_define_collective("barrier(Tensor x, str group) -> ()")
def _barrier(x: torch.Tensor, group: str) -> PendingCollective:
    work = dist.barrier(require_membership(group, "Barrier").handle, async_op=True)
    return PendingCollective("Barrier", None, [work])


# Sums that go on while something else is computed: what `start` began, `finish` waits for, by a number.
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
    """Begin to add `data` up over a group, in place; nobody may touch it before `finish`."""
    torch.ops.millrace.start(data, op, group, ticket)


def wait_all_reduce(data: torch.Tensor, ticket: int) -> None:
    """Wait for what `start` began."""
    torch.ops.millrace.finish(data, ticket)


def _place(root: int, among: ProcessGroup, owner: str) -> int:
    if not 0 <= root < among.size:
        raise ArgumentValueError(
            f"For '{owner}', the rank must be in [0, {among.size}) of group '{among.name}', but got {root}."
        )
    return root


def _fits(counts: Sequence[int], among: ProcessGroup, name: str, owner: str) -> None:
    if len(counts) != among.size or any(count < 0 for count in counts):
        raise ArgumentValueError(
            f"For '{owner}', '{name}' must have a length for each of {among.size} processes, but got {list(counts)}."
        )
