"""Argument checks shared by several methods that an annotation cannot express."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from millrace._src.core.args import INT32_MAX, INT64_MAX, Range, check_type
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.machine.cores import warn_too_many_workers

from .callbacks import DSCallback

__all__ = [
    "CacheArgument",
    "Callbacks",
    "RowSize",
    "NumSamples",
    "NumWorkers",
    "check_pad_info",
    "count_parameters",
    "with_kwargs_signature",
]

F = TypeVar("F", bound=Callable[..., Any])


def with_kwargs_signature(function: F) -> F:
    """Show ``**kwargs`` at the end of a method's signature, as MindSpore's shows it.

    Scripts check for it to distinguish MindSpore 2 from 1. Calls are checked as before: a misspelt argument is
    still an error.
    """
    signature = inspect.signature(function)
    kwargs = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    function.__signature__ = signature.replace(parameters=[*signature.parameters.values(), kwargs])  # type: ignore[attr-defined]
    return function


class _Workers:
    """A number of workers of at least 1. More workers than cores are allowed."""

    def check(self, name: str, value: Any) -> None:
        if isinstance(value, int) and value < 1:
            raise ArgumentValueError(
                f"{name} must be at least 1, but got {value}. Omit it to let the engine choose the number."
            )
        if isinstance(value, int):
            warn_too_many_workers(name, value, stacklevel=7)


class _Samples:
    def check(self, name: str, value: Any) -> None:
        if isinstance(value, int) and not 0 <= value <= INT64_MAX:
            raise ArgumentValueError(f"{name} exceeds the boundary between 0 and {INT64_MAX}(INT64_MAX)!")


NumWorkers = _Workers()
NumSamples = _Samples()
_DIMENSION = Range(1, INT32_MAX)


def check_max_rowsize(name: str, value: Any) -> None:
    """MindSpore sizes its shared memory by this number; here shared memory grows as needed, so it is only checked."""
    if value is None:
        return
    check_type(value, (int, list), name)
    if isinstance(value, int):
        Range(-1, INT32_MAX).check(name, value)
        return
    if len(value) != 2:
        raise ArgumentTypeError(
            f"{name} should be a single integer or a list[in_rowsize, out_rowsize] of length 2."
        )
    for i, size in enumerate(value):
        check_type(size, (int,), f"{name}[{i}]")
        Range(-1, INT32_MAX).check(f"{name}i[{i}]", size)


class RowSize:
    def check(self, name: str, value: Any) -> None:
        check_max_rowsize(name, value)


class Callbacks:
    """A DSCallback or a list of them."""

    def check(self, name: str, value: Any) -> None:
        for i, callback in enumerate(value if isinstance(value, (list, tuple)) else ()):
            check_type(callback, (DSCallback,), f"{name}[{i}]")
        check_type(value, (DSCallback,) if not isinstance(value, (list, tuple)) else (list, DSCallback), name)


class CacheArgument:
    """A DatasetCache."""

    def check(self, name: str, value: Any) -> None:
        from millrace._src.data.cache.dataset_cache import DatasetCache

        check_type(value, (DatasetCache,), name)


def check_pad_info(pad_info: dict[Any, Any] | None) -> dict[str, tuple[Any, Any]] | None:
    """``{column: (shape or None, value or None)}``; a bare None instead of the pair means the same as two."""
    if pad_info is None:
        return None
    for key, value in pad_info.items():
        check_type(key, (str,), "key in pad_info")
        if value is None:
            continue
        if len(value) != 2:
            raise ArgumentValueError("value of pad_info should be a tuple of size 2.")
        check_type(value, (tuple,), "value in pad_info")
        shape, fill = value
        if shape is not None:
            check_type(shape, (list,), "shape in pad_info")
            for size in shape:
                if size is not None:
                    check_type(size, (int,), "dim of shape in pad_info")
                    _DIMENSION.check("dim of shape in pad_info", size)
        if fill is not None:
            check_type(fill, (int, float, str, bytes), "pad_value")
    return {key: (None, None) if value is None else value for key, value in pad_info.items()}


def count_parameters(function: Callable[..., Any], required: bool = False) -> int | None:
    """The number of parameters of a function, or of required ones; None if it is variable or cannot be inspected."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(not required or p.default is p.empty for p in parameters)
