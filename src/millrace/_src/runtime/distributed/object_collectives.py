"""Python values between processes: the functions of ``mint.distributed`` that take objects. `objects.py` says which
values can go, and why no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.distributed.group_registry import ProcessGroup
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.tensor.device_placement import to_context_device

from .comm_handle import group_of, group_rank
from .object_serialization import decode_object, encode_object

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list"]


def _shared(value: Any, among: ProcessGroup) -> list[Any]:
    """The value of each process, in each of them."""
    data = to_context_device(torch.from_numpy(np.frombuffer(encode_object(value), np.uint8).copy()))
    length = to_context_device(torch.tensor([data.numel()]))
    sizes = [int(each) for each in collective.all_gather(length, among.name).tolist()]
    made = collective.all_gather(data, among.name, sizes)
    return [decode_object(part.cpu().numpy().tobytes()) for part in made.split(sizes)]


def _room(values: Any, name: str, owner: str, size: int | None = None) -> None:
    if not isinstance(values, list):
        raise ArgumentTypeError(
            f"For '{owner}', the argument '{name}' must be list, but got {type(values).__name__}."
        )
    if size is not None and len(values) != size:
        raise ArgumentValueError(
            f"For '{owner}', '{name}' must have a place for each of {size} processes, but it has {len(values)}."
        )


def all_gather_object(object_list: list[Any], obj: Any, group: str | None = None) -> None:
    """The value of each process, written into a list.

    >>> from millrace.communication import init, release
    >>> init()
    >>> values = [None]
    >>> all_gather_object(values, {"rank": 0})
    >>> values
    [{'rank': 0}]
    >>> release()
    """
    among = group_of(group, "all_gather_object")
    _room(object_list, "object_list", "all_gather_object", among.size)
    object_list[:] = _shared(obj, among)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: str | None = None
) -> None:
    """The value of each process, written into a list at rank `dst`."""
    among = group_of(group, "gather_object")
    root = group_rank(among, dst, "dst", "gather_object")
    if among.rank == root:
        _room(object_gather_list, "object_gather_list", "gather_object", among.size)
    made = _shared(obj, among)
    if among.rank == root and object_gather_list is not None:
        object_gather_list[:] = made


def broadcast_object_list(
    object_list: list[Any], src: int = 0, group: str | None = None, device: Any = None
) -> None:
    """The values of a list at rank `src`, written into the list of each process."""
    among = group_of(group, "broadcast_object_list")
    root = group_rank(among, src, "src", "broadcast_object_list")
    _room(object_list, "object_list", "broadcast_object_list")
    made = _shared(object_list if among.rank == root else None, among)[root]
    _room(object_list, "object_list", "broadcast_object_list", len(made))
    object_list[:] = made


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None,
    src: int = 0,
    group: str | None = None,
) -> None:
    """Each process's value of a list at rank `src`, written to the front of a list."""
    among = group_of(group, "scatter_object_list")
    root = group_rank(among, src, "src", "scatter_object_list")
    _room(scatter_object_output_list, "scatter_object_output_list", "scatter_object_list")
    if among.rank == root:
        _room(scatter_object_input_list, "scatter_object_input_list", "scatter_object_list", among.size)
    made = _shared(scatter_object_input_list if among.rank == root else None, among)[root]
    scatter_object_output_list[:1] = [made[among.rank]]
