"""The tensor class."""

from millrace.core.tensor import Tensor

__all__ = ["Tensor"]
