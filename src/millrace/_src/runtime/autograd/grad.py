"""Functions ``grad`` and ``value_and_grad``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.error_translation import describe_value

from .differentiation import GradientResult, differentiate
from .graph_step import as_graph_step

__all__ = ["grad", "normalize_positions", "value_and_grad", "normalize_weights"]


@public("ops", "millrace")
def grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `fn` by inputs, by weights, or by both.

    >>> grad(lambda x: (x * x).sum())(Tensor([1.0, 2.0])).asnumpy().tolist()
    [2.0, 4.0]
    """
    call = _call(fn, grad_position, weights, has_aux)

    def after_grad(*args: Any, **kwargs: Any) -> Any:
        result = call(args, kwargs)
        gradients = _arrange_gradients(result, grad_position, weights, return_ids)
        return (gradients, tuple(result.value[1:])) if has_aux else gradients

    return as_graph_step(fn, after_grad)


@public("ops", "millrace")
def value_and_grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the result of `fn` and its gradient.

    >>> value, gradient = value_and_grad(lambda x: (x * x).sum())(Tensor([1.0, 2.0]))
    >>> value.item(), gradient.asnumpy().tolist()
    (5.0, [2.0, 4.0])
    """
    if grad_position is None and weights is None:
        raise ArgumentValueError("`grad_position` and `weight` can not be None at the same time.")
    call = _call(fn, grad_position, weights, has_aux)

    def after_grad(*args: Any, **kwargs: Any) -> Any:
        result = call(args, kwargs)
        return result.value, _arrange_gradients(result, grad_position, weights, return_ids)

    return as_graph_step(fn, after_grad)


def _call(
    fn: Callable[..., Any], grad_position: Any, weights: Any, has_aux: bool
) -> Callable[[tuple[Any, ...], dict[str, Any]], GradientResult]:
    if not callable(fn):
        raise ArgumentTypeError(
            f"For 'grad', the argument 'fn' must be a function or a Cell, but got {fn!r}."
        )
    positions = normalize_positions(grad_position)
    watched = normalize_weights(weights)
    return functools.partial(_run, fn, positions, watched, has_aux)


@stable_id("autograd._run")
def _run(
    fn: Callable[..., Any],
    positions: Sequence[int],
    weights: Sequence[Tensor],
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> GradientResult:
    return differentiate(fn, positions, weights, args, kwargs, has_aux)


def normalize_positions(grad_position: Any) -> tuple[int, ...]:
    if grad_position is None:
        return ()
    several = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    if any(not isinstance(each, int) or isinstance(each, bool) for each in several):
        raise ArgumentTypeError("For 'F.grad', the 'grad_position' must be int or tuple.")
    return several


def normalize_weights(weights: Any) -> list[Tensor]:
    if weights is None:
        return []
    several = [weights] if isinstance(weights, Tensor) else list(weights)
    for each in several:
        if not isinstance(each, Tensor):
            raise ArgumentTypeError(
                f"For 'grad', 'weights' must be Parameters, but got {describe_value(each)}. For a network pass "
                "net.trainable_params()."
            )
    return several


def _arrange_gradients(result: GradientResult, grad_position: Any, weights: Any, return_ids: bool) -> Any:
    """Gradients in the requested form: a single one alone, several in a tuple, inputs before weights."""
    by_input: Any = None
    if grad_position is not None:
        known = normalize_positions(grad_position)
        each: list[Any] = [
            (position, gradient) if return_ids else gradient
            for position, gradient in zip(known, result.inputs, strict=True)
        ]
        by_input = tuple(each) if isinstance(grad_position, tuple) else each[0]
        if by_input is None:
            by_input = ()  # a Python number has no gradient
    if weights is None:
        return by_input
    named = [
        (getattr(weight, "name", None), gradient) if return_ids else gradient
        for weight, gradient in zip(normalize_weights(weights), result.weights, strict=True)
    ]
    by_weight: Any = named[0] if isinstance(weights, Tensor) else tuple(named)
    if grad_position is None:
        return by_weight
    if isinstance(grad_position, tuple) and len(grad_position) == 1 and not return_ids:
        by_input = by_input[0]
    return by_input, by_weight
