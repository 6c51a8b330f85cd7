"""``tensor``: create a ``Tensor`` from values."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor

__all__ = ["tensor"]


@public("millrace")
def tensor(
    input_data: Any = None,
    dtype: Any = None,
    shape: Any = None,
    init: Any = None,
    const_arg: bool = False,
) -> Tensor:
    """Create a ``Tensor`` from values, or from a shape and an initializer.

    >>> import millrace as ms
    >>> ms.tensor([1.0, 2.0], ms.float16).dtype
    millrace.float16
    """
    return Tensor(input_data, dtype, shape, init, const_arg)
