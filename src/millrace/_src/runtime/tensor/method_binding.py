"""Gives the hall's Tensor PyTorch's storage and operators. Importing a training room does this, once in a process."""

from __future__ import annotations

from typing import Any

from millrace._src.core.values.tensor import Tensor, awake, equip

from .indexing import getitem, setitem
from .operators import OPERATORS
from .properties import Members
from .storage import as_torch, dtype_of, host
from .untyped_storage import MemoryMembers

__all__ = ["attach"]

_OWN = (
    "__module__",
    "__dict__",
    "__weakref__",
    "__doc__",
    "__annotations__",
    "__qualname__",
    "__firstlineno__",
    "__static_attributes__",
)


def attach() -> None:
    """Equip Tensor; a second call changes nothing."""
    if awake():
        return
    members: dict[str, Any] = {
        name: member
        for part in (MemoryMembers, Members)
        for name, member in vars(part).items()
        if name not in _OWN
    }
    members |= OPERATORS
    members |= {"__getitem__": getitem, "__setitem__": setitem}
    equip({"_torch": as_torch, "_array": host, "_dtype": dtype_of}, members)


def use() -> type[Tensor]:
    """Tensor, equipped."""
    attach()
    return Tensor
