"""Binding of the registered operations as methods of Tensor, on first access."""

from __future__ import annotations

from millrace._src.core.values.tensor import install_runtime
from millrace._src.runtime.tensor.method_binding import bind_tensor_methods as attach_storage

__all__ = ["bind_op_methods"]


def bind_op_methods() -> None:
    """Bind storage, operators and methods to Tensor; a second call has no effect."""
    attach_storage()
    from .tensor_method_table import METHODS

    install_runtime({}, dict(METHODS))
