"""Collective operations with gradients, as functions on PyTorch tensors. MindSpore's classes are in `primitives.py`,
its functions in `millrace.mint.distributed` and `comm_func`.

The gradients are MindSpore's: the gradient of a sum over processes is the sum of the gradients over processes, the
gradient of a broadcast passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from millrace._src.core.errors import OperationError
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP, require_membership
from millrace._src.runtime.ops.collective import torch_library_ops as _registered  # noqa: F401  defines torch.ops.millrace

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
    """Autograd function of a collective call and the computation of its gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, call: CollectiveCall, back: Any, keep: bool) -> torch.Tensor:
        output = call(x)
        ctx.back = back
        if keep:
            ctx.save_for_backward(x, output)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return ctx.back(gradients[0], *ctx.saved_tensors), None, None, None


def _differentiable_collective(
    x: torch.Tensor, call: CollectiveCall, back: Callable[..., torch.Tensor], keep: bool = False
) -> torch.Tensor:
    """Call with a gradient; `back` gets the gradient of the result and, with `keep`, argument and result."""
    if torch.is_grad_enabled() and x.requires_grad:
        output: torch.Tensor = _Collective.apply(x, call, back, keep)
        return output
    return call(x)


def all_reduce(x: torch.Tensor, op: str = "sum", group: str = WORLD_GROUP) -> torch.Tensor:
    """Sum (maximum, minimum, product, mean) over the processes of a group, in each of them."""

    def back(gradient: torch.Tensor, *seen: torch.Tensor) -> torch.Tensor:
        if op == "prod":
            raise OperationError("The bprop of ReduceOp.PROD is not supported yet.")
        total = all_reduce(gradient, "avg" if op == "avg" else "sum", group)
        # maximum: the gradient goes to the process that had it
        return total * (seen[0] == seen[1]) if seen else total

    keep = op in ("max", "min")
    return _differentiable_collective(
        x, lambda data: torch.ops.millrace.all_reduce(data.detach(), op, group), back, keep
    )


def all_gather(x: torch.Tensor, group: str = WORLD_GROUP, sizes: Sequence[int] = ()) -> torch.Tensor:
    """Rows of all processes, concatenated."""
    return _differentiable_collective(
        x if x.dim() else x.reshape(1),
        lambda data: torch.ops.millrace.all_gather(data.detach(), list(sizes), group),
        lambda gradient: reduce_scatter(gradient, "sum", group, sizes),
    )


def reduce_scatter(
    x: torch.Tensor, op: str = "sum", group: str = WORLD_GROUP, sizes: Sequence[int] = ()
) -> torch.Tensor:
    """Sum over the processes, of which each keeps its part of the rows."""

    def back(gradient: torch.Tensor) -> torch.Tensor:
        if op not in ("sum", "avg"):
            raise OperationError(f"The bprop of ReduceScatter with op '{op}' is not supported yet.")
        whole = all_gather(gradient, group, sizes)
        return whole / require_membership(group, "ReduceScatter").size if op == "avg" else whole

    return _differentiable_collective(
        x, lambda data: torch.ops.millrace.reduce_scatter(data.detach(), list(sizes), op, group), back
    )


def broadcast(x: torch.Tensor, root: int, group: str = WORLD_GROUP) -> torch.Tensor:
    """Tensor of group rank `root`, in all processes of the group."""
    return _differentiable_collective(
        x,
        lambda data: torch.ops.millrace.broadcast(data.detach(), root, group),
        lambda gradient: gradient,
    )


def all_to_all(
    x: torch.Tensor, sent: Sequence[int], received: Sequence[int], group: str = WORLD_GROUP
) -> torch.Tensor:
    """Exchange rows between all processes: `sent[k]` rows go to group rank k, `received[k]` come from it."""
    return _differentiable_collective(
        x,
        lambda data: torch.ops.millrace.all_to_all(data.detach(), list(sent), list(received), group),
        lambda gradient: all_to_all(gradient, received, sent, group),
    )


def reduce(x: torch.Tensor, root: int, op: str = "sum", group: str = WORLD_GROUP) -> torch.Tensor:
    """Sum over the processes on group rank `root`; the others keep their input."""

    def back(gradient: torch.Tensor) -> torch.Tensor:
        if op != "sum":
            raise OperationError(f"The gradient of Reduce is that of 'sum'; there is none for '{op}'.")
        return broadcast(gradient, root, group)

    return _differentiable_collective(
        x, lambda data: torch.ops.millrace.reduce(data.detach(), root, op, group), back
    )


def gather(x: torch.Tensor, root: int, group: str = WORLD_GROUP) -> torch.Tensor:
    """Rows of all processes on group rank `root`; zeros on the others."""
    return _differentiable_collective(
        x if x.dim() else x.reshape(1),
        lambda data: torch.ops.millrace.gather(data.detach(), root, group),
        lambda gradient: scatter(gradient, root, group),
    )


def scatter(x: torch.Tensor, root: int, group: str = WORLD_GROUP) -> torch.Tensor:
    """Each process's part of the rows of group rank `root`."""
    return _differentiable_collective(
        x,
        lambda data: torch.ops.millrace.scatter(data.detach(), root, group),
        lambda gradient: gather(gradient, root, group),
    )


class _Exchange(torch.autograd.Function):
    """Send tensors to and receive tensors from some processes; gradients take the reverse direction."""

    @staticmethod
    def forward(ctx: Any, to: Any, from_: Any, like: Any, tag: int, group: str, *sent: torch.Tensor) -> Any:
        ctx.ways = to, from_, tag, group
        ctx.shapes = [(each.shape, each.dtype, each.device) for each in sent]
        received = _send_receive_tensors(sent, to, like, from_, tag, group)
        return tuple(received)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        to, from_, tag, group = ctx.ways
        input_gradients = send_receive(gradients, from_, ctx.shapes, to, tag, group)
        return (None, None, None, None, None, *input_gradients)


TensorSpec = tuple[Any, torch.dtype, torch.device]


def send_receive(
    sent: Sequence[torch.Tensor],
    to: Sequence[int],
    like: Sequence[TensorSpec],
    from_: Sequence[int],
    tag: int = 0,
    group: str = WORLD_GROUP,
) -> list[torch.Tensor]:
    """Send `sent[k]` to group rank `to[k]`, and receive from group rank `from_[k]` a tensor specified by `like[k]`:
    shape, dtype, device.
    """
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
    """`send_receive`, with `x` as first result. Everything computed from `x` afterwards depends on the exchange, also
    in a process that only sends or only receives: so every process runs its backward pass.
    """
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
        input_gradients = _send_receive_tensors(gradients[1:], from_, ctx.shapes, to, 0, group)
        return (None, None, None, None, gradients[0], *input_gradients)


def _send_receive_tensors(
    sent: Any, to: Any, like: Any, from_: Any, tag: int, group: str
) -> list[torch.Tensor]:
    received = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype, device in like]
    torch.ops.millrace.exchange([each.detach() for each in sent], list(to), received, list(from_), tag, group)
    return received


def barrier(group: str = WORLD_GROUP) -> None:
    """Wait until every process of the group has reached this call."""
    torch.ops.millrace.barrier(torch.empty(0), group)
