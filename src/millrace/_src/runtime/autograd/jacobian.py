"""Whole Jacobians: ``jacrev`` row by row, ``jacfwd`` column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.storage import wrap

from .differentiation import detach_tree, is_differentiating, require_gradients
from .grad import normalize_positions
from .jvp_vjp import TracedCall, trace

__all__ = ["jacfwd", "jacrev"]

Blocks = list[list[torch.Tensor]]


def jacrev(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """A function that gives the Jacobian of `fn`, for few results of many inputs.

    >>> jacrev(lambda x: x * x)(Tensor([1.0, 2.0])).asnumpy().tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacrev", fn, grad_position, has_aux, _jacobian_rows)


def jacfwd(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """A function that gives the Jacobian of `fn`, for many results of few inputs.

    >>> jacfwd(lambda x: x * x)(Tensor([1.0, 2.0])).asnumpy().tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacfwd", fn, grad_position, has_aux, _jacobian_columns)


def _jacobian(
    name: str,
    fn: Callable[..., Any],
    grad_position: Any,
    has_aux: bool,
    blocks: Callable[[TracedCall, list[torch.Tensor], bool], Blocks],
) -> Callable[..., Any]:
    if not callable(fn):
        raise ArgumentValueError(f"For '{name}', 'fn' must be a function or a Cell, but got {fn!r}.")
    positions = normalize_positions(grad_position)
    if any(place < 0 for place in positions):
        raise ArgumentValueError("grad_position must be >= 0.")

    def jacobian(*args: Any) -> Any:
        if any(place >= len(args) for place in positions):
            raise ArgumentValueError("The element in grad_position must belong to [0, args_num).")
        inner = is_differentiating()

        def of_chosen(*chosen: Tensor) -> Any:
            given = list(args)
            for place, value in zip(positions, chosen, strict=True):
                given[place] = value
            return fn(*given)

        with require_gradients(()):
            traced = trace(of_chosen, [_floating(name, args[place]) for place in positions], has_aux)
            inputs = [data for data in traced.inputs if data is not None]
            found = [tuple(wrap(block) for block in row) for row in blocks(traced, inputs, inner)]
        rows: list[Any] = [row[0] if len(row) == 1 else row for row in found]
        made = tuple(rows) if isinstance(traced.value, (tuple, list)) else rows[0]
        made = made if inner else detach_tree(made)
        return (made, traced.aux_value()) if has_aux else made

    return jacobian


def _floating(name: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor) or not value._torch.dtype.is_floating_point:
        got = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise ArgumentTypeError(
            f"For '{name}', inputs to differentiate by must be floating tensors, but got {got}."
        )
    return value


def _basis_tensors(like: torch.Tensor) -> torch.Tensor:
    """For each element a tensor with 1 there and 0 elsewhere."""
    return torch.eye(like.numel(), dtype=like.dtype, device=like.device).reshape(like.numel(), *like.shape)


def _batched_gradients(
    outputs: torch.Tensor, wanted: Sequence[torch.Tensor], keep: bool
) -> list[torch.Tensor | None]:
    """Gradients from each element of one output, along a first axis."""
    units = _basis_tensors(outputs)
    if not outputs.requires_grad or not units.numel():
        return [None for _ in wanted]

    def ask(starts: torch.Tensor, at_once: bool) -> Any:
        return torch.autograd.grad(
            outputs,
            list(wanted),
            starts,
            retain_graph=True,
            create_graph=keep,
            allow_unused=True,
            is_grads_batched=at_once,
        )

    try:
        return list(ask(units, True))
    except RuntimeError:  # an operation without a rule for many at once: one after the other
        each = [ask(unit, False) for unit in units]
        return [None if parts[0] is None else torch.stack(list(parts)) for parts in zip(*each, strict=True)]


def _jacobian_rows(traced: TracedCall, inputs: list[torch.Tensor], keep: bool) -> Blocks:
    made = []
    for out in traced.outputs:
        row = [
            torch.zeros((*out.shape, *data.shape), dtype=out.dtype, device=out.device)
            if block is None
            else block.reshape((*out.shape, *data.shape))
            for data, block in zip(inputs, _batched_gradients(out, inputs, keep), strict=True)
        ]
        made.append(row)
    return made


def _jacobian_columns(traced: TracedCall, inputs: list[torch.Tensor], keep: bool) -> Blocks:
    """By the gradient of a gradient: see `push` in products.py."""
    weighing = [torch.zeros_like(out, requires_grad=True) for out in traced.outputs]
    products = traced.vjp(weighing, inputs, keep=True)
    by_input = [_batched_gradients(product, weighing, keep) for product in products]
    made = []
    for number, out in enumerate(traced.outputs):
        row = []
        for data, blocks in zip(inputs, by_input, strict=True):
            block = blocks[number]
            row.append(
                torch.zeros((*out.shape, *data.shape), dtype=out.dtype, device=out.device)
                if block is None
                else block.reshape(data.numel(), out.numel()).T.reshape((*out.shape, *data.shape))
            )
        made.append(row)
    return made
