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
from millrace._src.runtime.distributed.group_registry import Group, members_only, world
from millrace._src.runtime.tensor.backend.torch_private import is_view

__all__ = ["BEGIN", "REDUCTIONS", "Pending", "finish", "start"]

REDUCTIONS = {
    "sum": dist.ReduceOp.SUM,
    "prod": dist.ReduceOp.PRODUCT,
    "max": dist.ReduceOp.MAX,
    "min": dist.ReduceOp.MIN,
    "avg": dist.ReduceOp.SUM,  # and then divided: gloo has no mean
}
# gloo adds these in the type beside them, which holds every result that fits the first
_ADDED_AS = {torch.int16: torch.int32, torch.uint16: torch.int32, torch.uint32: torch.int64}

_library = torch.library.Library("millrace", "FRAGMENT")


@dataclass
class Pending:
    """Something under way: the tensor that it fills, and what to wait for."""

    name: str
    result: Any
    work: list[Any] = field(default_factory=list)
    last: Callable[[], None] | None = None  # what remains to be done when all has arrived

    def wait(self) -> Any:
        try:
            for each in self.work:
                each.wait()
        except (RuntimeError, ValueError) as error:
            raise _lost(self.name, error) from None
        self.work = []
        if self.last is not None:
            self.last()
            self.last = None
        return self.result


Begin = Callable[..., Pending]
# name -> what begins it
BEGIN: dict[str, Begin] = {}


def _operator(schema: str) -> Callable[[Begin], Begin]:
    """Define one, and turn what the library raises into words about ranks."""

    def declare(function: Begin) -> Begin:
        name = schema.partition("(")[0]

        def begin(*args: Any) -> Pending:
            try:
                return function(*args)
            except MillraceError:
                raise
            except (RuntimeError, ValueError) as error:
                raise _lost(name, error) from None

        BEGIN[name] = begin
        _library.define(schema)
        _library.impl(name, lambda *args: begin(*args).wait(), "CompositeExplicitAutograd")
        return begin

    return declare


def _lost(name: str, error: Exception) -> OperationError:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    # gloo begins with a line of its source and ends with advice
    text = re.sub(r"^\[[^\]]*\.\w+:\d+\] ", "", text).partition(". This is typically")[0]
    here = world()
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
    wider = _ADDED_AS.get(x.dtype)
    return x.to(wider).contiguous() if wider else x.contiguous().clone()


def _plain(x: torch.Tensor, op: str) -> bool:
    """The copy that is added up is the result."""
    return op != "avg" and not x.is_complex() and x.dtype not in _ADDED_AS


def _summed(name: str, x: torch.Tensor, data: torch.Tensor, op: str, among: Group, work: Any) -> Pending:
    """The sum in the type that was given; `data` has the numbers that are added up."""
    if _plain(x, op):
        return Pending(name, data, [work])
    shape = data.shape[:-1] if x.is_complex() else data.shape
    made = torch.empty(shape, dtype=x.dtype, device=x.device)

    def last() -> None:
        total = data
        if op == "avg":
            mode = None if data.is_floating_point() else "trunc"
            total = torch.div(data, among.size, rounding_mode=mode)
        made.copy_(torch.view_as_complex(total) if x.is_complex() else total)

    return Pending(name, made, [work], last)


def _bytes(x: torch.Tensor) -> torch.Tensor:
    """The memory of a tensor: what is only moved is moved as bytes, whatever its type."""
    return x.contiguous().reshape(-1).view(torch.uint8)


def _rows(x: torch.Tensor) -> tuple[int, ...]:
    return tuple(x.shape[1:])


@_operator("all_reduce(Tensor x, str op, str group) -> Tensor")
def _all_reduce(x: torch.Tensor, op: str, group: str) -> Pending:
    among, how = members_only(group, "AllReduce"), _reduction(op, x)
    data = _numbers(x)
    work = dist.all_reduce(data, how, among.handle, async_op=True)
    return _summed("AllReduce", x, data, op, among, work)


@_operator("reduce(Tensor x, int root, str op, str group) -> Tensor")
def _reduce(x: torch.Tensor, root: int, op: str, group: str) -> Pending:
    """The sum at the root; what was given everywhere else."""
    among, how = members_only(group, "Reduce"), _reduction(op, x)
    data = _numbers(x)
    work = dist.reduce(data, among.ranks[_place(root, among, "Reduce")], how, among.handle, async_op=True)
    if among.rank == root:
        return _summed("Reduce", x, data, op, among, work)
    return Pending("Reduce", x.clone(), [work])


@_operator("broadcast(Tensor x, int root, str group) -> Tensor")
def _broadcast(x: torch.Tensor, root: int, group: str) -> Pending:
    among = members_only(group, "Broadcast")
    data = x.contiguous().clone()
    source = among.ranks[_place(root, among, "Broadcast")]
    if not data.numel():
        return Pending("Broadcast", data)
    return Pending("Broadcast", data, [dist.broadcast(_bytes(data), source, among.handle, async_op=True)])


@_operator("all_gather(Tensor x, int[] sizes, str group) -> Tensor")
def _all_gather(x: torch.Tensor, sizes: Sequence[int], group: str) -> Pending:
    """Rows of all, one after the other; `sizes` has the rows of each, or is empty where all have as many."""
    among = members_only(group, "AllGather")
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
        return Pending("AllGather", made)
    if len(set(counts)) == 1:
        work = dist.all_gather([_bytes(part) for part in parts], _bytes(x), among.handle, async_op=True)
        return Pending("AllGather", made, [work])
    # rows of different lengths: each sends its own to all others
    parts[among.rank].copy_(x)
    others = [place for place in range(among.size) if place != among.rank]
    work = exchanged([x] * len(others), others, [parts[place] for place in others], others, 0, among)
    return Pending("AllGatherV", made, work)


@_operator("reduce_scatter(Tensor x, int[] sizes, str op, str group) -> Tensor")
def _reduce_scatter(x: torch.Tensor, sizes: Sequence[int], op: str, group: str) -> Pending:
    """The sum over all, of which each keeps its rows."""
    among, how = members_only(group, "ReduceScatter"), _reduction(op, x)
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
        return _summed("ReduceScatter", x, mine, op, among, work)
    made = torch.empty_like(mine)  # a part of the sum would keep all of it alive

    def last() -> None:
        made.copy_(mine)

    return Pending("ReduceScatter", made, [work], last)


@_operator("all_to_all(Tensor x, int[] sent, int[] received, str group) -> Tensor")
def _all_to_all(x: torch.Tensor, sent: Sequence[int], received: Sequence[int], group: str) -> Pending:
    """`sent[k]` rows go to the k-th process, `received[k]` come from it."""
    among = members_only(group, "AlltoAll")
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
    return Pending("AlltoAll", made, [work])


@_operator("gather(Tensor x, int root, str group) -> Tensor")
def _gather(x: torch.Tensor, root: int, group: str) -> Pending:
    """Rows of all at the root; zeros of the same shape everywhere else."""
    among = members_only(group, "CollectiveGather")
    root = _place(root, among, "CollectiveGather")
    made = x.new_zeros((x.shape[0] * among.size, *_rows(x)))
    parts = list(_bytes(made).chunk(among.size)) if among.rank == root else None
    work = dist.gather(_bytes(x), parts, among.ranks[root], among.handle, async_op=True)
    return Pending("CollectiveGather", made, [work])


@_operator("scatter(Tensor x, int root, str group) -> Tensor")
def _scatter(x: torch.Tensor, root: int, group: str) -> Pending:
    """Each gets its rows of what the root has."""
    among = members_only(group, "CollectiveScatter")
    root = _place(root, among, "CollectiveScatter")
    if x.shape[0] % among.size:
        raise ArgumentValueError(
            f"For 'CollectiveScatter', the first dimension of the input ({x.shape[0]}) must be divided by the number "
            f"of processes ({among.size})."
        )
    made = x.new_empty((x.shape[0] // among.size, *_rows(x)))
    parts = list(_bytes(x).chunk(among.size)) if among.rank == root else None
    work = dist.scatter(_bytes(made), parts, among.ranks[root], among.handle, async_op=True)
    return Pending("CollectiveScatter", made, [work])


@_operator("exchange(Tensor[] sent, int[] to, Tensor(a!)[] received, int[] from_, int tag, str group) -> ()")
def _exchange(
    sent: Sequence[torch.Tensor],
    to: Sequence[int],
    received: Sequence[torch.Tensor],
    from_: Sequence[int],
    tag: int,
    group: str,
) -> Pending:
    """Tensors to some processes and from some; places are those in the group."""
    among = members_only(group, "Send" if sent else "Receive")
    return Pending("Send and Receive", None, exchanged(sent, to, received, from_, tag, among))


def exchanged(
    sent: Sequence[torch.Tensor],
    to: Sequence[int],
    received: Sequence[torch.Tensor],
    from_: Sequence[int],
    tag: int,
    among: Group,
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


@_operator("barrier(Tensor x, str group) -> ()")
def _barrier(x: torch.Tensor, group: str) -> Pending:
    work = dist.barrier(members_only(group, "Barrier").handle, async_op=True)
    return Pending("Barrier", None, [work])


# Sums that go on while something else is computed: what `start` began, `finish` waits for, by a number.
_running: dict[int, Any] = {}


@_operator("start(Tensor(a!) data, str op, str group, int ticket) -> ()")
def _start(data: torch.Tensor, op: str, group: str, ticket: int) -> Pending:
    among, how = members_only(group, "AllReduce"), _reduction(op, data)
    _running[ticket] = dist.all_reduce(data, how, among.handle, async_op=True)
    return Pending("AllReduce", None)


@_operator("finish(Tensor(a!) data, int ticket) -> ()")
def _finish(data: torch.Tensor, ticket: int) -> Pending:
    work = _running.pop(ticket, None)
    return Pending("AllReduce", None, [] if work is None else [work])


def start(data: torch.Tensor, op: str, group: str, ticket: int) -> None:
    """Begin to add `data` up over a group, in place; nobody may touch it before `finish`."""
    torch.ops.millrace.start(data, op, group, ticket)


def finish(data: torch.Tensor, ticket: int) -> None:
    """Wait for what `start` began."""
    torch.ops.millrace.finish(data, ticket)


def _place(root: int, among: Group, owner: str) -> int:
    if not 0 <= root < among.size:
        raise ArgumentValueError(
            f"For '{owner}', the rank must be in [0, {among.size}) of group '{among.name}', but got {root}."
        )
    return root


def _fits(counts: Sequence[int], among: Group, name: str, owner: str) -> None:
    if len(counts) != among.size or any(count < 0 for count in counts):
        raise ArgumentValueError(
            f"For '{owner}', '{name}' must have a length for each of {among.size} processes, but got {list(counts)}."
        )
