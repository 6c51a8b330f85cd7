"""Jacobians: reverse mode (``jacrev``) and forward mode (``jacfwd``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.storage import wrap

from .differentiation import detach_tree, is_differentiating, require_gradients
from .grad import normalize_positions
from .jvp_vjp import TracedCall, trace_call

__all__ = ["jacfwd", "jacrev"]

Blocks = list[list[torch.Tensor]]


@public("ops", "millrace")
def jacrev(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """Return a function that computes the Jacobian of `fn` by reverse mode, for few outputs and many inputs.

    >>> jacrev(lambda x: x * x)(Tensor([1.0, 2.0])).asnumpy().tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacrev", fn, grad_position, has_aux, _jacobian_rows)


@public("ops", "millrace")
def jacfwd(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """Return a function that computes the Jacobian of `fn` by forward mode, for many outputs and few inputs.

    >>> jacfwd(lambda x: x * x)(Tensor([1.0, 2.0])).asnumpy().tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacfwd", fn, grad_position, has_aux, _jacobian_columns)


def _jacobian(
    name: str,
    fn: Callable[..., Any],
    grad_position: Any,
    has_aux: bool,
    compute_blocks: Callable[[TracedCall, list[torch.Tensor], bool], Blocks],
) -> Callable[..., Any]:
    if not callable(fn):
        raise ArgumentValueError(f"For '{name}', 'fn' must be a function or a Cell, but got {fn!r}.")
    positions = normalize_positions(grad_position)
    if any(position < 0 for position in positions):
        raise ArgumentValueError("grad_position must be >= 0.")

    def jacobian(*args: Any) -> Any:
        if any(position >= len(args) for position in positions):
            raise ArgumentValueError("The element in grad_position must belong to [0, args_num).")
        inner = is_differentiating()

        def call_with_chosen(*chosen: Tensor) -> Any:
            call_args = list(args)
            for position, value in zip(positions, chosen, strict=True):
                call_args[position] = value
            return fn(*call_args)

        with require_gradients(()):
            traced = trace_call(
                call_with_chosen,
                [_require_float_tensor(name, args[position]) for position in positions],
                has_aux,
            )
            inputs = [data for data in traced.inputs if data is not None]
            block_rows = [
                tuple(wrap(block) for block in row) for row in compute_blocks(traced, inputs, inner)
            ]
        rows: list[Any] = [row[0] if len(row) == 1 else row for row in block_rows]
        jacobians = tuple(rows) if isinstance(traced.value, (tuple, list)) else rows[0]
        jacobians = jacobians if inner else detach_tree(jacobians)
        return (jacobians, traced.aux_value()) if has_aux else jacobians

    return jacobian


def _require_float_tensor(name: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor) or not value._torch.dtype.is_floating_point:
        got = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise ArgumentTypeError(
            f"For '{name}', inputs to differentiate by must be floating tensors, but got {got}."
        )
    return value


def _basis_tensors(like: torch.Tensor) -> torch.Tensor:
    """The standard basis: for each element a tensor with 1 there and 0 elsewhere."""
    return torch.eye(like.numel(), dtype=like.dtype, device=like.device).reshape(like.numel(), *like.shape)


def _batched_gradients(
    outputs: torch.Tensor, wanted: Sequence[torch.Tensor], keep: bool
) -> list[torch.Tensor | None]:
    """Gradients of each element of one output, along a first axis."""
    units = _basis_tensors(outputs)
    if not outputs.requires_grad or not units.numel():
        return [None for _ in wanted]

    def compute_gradients(starts: torch.Tensor, at_once: bool) -> Any:
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
        return list(compute_gradients(units, True))
    except RuntimeError:  # an operation without a batching rule: compute the gradients one by one
        each = [compute_gradients(unit, False) for unit in units]
        return [None if parts[0] is None else torch.stack(list(parts)) for parts in zip(*each, strict=True)]


def _jacobian_rows(traced: TracedCall, inputs: list[torch.Tensor], keep: bool) -> Blocks:
    block_rows = []
    for out in traced.outputs:
        row = [
            torch.zeros((*out.shape, *data.shape), dtype=out.dtype, device=out.device)
            if block is None
            else block.reshape((*out.shape, *data.shape))
            for data, block in zip(inputs, _batched_gradients(out, inputs, keep), strict=True)
        ]
        block_rows.append(row)
    return block_rows


def _jacobian_columns(traced: TracedCall, inputs: list[torch.Tensor], keep: bool) -> Blocks:
    """Columns of the Jacobian by double backward, see `jvp_by_double_backward` in jvp_vjp.py."""
    cotangents = [torch.zeros_like(out, requires_grad=True) for out in traced.outputs]
    products = traced.vjp(cotangents, inputs, keep=True)
    by_input = [_batched_gradients(product, cotangents, keep) for product in products]
    block_rows = []
    for output_index, out in enumerate(traced.outputs):
        row = []
        for data, blocks in zip(inputs, by_input, strict=True):
            block = blocks[output_index]
            row.append(
                torch.zeros((*out.shape, *data.shape), dtype=out.dtype, device=out.device)
                if block is None
                else block.reshape(data.numel(), out.numel()).T.reshape((*out.shape, *data.shape))
            )
        block_rows.append(row)
    return block_rows
