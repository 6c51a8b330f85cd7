"""Collective operations with their gradients, as functions on tensors of PyTorch; MindSpore's classes stand in
`collective_classes.py`, its functions in `parallel`.

The gradients are MindSpore's: that of a sum over processes is the sum of the gradients over processes, that of a
broadcast passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from millrace._src.core.errors import OperationError
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP, require_membership

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "send_receive",
    "send_receive_with_dependency",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

CollectiveCall = Callable[[torch.Tensor], torch.Tensor]


class _Collective(torch.autograd.Function):
    """The bridge to autograd: a call, and what makes the gradient of its argument of that of its result."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, call: CollectiveCall, back: Any, keep: bool) -> torch.Tensor:
        made = call(x)
        ctx.back = back
        if keep:
            ctx.save_for_backward(x, made)
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return ctx.back(gradients[0], *ctx.saved_tensors), None, None, None


def _differentiable_collective(
    x: torch.Tensor, call: CollectiveCall, back: Callable[..., torch.Tensor], keep: bool = False
) -> torch.Tensor:
    """The call, with a gradient; `back` is given that of the result and, with `keep`, argument and result."""
    if torch.is_grad_enabled() and x.requires_grad:
        made: torch.Tensor = _Collective.apply(x, call, back, keep)
        return made
    return call(x)


def all_reduce(x: torch.Tensor, op: str = "sum", group: str = WORLD_GROUP) -> torch.Tensor:
    """The sum (largest, smallest, product, mean) over the processes of a group, in each of them."""

    def back(gradient: torch.Tensor, *seen: torch.Tensor) -> torch.Tensor:
        if op == "prod":
            raise OperationError("The bprop of ReduceOp.PROD is not supported yet.")
        total = all_reduce(gradient, "avg" if op == "avg" else "sum", group)
        # the largest: where it came from
        return total * (seen[0] == seen[1]) if seen else total

    keep = op in ("max", "min")
    return _differentiable_collective(
        x, lambda data: torch.ops.millrace.all_reduce(data.detach(), op, group), back, keep
    )


def all_gather(x: torch.Tensor, group: str = WORLD_GROUP, sizes: Sequence[int] = ()) -> torch.Tensor:
    """The rows of all processes, one after the other."""
    return _differentiable_collective(
        x if x.dim() else x.reshape(1),
        lambda data: torch.ops.millrace.all_gather(data.detach(), list(sizes), group),
        lambda gradient: reduce_scatter(gradient, "sum", group, sizes),
    )


def reduce_scatter(
    x: torch.Tensor, op: str = "sum", group: str = WORLD_GROUP, sizes: Sequence[int] = ()
) -> torch.Tensor:
    """The sum over the processes, of which each keeps its part of the rows."""

    def back(gradient: torch.Tensor) -> torch.Tensor:
        if op not in ("sum", "avg"):
            raise OperationError(f"The bprop of ReduceScatter with op '{op}' is not supported yet.")
        whole = all_gather(gradient, group, sizes)
        return whole / require_membership(group, "ReduceScatter").size if op == "avg" else whole

    return _differentiable_collective(
        x, lambda data: torch.ops.millrace.reduce_scatter(data.detach(), list(sizes), op, group), back
    )


def broadcast(x: torch.Tensor, root: int, group: str = WORLD_GROUP) -> torch.Tensor:
    """What the process at place `root` of the group has, in all of them."""
    return _differentiable_collective(
        x,
        lambda data: torch.ops.millrace.broadcast(data.detach(), root, group),
        lambda gradient: gradient,
    )


def all_to_all(
    x: torch.Tensor, sent: Sequence[int], received: Sequence[int], group: str = WORLD_GROUP
) -> torch.Tensor:
    """Rows from each to each: `sent[k]` of them go to place k of the group, `received[k]` come from there."""
    return _differentiable_collective(
        x,
        lambda data: torch.ops.millrace.all_to_all(data.detach(), list(sent), list(received), group),
        lambda gradient: all_to_all(gradient, received, sent, group),
    )


def reduce(x: torch.Tensor, root: int, op: str = "sum", group: str = WORLD_GROUP) -> torch.Tensor:
    """The sum over the processes at place `root`; what was given in the others."""

    def back(gradient: torch.Tensor) -> torch.Tensor:
        if op != "sum":
            raise OperationError(f"The gradient of Reduce is that of 'sum'; there is none for '{op}'.")
        return broadcast(gradient, root, group)

    return _differentiable_collective(
        x, lambda data: torch.ops.millrace.reduce(data.detach(), root, op, group), back
    )


def gather(x: torch.Tensor, root: int, group: str = WORLD_GROUP) -> torch.Tensor:
    """The rows of all processes at place `root`; zeros in the others."""
    return _differentiable_collective(
        x if x.dim() else x.reshape(1),
        lambda data: torch.ops.millrace.gather(data.detach(), root, group),
        lambda gradient: scatter(gradient, root, group),
    )


def scatter(x: torch.Tensor, root: int, group: str = WORLD_GROUP) -> torch.Tensor:
    """Each process's part of the rows that the one at place `root` has."""
    return _differentiable_collective(
        x,
        lambda data: torch.ops.millrace.scatter(data.detach(), root, group),
        lambda gradient: gather(gradient, root, group),
    )


class _Exchange(torch.autograd.Function):
    """Tensors to some, tensors from some; gradients go back the same ways."""

    @staticmethod
    def forward(ctx: Any, to: Any, from_: Any, like: Any, tag: int, group: str, *sent: torch.Tensor) -> Any:
        ctx.ways = to, from_, tag, group
        ctx.shapes = [(each.shape, each.dtype, each.device) for each in sent]
        made = _send_receive_tensors(sent, to, like, from_, tag, group)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        to, from_, tag, group = ctx.ways
        made = send_receive(gradients, from_, ctx.shapes, to, tag, group)
        return (None, None, None, None, None, *made)


TensorSpec = tuple[Any, torch.dtype, torch.device]


def send_receive(
    sent: Sequence[torch.Tensor],
    to: Sequence[int],
    like: Sequence[TensorSpec],
    from_: Sequence[int],
    tag: int = 0,
    group: str = WORLD_GROUP,
) -> list[torch.Tensor]:
    """Send `sent[k]` to place `to[k]`, and receive from place `from_[k]` what `like[k]` says: shape, type, device."""
    wanted = torch.is_grad_enabled() and any(each.requires_grad for each in sent)
    if wanted and not like:
        raise OperationError(
            "Tensors are sent that take part in a gradient, and nothing is received in whose gradient theirs could "
            "come back. Send ops.stop_gradient(x), or use AlltoAll or NeighborExchangeV2."
        )
    if wanted:
        return list(_Exchange.apply(tuple(to), tuple(from_), tuple(like), tag, group, *sent))
    return _send_receive_tensors(sent, to, like, from_, tag, group)


def send_receive_with_dependency(
    x: torch.Tensor,
    sent: Sequence[torch.Tensor],
    to: Sequence[int],
    like: Sequence[TensorSpec],
    from_: Sequence[int],
    group: str = WORLD_GROUP,
) -> list[torch.Tensor]:
    """`exchange`, and `x` before it. What is made of `x` from here on ties all of it into the backward pass, also in a
    process that only sends or only receives: gradients always find their way back."""
    if torch.is_grad_enabled() and x.requires_grad:
        return list(_DependentExchange.apply(tuple(to), tuple(from_), tuple(like), group, x, *sent))
    return [x, *_send_receive_tensors(sent, to, like, from_, 0, group)]


class _DependentExchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, to: Any, from_: Any, like: Any, group: str, x: Any, *sent: torch.Tensor) -> Any:
        ctx.ways = to, from_, group
        ctx.shapes = [(each.shape, each.dtype, each.device) for each in sent]
        return (x.view_as(x), *_send_receive_tensors(sent, to, like, from_, 0, group))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        to, from_, group = ctx.ways
        made = _send_receive_tensors(gradients[1:], from_, ctx.shapes, to, 0, group)
        return (None, None, None, None, gradients[0], *made)


def _send_receive_tensors(
    sent: Any, to: Any, like: Any, from_: Any, tag: int, group: str
) -> list[torch.Tensor]:
    received = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype, device in like]
    torch.ops.millrace.exchange([each.detach() for each in sent], list(to), received, list(from_), tag, group)
    return received


def barrier(group: str = WORLD_GROUP) -> None:
    """Wait until every process of the group is here."""
    torch.ops.millrace.barrier(torch.empty(0), group)
