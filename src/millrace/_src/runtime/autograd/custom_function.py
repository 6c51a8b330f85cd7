"""Custom autograd functions in PyTorch's style, and ``no_grad``."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import export_names
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.framework.custom_op import call_with_custom_backward

__all__ = ["Function", "no_grad"]


class Context:
    """Storage that ``forward`` fills for ``backward``: tensors by :meth:`save_for_backward`, other values as
    attributes.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.dirty_tensors: tuple[Tensor, ...] = ()
        self.materialize_grads = True

    def save_for_backward(self, *args: Any) -> None:
        """Save tensors for ``backward``."""
        self.saved_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark results that have no gradient."""
        self.non_differentiable = args

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark arguments that were modified in place."""
        self.dirty_tensors = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether missing output gradients are passed as zeros (the default)."""
        self.materialize_grads = value


class Function:
    """Custom autograd function: implement ``forward(ctx, ...)`` and ``backward(ctx, ...)``, call ``apply``.

    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         (x,) = ctx.saved_tensors
    ...         return gradient * 2 * x
    >>> from millrace import grad
    >>> grad(Square.apply)(Tensor([3.0])).item()
    6.0
    """

    @staticmethod
    def forward(ctx: Context, *args: Any, **kwargs: Any) -> Any:
        """Compute the result."""
        raise NotImplementedError("implement forward(ctx, ...) in your class")

    @staticmethod
    def backward(ctx: Context, *gradients: Any) -> Any:
        """Compute the gradient of each argument from those of the results."""
        raise NotImplementedError("implement backward(ctx, ...) in your class")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        needs_input_grad = tuple(isinstance(arg, Tensor) and bool(arg._torch.requires_grad) for arg in args)
        ctx = Context(needs_input_grad)

        def backward(inputs: tuple[Any, ...], output: Any, gradient: Any) -> Any:
            output_gradients = gradient if isinstance(gradient, tuple) else (gradient,)
            gradients = cls.backward(ctx, *output_gradients)
            gradients = gradients if isinstance(gradients, tuple) else (gradients,)
            if len(gradients) != len(args):
                raise ArgumentTypeError(
                    f"{cls.__name__}.backward must return a gradient, or None, for each of the {len(args)} arguments "
                    f"of forward, but returned {len(gradients)}."
                )
            return gradients

        return call_with_custom_backward(lambda *inputs: cls.forward(ctx, *inputs, **kwargs), backward, args)


class no_grad(contextlib.ContextDecorator):
    """Disable gradients: operations inside the block are constants for differentiation.

    >>> from millrace import grad
    >>> def f(x):
    ...     with no_grad():
    ...         y = x * x
    ...     return y * x
    >>> grad(f)(Tensor([3.0])).item()
    9.0
    """

    def __enter__(self) -> no_grad:
        self._guard = torch.no_grad()
        self._guard.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._guard.__exit__(*exc)


# as MindSpore writes them
_Function, _no_grad = Function, no_grad

export_names(__name__, "millrace", "_Function", "_no_grad", unlisted=True)
