"""Signature of a capture: structure of the arguments, shapes and dtypes of tensors, values of everything
else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import torch

from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.storage import wrap

__all__ = ["FlattenedArguments", "flatten_arguments", "flatten_results"]

_BY_VALUE = (bool, int, float, complex, str, bytes, type(None), DType, type, torch.dtype)


class FlattenedArguments:
    """The tensors of some arguments, and a key of everything except the tensors' values."""

    __slots__ = ("key", "pinned_objects", "tensors")

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        # objects compared by identity: a reference keeps their address from being reused
        self.pinned_objects: list[Any] = []
        self.key: Hashable = ()


def flatten_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> FlattenedArguments:
    flat = FlattenedArguments()
    first_index: dict[int, int] = {}

    def key_of(value: Any) -> Hashable:
        if isinstance(value, Tensor):
            if isinstance(value, Parameter):  # an external tensor
                flat.pinned_objects.append(value)
                return ("parameter", id(value))
            data = value._torch
            number = first_index.setdefault(id(data), len(flat.tensors))
            if number < len(flat.tensors):
                return ("repeated", number)
            flat.tensors.append(data)
            layout = None if data.is_contiguous() else data.stride()
            return (data.shape, data.dtype, data.device, layout)
        if isinstance(value, _BY_VALUE):
            return (type(value), repr(value) if isinstance(value, float) else value)
        if isinstance(value, (tuple, list)):
            return (type(value), tuple(key_of(part) for part in value))
        if isinstance(value, dict):
            return (dict, tuple((key, key_of(part)) for key, part in value.items()))
        if isinstance(value, np.generic):
            return (type(value), value.item())
        flat.pinned_objects.append(value)
        return (type(value), id(value))

    flat.key = (
        tuple(key_of(value) for value in args),
        tuple((k, key_of(v)) for k, v in sorted(kwargs.items())),
    )
    return flat


def flatten_results(value: Any) -> tuple[list[torch.Tensor], Callable[[list[torch.Tensor]], Any]]:
    """The tensors of a result, and a function that rebuilds the result with other tensors."""
    tensors: list[torch.Tensor] = []

    def plan(part: Any) -> Callable[[list[torch.Tensor]], Any]:
        if isinstance(part, Parameter):
            return lambda new_tensors: part
        if isinstance(part, Tensor):
            number = len(tensors)
            tensors.append(part._torch)
            return lambda new_tensors: wrap(new_tensors[number])
        if isinstance(part, (tuple, list)):
            inner = [plan(item) for item in part]
            container_type = type(part)
            if hasattr(part, "_fields"):  # a named tuple
                return lambda new_tensors: container_type(*(build(new_tensors) for build in inner))
            return lambda new_tensors: container_type(build(new_tensors) for build in inner)
        if isinstance(part, dict):
            named = {key: plan(item) for key, item in part.items()}
            return lambda new_tensors: {key: build(new_tensors) for key, build in named.items()}
        return lambda new_tensors: part

    return tensors, plan(value)
