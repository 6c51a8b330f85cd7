"""Column types as users write them: MindSpore dtypes, numpy dtypes, Python types or their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.values.dtype import DType

__all__ = ["column_types"]


def column_types(given: list[Any]) -> list[Any]:
    """Each as a numpy type; an unknown one is refused."""
    return [_one(kind) for kind in given]


def _one(kind: Any) -> Any:
    if isinstance(kind, DType):
        return np.dtype("U") if str(kind) == "String" else kind.numpy
    if kind == "string":
        return np.dtype("U")
    try:
        return np.dtype(kind)
    except TypeError:
        raise NotImplementedError(
            f"{kind!r} is not a column type; write np.int32, mstype.int32 or 'int32'"
        ) from None
