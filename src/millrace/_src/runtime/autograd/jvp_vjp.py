"""Jacobian products without the Jacobian: ``vjp``, ``jvp``, ``linearize``, ``jet``, ``derivative``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.framework.custom_op import replace_tensors
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.storage import wrap

from .differentiation import as_leaf, detach_tree, is_differentiating, iter_tensors, require_gradients
from .grad import normalize_weights

__all__ = ["TracedCall", "derivative", "get_grad", "jet", "jvp", "linearize", "trace_call", "vjp"]


class TracedCall:
    """A call with its autograd history: inputs, result, and the tensors of both."""

    def __init__(
        self, function: Callable[..., Any], args: Sequence[Any], has_aux: bool, weights: Any = ()
    ) -> None:
        if not callable(function):
            raise ArgumentTypeError(f"expected a function or a Cell, but got {function!r}.")
        self.weights = [weight._torch for weight in weights]
        self.inputs = [as_leaf(arg) if isinstance(arg, Tensor) else None for arg in args]
        call_args = [arg if data is None else wrap(data) for arg, data in zip(args, self.inputs, strict=True)]
        with require_gradients(self.weights), modes.differentiating():
            value = function(*call_args)
        self.aux: tuple[Any, ...] = ()
        if has_aux:
            if not isinstance(value, (tuple, list)) or len(value) < 2:
                raise ArgumentValueError("When has_aux is True, origin fn requires more than one outputs.")
            value, self.aux = value[0], tuple(value[1:])
        self.value = value
        self.outputs = list(iter_tensors(value))

    def aux_value(self) -> Any:
        """The results that are not differentiated: one alone, or a tuple."""
        kept = detach_tree(self.aux)
        return kept[0] if len(kept) == 1 else kept

    def vjp(
        self, cotangents: Sequence[torch.Tensor], targets: Sequence[torch.Tensor], keep: bool
    ) -> list[torch.Tensor]:
        """Vector-Jacobian product; zeros for inputs without influence. With `keep` the gradients have a
        history as well.
        """
        pairs = [(o, s.to(o.dtype)) for o, s in zip(self.outputs, cotangents, strict=True) if o.requires_grad]
        differentiable = [i for i, tensor in enumerate(targets) if tensor.requires_grad]
        gradient_by_index: dict[int, torch.Tensor | None] = {}
        if pairs and differentiable:
            gradients = torch.autograd.grad(
                [o for o, _ in pairs],
                [targets[i] for i in differentiable],
                [s for _, s in pairs],
                retain_graph=True,
                create_graph=keep,
                allow_unused=True,
            )
            gradient_by_index = dict(zip(differentiable, gradients, strict=True))
        return [_zeros_if_none(gradient_by_index.get(i), tensor) for i, tensor in enumerate(targets)]


def _zeros_if_none(gradient: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(like) if gradient is None else gradient


def trace_call(
    function: Callable[..., Any], args: Sequence[Any], has_aux: bool = False, weights: Any = ()
) -> TracedCall:
    """Call a function and keep its autograd history."""
    return TracedCall(function, args, has_aux, weights)


def _as_tuple(value: Any, name: str) -> tuple[Tensor, ...]:
    tensors = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not tensors or not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise ArgumentTypeError(f"The {name} type must be a Tensor, tuple or list of Tensors.")
    return tensors


def jvp_by_double_backward(
    traced: TracedCall, tangents: Sequence[torch.Tensor], keep: bool
) -> list[torch.Tensor]:
    """Jacobian-vector product by double backward: the vector-Jacobian product is linear in its cotangents,
    and its gradient by them is the Jacobian-vector product.
    """
    inputs = [data for data in traced.inputs if data is not None]
    cotangents = [torch.zeros_like(o, requires_grad=True) for o in traced.outputs]
    products = traced.vjp(cotangents, inputs, keep=True)
    pairs = [(p, t) for p, t in zip(products, tangents, strict=True) if p.requires_grad]
    if not pairs:
        return [torch.zeros_like(o) for o in traced.outputs]
    changes = torch.autograd.grad(
        [p for p, _ in pairs],
        cotangents,
        [t for _, t in pairs],
        retain_graph=True,
        create_graph=keep,
        allow_unused=True,
    )
    return [_zeros_if_none(f, o) for f, o in zip(changes, traced.outputs, strict=True)]


@public("ops", "millrace")
def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """Return the result of `fn` and its Jacobian-vector product along the direction `v`.

    >>> value, change = jvp(lambda x: x * x, Tensor([1.0, 2.0]), Tensor([1.0, 0.5]))
    >>> value.asnumpy().tolist(), change.asnumpy().tolist()
    ([1.0, 4.0], [2.0, 2.0])
    """
    args, directions = _as_tuple(inputs, "inputs"), _as_tuple(v, "v")
    if len(args) != len(directions):
        raise ArgumentValueError(f"v has invalid length: should be {len(args)}, but got {len(directions)}")
    inner = is_differentiating()
    with require_gradients(()):
        traced = trace_call(fn, args, has_aux)
        tangents = [
            d._torch.expand(a.shape).to(a._torch.dtype) for d, a in zip(directions, args, strict=True)
        ]
        change = replace_tensors(traced.value, iter(jvp_by_double_backward(traced, tangents, inner)))
    value = traced.value if inner else detach_tree(traced.value)
    return (value, change, traced.aux_value()) if has_aux else (value, change)


@public("ops", "millrace")
def vjp(fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
    """Return the result of `fn` and a function that computes vector-Jacobian products.

    >>> value, back = vjp(lambda x: x * x, Tensor([1.0, 2.0]))
    >>> back(Tensor([1.0, 10.0]))[0].asnumpy().tolist()
    [2.0, 40.0]
    """
    watched = normalize_weights(weights)
    traced = trace_call(fn, inputs, has_aux, watched)

    def vjp_function(*v: Any) -> Any:
        cotangents = list(iter_tensors(v))
        if [s.shape for s in cotangents] != [o.shape for o in traced.outputs]:
            raise ArgumentValueError(
                "For 'vjp', the function takes a tensor for each result, of its shape: "
                f"{[tuple(o.shape) for o in traced.outputs]}, but got {[tuple(s.shape) for s in cotangents]}."
            )
        inner = is_differentiating()
        input_tensors = [data for data in traced.inputs if data is not None]
        with require_gradients(traced.weights):
            gradients = [
                wrap(each) for each in traced.vjp(cotangents, [*input_tensors, *traced.weights], inner)
            ]
        by_input, by_weight = tuple(gradients[: len(input_tensors)]), tuple(gradients[len(input_tensors) :])
        if weights is None:
            return by_input
        return by_input, by_weight[0] if isinstance(weights, Tensor) else by_weight

    value = traced.value if is_differentiating() else detach_tree(traced.value)
    return (value, vjp_function, traced.aux_value()) if has_aux else (value, vjp_function)


@public("ops")
def linearize(fn: Callable[..., Any], inputs: Any) -> Any:
    """Return the result of `fn` and a function that computes Jacobian-vector products.

    >>> value, along = linearize(lambda x: x * x, Tensor([3.0]))
    >>> along(Tensor([1.0])).item()
    6.0
    """
    args = _as_tuple(inputs, "inputs")

    def along(*v: Any) -> Any:
        return jvp(fn, args, v)[1]

    return fn(*args), along


@public("ops")
def jet(fn: Callable[..., Any], primals: Any, series: Any) -> Any:
    """Return the result of `fn` and its derivatives of each order along a curve with the derivatives
    `series`.

    >>> value, orders = jet(lambda x: x * x * x, Tensor([2.0]), Tensor([[1.0], [0.0]]))
    >>> orders.asnumpy().ravel().tolist()
    [12.0, 12.0]
    """
    points, curves = _as_tuple(primals, "primals"), _as_tuple(series, "series")
    if len(points) != len(curves) or any(
        c.shape[1:] != p.shape for p, c in zip(points, curves, strict=False)
    ):
        raise ArgumentValueError(
            "For 'jet', 'series' must hold, for each of 'primals', its derivatives by order."
        )
    orders = curves[0].shape[0]

    def along_curve(time: Any) -> Any:
        moved = []
        for point, curve in zip(points, curves, strict=True):
            terms = [curve[k] * time ** (k + 1) / math.factorial(k + 1) for k in range(orders)]
            moved.append(sum(terms, point))
        return fn(*moved)

    derivatives = []
    function: Callable[[Any], Any] = along_curve
    for _ in range(orders):
        function = _time_derivative(function)
        derivatives.append(function(Tensor(0.0)))
    return fn(*points), _stack_results(derivatives)


def _time_derivative(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda time: jvp(function, time, Tensor(1.0))[1]


def _stack_results(values: list[Any]) -> Any:
    if isinstance(values[0], tuple):
        return tuple(_stack_results([value[i] for value in values]) for i in range(len(values[0])))
    return wrap(torch.stack([value._torch for value in values]))


@public("ops")
def derivative(fn: Callable[..., Any], primals: Any, order: int) -> Any:
    """Return the result of `fn` and its derivative of one order along the direction of ones.

    >>> derivative(lambda x: x * x * x, Tensor([2.0]), 2)[1].asnumpy().tolist()
    [12.0]
    """
    if not isinstance(order, int) or isinstance(order, bool) or order < 1:
        raise ArgumentValueError(f"For 'derivative', 'order' must be a positive int, but got {order!r}.")
    points = _as_tuple(primals, "primals")
    curves = []
    for point in points:
        curve = torch.zeros((order, *point.shape), dtype=point._torch.dtype, device=point._torch.device)
        curve[0] = 1
        curves.append(wrap(curve))
    value, orders = jet(fn, points, tuple(curves))
    last = tuple(each[order - 1] for each in orders) if isinstance(orders, tuple) else orders[order - 1]
    return value, last


@public("ops", "millrace")
def get_grad(gradients: Any, identifier: Any) -> Any:
    """Select one of the gradients of ``grad(..., return_ids=True)``: by position, or by Parameter.

    >>> from millrace._src.runtime.autograd.grad import grad
    >>> made = grad(lambda x, y: x * y, (0, 1), return_ids=True)(Tensor([1.0]), Tensor([2.0]))
    >>> get_grad(made, 1).item()
    1.0
    """
    wanted = getattr(identifier, "name", identifier)

    def search(tree: Any) -> Any:
        if isinstance(tree, (tuple, list)):
            if len(tree) == 2 and isinstance(tree[0], (int, str)) and isinstance(tree[1], Tensor):
                return tree[1] if tree[0] == wanted else None
            return next((gradient for gradient in map(search, tree) if gradient is not None), None)
        return None

    gradient = search(gradients)
    if gradient is None:
        raise OperationError(f"Can not find the gradient for position or Parameter {identifier}")
    return gradient
