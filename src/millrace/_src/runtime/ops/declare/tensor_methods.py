"""Gives Tensor the methods of the table. The package calls this when a tensor is asked for one."""

from __future__ import annotations

from millrace._src.core.values.tensor import install_runtime
from millrace._src.runtime.tensor.method_binding import bind_tensor_methods as attach_storage

__all__ = ["bind_op_methods"]


def bind_op_methods() -> None:
    """Equip Tensor with storage, operators and methods; a second call changes nothing."""
    attach_storage()
    from .tensor_method_table import METHODS

    install_runtime({}, dict(METHODS))
