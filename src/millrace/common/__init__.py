"""Types that data and training share."""

from millrace.core.tensor import Tensor

from . import dtype

__all__ = ["Tensor", "dtype"]
