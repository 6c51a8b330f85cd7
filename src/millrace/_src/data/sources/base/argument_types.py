"""Conversion of column types given by users (MindSpore dtypes, NumPy dtypes, names) to NumPy dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.values.dtype import DType

__all__ = ["column_types"]


def column_types(types: list[Any]) -> list[Any]:
    """Convert column types to numpy dtypes; unknown types are refused."""
    return [_numpy_type(type_) for type_ in types]


def _numpy_type(type_: Any) -> Any:
    if isinstance(type_, DType):
        return np.dtype("U") if str(type_) == "String" else type_.numpy
    if type_ == "string":
        return np.dtype("U")
    try:
        return np.dtype(type_)
    except TypeError:
        raise NotImplementedError(
            f"{type_!r} is not a column type; write np.int32, mstype.int32 or 'int32'"
        ) from None
