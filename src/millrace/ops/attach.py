"""Gives Tensor the methods of the table. The package calls this when a tensor is asked for one."""

from __future__ import annotations

from millrace.core.tensor import equip
from millrace.tensor.attach import attach as attach_storage

__all__ = ["attach"]


def attach() -> None:
    """Equip Tensor with storage, operators and methods; a second call changes nothing."""
    attach_storage()
    from .methods import METHODS

    equip({}, dict(METHODS))
