"""Binding of runtime methods to `Tensor`: storage on PyTorch and operators. Runs once, on import of the
runtime.
"""

from __future__ import annotations

from typing import Any

from millrace._src.core.values.tensor import Tensor, install_runtime, is_runtime_loaded

from .indexing import getitem, setitem
from .operators import OPERATORS
from .properties import TensorProperties
from .storage import dtype_of, materialize, to_numpy
from .untyped_storage import StorageMethods

__all__ = ["bind_tensor_methods"]

_CLASS_INTERNALS = (
    "__module__",
    "__dict__",
    "__weakref__",
    "__doc__",
    "__annotations__",
    "__qualname__",
    "__firstlineno__",
    "__static_attributes__",
)


def bind_tensor_methods() -> None:
    """Bind the runtime methods to Tensor; a second call has no effect."""
    if is_runtime_loaded():
        return
    members: dict[str, Any] = {
        name: member
        for part in (StorageMethods, TensorProperties)
        for name, member in vars(part).items()
        if name not in _CLASS_INTERNALS
    }
    members |= OPERATORS
    members |= {"__getitem__": getitem, "__setitem__": setitem}
    install_runtime({"_torch": materialize, "_array": to_numpy, "_dtype": dtype_of}, members)


def bound_tensor_class() -> type[Tensor]:
    """Tensor with the runtime methods bound."""
    bind_tensor_methods()
    return Tensor
