"""The tensor class."""

from millrace._src.core.values.tensor import Tensor

__all__ = ["Tensor"]
