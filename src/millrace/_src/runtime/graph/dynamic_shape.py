"""``enable_dynamic``: declared dynamic shapes of function arguments; ``ms_memory_recycle``: release of
captures.
"""

from __future__ import annotations

import functools
import gc
import inspect
from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.backend.memory import empty_cache

from .replay import all_capture_caches

__all__ = ["enable_dynamic", "ms_memory_recycle"]

_MESSAGE_PREFIX = "When using decorator enable_dynamic, "


@public("millrace")
def enable_dynamic(**kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare which lengths of a function's arguments change, as ``Tensor(shape=[None, 3], ...)``. Calls are
    checked.

    A function keeps one capture per shape, so nothing else is needed.

    >>> from millrace import float32, jit
    >>> @enable_dynamic(x=Tensor(shape=[None], dtype=float32))
    ... @jit
    ... def twice(x):
    ...     return x * 2
    >>> twice(Tensor([1.0])).tolist(), twice(Tensor([1.0, 2.0])).tolist()
    ([2.0], [2.0, 4.0])
    """
    if not kwargs:
        raise ArgumentValueError(_MESSAGE_PREFIX + "the input cannot be empty!")
    for name, value in kwargs.items():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if not isinstance(item, Tensor):
                raise ArgumentTypeError(
                    "The decorator enable_dynamic only supports Tensor or a tuple/list of Tensor, but the argument : "
                    f"{name} is type of:{type(value)}."
                )
        if isinstance(value, Tensor) and min(value.shape, default=0) >= 0:
            raise ArgumentTypeError(
                f"{_MESSAGE_PREFIX}the shape of argument '{name}' at least have one None."
            )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        for name in kwargs:
            if name not in signature.parameters:
                raise ArgumentValueError(f"'{name}' is not in list {list(signature.parameters)}")

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            arguments = signature.bind(*args, **named).arguments
            for name, declared in kwargs.items():
                _check(declared, arguments.get(name))
            return function(*args, **named)

        return call

    return decorate


def _check(declared: Any, got: Any) -> None:
    if isinstance(declared, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(declared):
            raise ArgumentTypeError(
                f"{_MESSAGE_PREFIX}expected a tuple or list of {len(declared)}, but got {got!r}."
            )
        for part, argument in zip(declared, got, strict=True):
            _check(part, argument)
        return
    if not isinstance(got, Tensor):
        raise ArgumentTypeError(f"{_MESSAGE_PREFIX}expected a Tensor, but got {type(got)}.")
    if got.dtype is not declared.dtype:
        raise ArgumentTypeError(
            f"{_MESSAGE_PREFIX}input tensor dtype = {got.dtype}, dynamic tensor dtype = {declared.dtype}, "
            "tensor dtypes are not the same."
        )
    same = len(got.shape) == len(declared.shape) and all(
        expected in (-1, length) for expected, length in zip(declared.shape, got.shape, strict=True)
    )
    if not same and declared.shape != (-2,):
        raise ArgumentValueError(
            f"{_MESSAGE_PREFIX}input tensor shape = {got.shape}, dynamic tensor shape = {declared.shape}, "
            "tensor shapes are not the same."
        )


@public("millrace")
def ms_memory_recycle() -> None:
    """Release all captures and the cached memory of the device, as between two networks in one process.

    >>> ms_memory_recycle()
    """
    for graphs in all_capture_caches():
        graphs.entries.clear()
    gc.collect()
    empty_cache()
