"""The version of Millrace, and values that the package itself exports."""

from __future__ import annotations

from .public import export_names
from .values.tensor import Tensor

__all__ = ["__version__", "from_numpy"]

__version__ = "0.3.0.dev0"

from_numpy = Tensor.from_numpy

export_names(__name__, "millrace", "__version__", "from_numpy")
