"""Types that data and training share."""

from millrace._src.core.values.tensor import Tensor

from . import dtype

__all__ = ["Tensor", "dtype"]
