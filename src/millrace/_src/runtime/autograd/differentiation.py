"""One differentiated call. Tensors know nothing of gradients outside of it.

A Parameter's tensor requires no gradient in everyday life, so eager code keeps no history and every write is in
place. For the time of one call the weights and inputs that are asked for are watched, the function runs, and autograd
is asked.
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


# What is told of a weight's place and its gradient.
GradientCallback = Callable[[int, torch.Tensor], None]


class _NestingDepth(threading.local):
    """How many differentiated calls, and how many calls for many rows at once, this thread is inside of."""

    calls = 0
    maps = 0


_depth = _NestingDepth()


@dataclass
class GradientResult:
    """What one call gave: its result, and gradients for the inputs and weights that were asked for."""

    value: Any
    inputs: list[Tensor | None]
    weights: list[Tensor]


def iter_tensors(value: Any) -> Iterator[torch.Tensor]:
    """Every tensor of PyTorch inside a result."""
    if isinstance(value, Tensor):
        yield value._torch
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from iter_tensors(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from iter_tensors(part)


def is_differentiating() -> bool:
    """Whether this runs inside of a differentiated call, which may hold anything of what happens here."""
    return _depth.calls > 0


@contextmanager
def require_gradients(weights: Sequence[torch.Tensor]) -> Iterator[None]:
    """Weights require a gradient in here; those of an outer call go on doing so after."""
    mine = [weight for weight in weights if not weight.requires_grad]
    _depth.calls += 1
    for weight in mine:
        weight.requires_grad_(True)
    try:
        with torch.enable_grad():
            yield
    finally:
        _depth.calls -= 1
        for weight in mine:
            weight.requires_grad_(False)


@contextmanager
def inside_vmap() -> Iterator[None]:
    """What runs in here runs for many rows at once, where tensors cannot be watched one by one."""
    _depth.maps += 1
    try:
        yield
    finally:
        _depth.maps -= 1


def as_leaf(value: Tensor) -> torch.Tensor:
    """An input to differentiate by: a new leaf, or, inside of another differentiated call, a step of that call."""
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

    `arrived(place, gradient)` is called as soon as the gradient of a weight is known, while others are still computed.
    """
    for position in positions:
        if not -len(args) <= position < len(args):
            raise OperationError(f"Position index {position} is exceed input size.")
    if _depth.maps:
        return _differentiate_in_vmap(function, positions, weights, args, kwargs, has_aux, sens)
    inner = is_differentiating()  # the outer call may hold anything of this one, also what no argument shows
    raw_weights = [weight._torch for weight in weights]
    given = list(args)
    with require_gradients(raw_weights):
        chosen: list[torch.Tensor | None] = []
        for position in positions:
            value = args[position]
            chosen.append(as_leaf(value) if isinstance(value, Tensor) else None)
            if chosen[-1] is not None:
                given[position] = wrap(chosen[-1])
        with modes.differentiating():
            value = function(*given, **kwargs)
        if has_aux and not (isinstance(value, (tuple, list)) and len(value) > 1):
            raise ArgumentValueError("When has_aux is True, origin fn requires more than one outputs.")
        outputs = list(iter_tensors(value[0] if has_aux else value))
        wanted = [data for data in chosen if data is not None] + raw_weights
        with _gradient_callbacks(raw_weights, on_gradient):
            found = iter(_gradients(outputs, wanted, sens, inner))
        inputs = [
            None if data is None else _apply_hooks(args[position], next(found))
            for position, data in zip(positions, chosen, strict=True)
        ]
        by_weight = [_apply_hooks(weight, next(found)) for weight in weights]
    return GradientResult(value if inner else detach_tree(value), inputs, by_weight)


@contextmanager
def _gradient_callbacks(weights: Sequence[torch.Tensor], arrived: GradientCallback | None) -> Iterator[None]:
    """In here `arrived` is told of each weight's gradient."""
    if arrived is None:
        yield
        return
    hooks = [
        weight.register_hook(functools.partial(arrived, place))
        for place, weight in enumerate(weights)
        if weight.requires_grad
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _apply_hooks(tensor: Tensor, gradient: torch.Tensor) -> Tensor:
    """The gradient of an input or a weight, after the hooks that were registered on it."""
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
    """The same for many rows at once: PyTorch is given a function of its own tensors."""
    places = [p for p in positions if isinstance(args[p], Tensor) and args[p]._torch.is_floating_point()]
    whole = [weight._torch for weight in weights]
    kept: list[Any] = []

    def run(*tensors: torch.Tensor) -> Any:
        given = list(args)
        for place, data in zip(places, tensors, strict=False):
            given[place] = wrap(data)
        try:
            for weight, data in zip(weights, tensors[len(places) :], strict=True):
                weight._torch = data
            value = function(*given, **kwargs)
        finally:
            for weight, data in zip(weights, whole, strict=True):
                weight._torch = data
        kept.append(value)
        outputs = [o for o in iter_tensors(value[0] if has_aux else value) if o.is_floating_point()]
        return tuple(outputs), tuple(iter_tensors(value))

    inputs = [args[place]._torch for place in places]
    outputs, back, made = cast(Any, torch.func.vjp(run, *inputs, *whole, has_aux=True))
    starts = tuple(torch.ones_like(o) for o in outputs) if sens is None else tuple(iter_tensors(sens))
    found = [wrap(each) for each in back(starts)]
    by_place = dict(zip(places, found, strict=False))
    return GradientResult(
        replace_tensors(kept[0], iter(made)), [by_place.get(p) for p in positions], found[len(places) :]
    )


def _gradients(
    outputs: list[torch.Tensor], wanted: list[torch.Tensor], sens: Any, keep: bool
) -> list[torch.Tensor]:
    """Gradients of all outputs together; zeros for what had no part in them."""
    if (
        sens is None
        and len(outputs) == 1
        and outputs[0].requires_grad
        and all(data.requires_grad for data in wanted)
    ):
        return _gradients_of_one_output(outputs[0], wanted, keep)  # a loss and its weights: the usual case
    starts = list(iter_tensors(sens)) if sens is not None else [torch.ones_like(output) for output in outputs]
    if sens is not None and [s.shape for s in starts] != [o.shape for o in outputs]:
        shapes = [tuple(o.shape) for o in outputs], [tuple(s.shape) for s in starts]
        raise ArgumentValueError(
            f"sens must have the shapes of the results: {shapes[0]}, but got {shapes[1]}."
        )
    pairs = [(output, start) for output, start in zip(outputs, starts, strict=True) if output.requires_grad]
    live = [index for index, data in enumerate(wanted) if data.requires_grad]
    made: dict[int, torch.Tensor | None] = {}
    if pairs and live:
        try:
            found = run_backward(
                tuple(output for output, _ in pairs),
                tuple(wanted[index] for index in live),
                tuple(start.to(output.dtype) for output, start in pairs),
                keep,
            )
        except RuntimeError as error:
            raise translate_error("grad", error, [wrap(data) for data in wanted]) from None
        made = dict(zip(live, found, strict=True))
    return [torch.zeros_like(data) if made.get(i) is None else made[i] for i, data in enumerate(wanted)]  # type: ignore[misc]


def _gradients_of_one_output(
    output: torch.Tensor, wanted: list[torch.Tensor], keep: bool
) -> list[torch.Tensor]:
    """Gradients of one output by tensors that are all watched."""
    if not wanted:
        return []
    try:
        found = run_backward((output,), tuple(wanted), (torch.ones_like(output),), keep)
    except RuntimeError as error:
        raise translate_error("grad", error, [wrap(data) for data in wanted]) from None
    return [
        torch.zeros_like(data) if made is None else made for made, data in zip(found, wanted, strict=True)
    ]


def detach_tree(value: Any) -> Any:
    """A result without its history, which would keep every step of the call alive."""
    if isinstance(value, Tensor):
        return wrap(value._torch.detach()) if value._torch.requires_grad else value
    if isinstance(value, (tuple, list)):
        return type(value)(detach_tree(part) for part in value)
    if isinstance(value, dict):
        return {name: detach_tree(part) for name, part in value.items()}
    return value
