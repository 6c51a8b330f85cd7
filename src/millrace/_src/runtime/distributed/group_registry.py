"""Registry of process groups: collective operations look groups up, `process_groups` registers them.

It is in this layer because collective operations need the group, not the code that creates it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError

__all__ = [
    "WORLD_GROUP",
    "WORLD_NAMES",
    "ProcessGroup",
    "register_group",
    "get_group",
    "unregister_group",
    "group_names",
    "require_membership",
    "world_group",
]

# MindSpore has one name of the world group per communication library. Here all of them mean all processes.
WORLD_NAMES = ("hccl_world_group", "nccl_world_group", "mccl_world_group")
WORLD_GROUP = WORLD_NAMES[0]


@dataclass(frozen=True)
class ProcessGroup:
    """A process group: its world ranks, this process's rank in it, and PyTorch's handle."""

    name: str
    ranks: tuple[int, ...]
    rank: int  # -1 if this process is not a member
    handle: Any

    @property
    def size(self) -> int:
        return len(self.ranks)

    def group_rank(self, world_rank: int) -> int:
        """The group rank of a world rank."""
        if world_rank not in self.ranks:
            raise ArgumentValueError(
                f"The rank {world_rank} is not in group '{self.name}', whose ranks are {list(self.ranks)}."
            )
        return self.ranks.index(world_rank)


_groups: dict[str, ProcessGroup] = {}


def register_group(group: ProcessGroup) -> None:
    """Register a group. All names of the world group refer to the same entry."""
    _groups[WORLD_GROUP if group.name in WORLD_NAMES else group.name] = group


def unregister_group(name: str | None = None) -> None:
    """Remove one group, or all of them."""
    if name is None:
        _groups.clear()
    else:
        _groups.pop(name, None)


def group_names() -> list[str]:
    """The names of the registered groups."""
    return list(_groups)


def world_group() -> ProcessGroup | None:
    """The group of all processes; None before `init`."""
    return _groups.get(WORLD_GROUP)


def get_group(name: Any = WORLD_GROUP, owner: str = "") -> ProcessGroup:
    """A group by its name."""
    if not isinstance(name, str):
        subject = f"For '{owner}', the" if owner else "The"
        raise ArgumentTypeError(
            f"{subject} argument 'group' must be type of string, but got 'group' type : {type(name)}."
        )
    if world_group() is None:
        subject = f"For '{owner}': " if owner else ""
        raise OperationError(
            f"{subject}Distributed Communication has not been inited.You can't invoke this interface yet. "
            "Please call `init()` method first: from millrace.communication import init; init()"
        )
    group = _groups.get(WORLD_GROUP if name in WORLD_NAMES else name)
    if group is None:
        raise ArgumentValueError(
            f"There is no group '{name}'; the groups are {group_names()}. Every process has to call "
            f"create_group('{name}', [ranks]) first."
        )
    return group


def require_membership(name: Any, owner: str) -> ProcessGroup:
    """A group that this process is a member of."""
    group = get_group(name, owner)
    if group.rank < 0:
        world = world_group()
        raise OperationError(
            f"For '{owner}', rank {world.rank if world else 0} is not in group '{group.name}', whose ranks are "
            f"{list(group.ranks)}. Only its members may call it."
        )
    return group
