"""Convert the output of iterators: Tensors, numpy arrays, torch tensors or jax arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.optional import require
from millrace._src.core.values.string_array import shrink_width
from millrace._src.core.values.tensor import Tensor

__all__ = ["converter"]


def converter(output_format: str, copy: bool) -> Callable[[Any], Any]:
    """A function that converts an engine value to the output format; dicts are converted recursively."""
    if output_format == "torch":
        torch = require("torch", extra="torch", purpose="an iterator that yields torch tensors")

        def leaf(array: Any) -> Any:
            if array.dtype.kind in "US":
                return array  # torch has no text dtype
            return torch.from_numpy(np.array(array) if copy or not array.flags.writeable else array)

    elif output_format == "jax":
        jnp = require("jax.numpy", extra="jax", purpose="an iterator that yields jax arrays")

        def leaf(array: Any) -> Any:
            return array if array.dtype.kind in "US" else jnp.asarray(array)

    elif output_format == "numpy":

        def leaf(array: Any) -> Any:
            return array.copy() if copy else array

    else:

        def leaf(array: Any) -> Any:
            return Tensor(array.copy() if copy else array)

    def convert_contiguous(array: Any) -> Any:
        """Convert in C order, which extensions of users and other libraries expect."""
        return leaf(array if array.flags.c_contiguous else array.copy(order="C"))

    def convert(value: Any) -> Any:
        if type(value) is np.ndarray:
            category = value.dtype.kind
            # the width of bytes is not shrunk: trailing zeros belong to the value
            return convert_contiguous(
                shrink_width(value) if category == "U" or (category == "S" and not value.size) else value
            )
        return _convert_nested(value, convert_contiguous)

    return convert


def _convert_nested(value: Any, leaf: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _convert_nested(item, leaf) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return leaf(np.asarray(value))
    if isinstance(value, (bool, int, float, str, np.generic)):
        return leaf(np.asarray(value))
    if isinstance(value, (list, tuple)):
        return type(value)(_convert_nested(item, leaf) for item in value)
    return value
