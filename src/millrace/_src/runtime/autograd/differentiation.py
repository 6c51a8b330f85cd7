"""Differentiation of one call: inputs and weights require gradients only during the call.

The tensor of a Parameter requires no gradient outside of a differentiated call, so eager code keeps no
history and every write is in place. During the call the requested weights and inputs require gradients, the
function runs, and autograd computes the gradients.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.framework.custom_op import replace_tensors
from millrace._src.runtime.ops.framework.gradient_hooks import apply_gradient_hooks
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.backend.torch_private import run_backward
from millrace._src.runtime.tensor.error_translation import translate_error
from millrace._src.runtime.tensor.storage import wrap

__all__ = [
    "GradientResult",
    "detach_tree",
    "differentiate",
    "iter_tensors",
    "as_leaf",
    "inside_vmap",
    "is_differentiating",
    "require_gradients",
]


# Called with the index of a weight and its gradient.
GradientCallback = Callable[[int, torch.Tensor], None]


class _NestingDepth(threading.local):
    """Nesting depth of differentiated calls and of ``vmap`` calls in this thread."""

    calls = 0
    maps = 0


_depth = _NestingDepth()


@dataclass
class GradientResult:
    """The result of a differentiated call, and the gradients of the requested inputs and weights."""

    value: Any
    inputs: list[Tensor | None]
    weights: list[Tensor]


def iter_tensors(value: Any) -> Iterator[torch.Tensor]:
    """Iterate over the PyTorch tensors of a nested result."""
    if isinstance(value, Tensor):
        yield value._torch
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from iter_tensors(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from iter_tensors(part)


def is_differentiating() -> bool:
    """Whether a differentiated call is running, which may keep references to any tensor."""
    return _depth.calls > 0


@contextmanager
def require_gradients(weights: Sequence[torch.Tensor]) -> Iterator[None]:
    """Make weights require gradients inside the block. Weights of an outer call keep requiring them
    afterwards.
    """
    changed_weights = [weight for weight in weights if not weight.requires_grad]
    _depth.calls += 1
    for weight in changed_weights:
        weight.requires_grad_(True)
    try:
        with torch.enable_grad():
            yield
    finally:
        _depth.calls -= 1
        for weight in changed_weights:
            weight.requires_grad_(False)


@contextmanager
def inside_vmap() -> Iterator[None]:
    """Mark that ``vmap`` is running, where single tensors cannot require gradients."""
    _depth.maps += 1
    try:
        yield
    finally:
        _depth.maps -= 1


def as_leaf(value: Tensor) -> torch.Tensor:
    """An input to differentiate by: a new leaf tensor, or a view inside another differentiated call."""
    data = value._torch
    if not (data.is_floating_point() or data.is_complex()):
        return data
    return data.view_as(data) if data.requires_grad else data.detach().requires_grad_()


def differentiate(
    function: Callable[..., Any],
    positions: Sequence[int],
    weights: Sequence[Tensor],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool = False,
    sens: Any = None,
    on_gradient: GradientCallback | None = None,
) -> GradientResult:
    """Call a function and differentiate the sum of its results; with `has_aux` only of the first.

    `on_gradient(index, gradient)` is called as soon as the gradient of a weight is known, while others are
    still computed.
    """
    for position in positions:
        if not -len(args) <= position < len(args):
            raise OperationError(f"Position index {position} is exceed input size.")
    if _depth.maps:
        return _differentiate_in_vmap(function, positions, weights, args, kwargs, has_aux, sens)
    inner = is_differentiating()  # the outer call may reference any tensor of this one
    raw_weights = [weight._torch for weight in weights]
    call_args = list(args)
    with require_gradients(raw_weights):
        chosen: list[torch.Tensor | None] = []
        for position in positions:
            value = args[position]
            chosen.append(as_leaf(value) if isinstance(value, Tensor) else None)
            if chosen[-1] is not None:
                call_args[position] = wrap(chosen[-1])
        with modes.differentiating():
            value = function(*call_args, **kwargs)
        if has_aux and not (isinstance(value, (tuple, list)) and len(value) > 1):
            raise ArgumentValueError("When has_aux is True, origin fn requires more than one outputs.")
        outputs = list(iter_tensors(value[0] if has_aux else value))
        wanted = [data for data in chosen if data is not None] + raw_weights
        with _gradient_callbacks(raw_weights, on_gradient):
            gradients = iter(_gradients(outputs, wanted, sens, inner))
        inputs = [
            None if data is None else _apply_hooks(args[position], next(gradients))
            for position, data in zip(positions, chosen, strict=True)
        ]
        weight_gradients = [_apply_hooks(weight, next(gradients)) for weight in weights]
    return GradientResult(value if inner else detach_tree(value), inputs, weight_gradients)


@contextmanager
def _gradient_callbacks(
    weights: Sequence[torch.Tensor], on_gradient: GradientCallback | None
) -> Iterator[None]:
    """Call `on_gradient` for each weight's gradient inside the block."""
    if on_gradient is None:
        yield
        return
    hooks = [
        weight.register_hook(functools.partial(on_gradient, index))
        for index, weight in enumerate(weights)
        if weight.requires_grad
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _apply_hooks(tensor: Tensor, gradient: torch.Tensor) -> Tensor:
    """The gradient of an input or a weight after its registered hooks."""
    hooks = tensor.__dict__.get("_gradient_hooks")
    return wrap(apply_gradient_hooks(hooks, gradient) if hooks else gradient)


def _differentiate_in_vmap(
    function: Callable[..., Any],
    positions: Sequence[int],
    weights: Sequence[Tensor],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool,
    sens: Any,
) -> GradientResult:
    """``differentiate`` inside ``vmap``, through ``torch.func.vjp``."""
    tensor_positions = [
        p for p in positions if isinstance(args[p], Tensor) and args[p]._torch.is_floating_point()
    ]
    raw_weights = [weight._torch for weight in weights]
    kept: list[Any] = []

    def run(*tensors: torch.Tensor) -> Any:
        call_args = list(args)
        for position, data in zip(tensor_positions, tensors, strict=False):
            call_args[position] = wrap(data)
        try:
            for weight, data in zip(weights, tensors[len(tensor_positions) :], strict=True):
                weight._torch = data
            value = function(*call_args, **kwargs)
        finally:
            for weight, data in zip(weights, raw_weights, strict=True):
                weight._torch = data
        kept.append(value)
        outputs = [o for o in iter_tensors(value[0] if has_aux else value) if o.is_floating_point()]
        return tuple(outputs), tuple(iter_tensors(value))

    inputs = [args[position]._torch for position in tensor_positions]
    outputs, vjp_function, aux_tensors = cast(Any, torch.func.vjp(run, *inputs, *raw_weights, has_aux=True))
    cotangents = tuple(torch.ones_like(o) for o in outputs) if sens is None else tuple(iter_tensors(sens))
    gradients = [wrap(gradient) for gradient in vjp_function(cotangents)]
    gradient_by_position = dict(zip(tensor_positions, gradients, strict=False))
    return GradientResult(
        replace_tensors(kept[0], iter(aux_tensors)),
        [gradient_by_position.get(p) for p in positions],
        gradients[len(tensor_positions) :],
    )


def _gradients(
    outputs: list[torch.Tensor], targets: list[torch.Tensor], sens: Any, keep: bool
) -> list[torch.Tensor]:
    """Gradients of all outputs together; zeros for targets without influence."""
    if (
        sens is None
        and len(outputs) == 1
        and outputs[0].requires_grad
        and all(data.requires_grad for data in targets)
    ):
        return _gradients_of_one_output(outputs[0], targets, keep)  # the common case: a loss and its weights
    cotangents = (
        list(iter_tensors(sens)) if sens is not None else [torch.ones_like(output) for output in outputs]
    )
    if sens is not None and [s.shape for s in cotangents] != [o.shape for o in outputs]:
        shapes = [tuple(o.shape) for o in outputs], [tuple(s.shape) for s in cotangents]
        raise ArgumentValueError(
            f"sens must have the shapes of the results: {shapes[0]}, but got {shapes[1]}."
        )
    pairs = [
        (output, cotangent)
        for output, cotangent in zip(outputs, cotangents, strict=True)
        if output.requires_grad
    ]
    differentiable = [index for index, data in enumerate(targets) if data.requires_grad]
    gradient_by_index: dict[int, torch.Tensor | None] = {}
    if pairs and differentiable:
        try:
            gradients = run_backward(
                tuple(output for output, _ in pairs),
                tuple(targets[index] for index in differentiable),
                tuple(cotangent.to(output.dtype) for output, cotangent in pairs),
                keep,
            )
        except RuntimeError as error:
            raise translate_error("grad", error, [wrap(data) for data in targets]) from None
        gradient_by_index = dict(zip(differentiable, gradients, strict=True))
    return [
        torch.zeros_like(data) if gradient_by_index.get(i) is None else gradient_by_index[i]  # type: ignore[misc]
        for i, data in enumerate(targets)
    ]


def _gradients_of_one_output(
    output: torch.Tensor, targets: list[torch.Tensor], keep: bool
) -> list[torch.Tensor]:
    """Gradients of one output by targets that all require gradients."""
    if not targets:
        return []
    try:
        gradients = run_backward((output,), tuple(targets), (torch.ones_like(output),), keep)
    except RuntimeError as error:
        raise translate_error("grad", error, [wrap(data) for data in targets]) from None
    return [
        torch.zeros_like(data) if gradient is None else gradient
        for gradient, data in zip(gradients, targets, strict=True)
    ]


def detach_tree(value: Any) -> Any:
    """A result without its autograd history, which would keep every step of the call alive."""
    if isinstance(value, Tensor):
        return wrap(value._torch.detach()) if value._torch.requires_grad else value
    if isinstance(value, (tuple, list)):
        return type(value)(detach_tree(part) for part in value)
    if isinstance(value, dict):
        return {name: detach_tree(part) for name, part in value.items()}
    return value
