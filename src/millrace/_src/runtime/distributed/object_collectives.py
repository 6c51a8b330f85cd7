"""Collectives of ``mint.distributed`` that transfer Python objects.

`object_serialization.py` defines which objects can be sent, and why no others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.distributed.group_registry import ProcessGroup
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.tensor.device_placement import to_context_device

from .comm_handle import group_of, group_rank
from .object_serialization import decode_object, encode_object

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list"]


def _all_gather_values(value: Any, process_group: ProcessGroup) -> list[Any]:
    """The values of all processes, in each process."""
    data = to_context_device(torch.from_numpy(np.frombuffer(encode_object(value), np.uint8).copy()))
    length = to_context_device(torch.tensor([data.numel()]))
    sizes = [int(size) for size in collective.all_gather(length, process_group.name).tolist()]
    gathered = collective.all_gather(data, process_group.name, sizes)
    return [decode_object(part.cpu().numpy().tobytes()) for part in gathered.split(sizes)]


def _check_list(values: Any, name: str, owner: str, size: int | None = None) -> None:
    if not isinstance(values, list):
        raise ArgumentTypeError(
            f"For '{owner}', the argument '{name}' must be list, but got {type(values).__name__}."
        )
    if size is not None and len(values) != size:
        raise ArgumentValueError(
            f"For '{owner}', '{name}' must have one element per process ({size}), but it has {len(values)}."
        )


@public("mint.distributed")
def all_gather_object(object_list: list[Any], obj: Any, group: str | None = None) -> None:
    """Gather the object of each process into a list.

    >>> from millrace.communication import init, release
    >>> init()
    >>> values = [None]
    >>> all_gather_object(values, {"rank": 0})
    >>> values
    [{'rank': 0}]
    >>> release()
    """
    process_group = group_of(group, "all_gather_object")
    _check_list(object_list, "object_list", "all_gather_object", process_group.size)
    object_list[:] = _all_gather_values(obj, process_group)


@public("mint.distributed")
def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: str | None = None
) -> None:
    """Gather the object of each process into a list at rank `dst`."""
    process_group = group_of(group, "gather_object")
    root = group_rank(process_group, dst, "dst", "gather_object")
    if process_group.rank == root:
        _check_list(object_gather_list, "object_gather_list", "gather_object", process_group.size)
    values = _all_gather_values(obj, process_group)
    if process_group.rank == root and object_gather_list is not None:
        object_gather_list[:] = values


@public("mint.distributed")
def broadcast_object_list(
    object_list: list[Any], src: int = 0, group: str | None = None, device: Any = None
) -> None:
    """Broadcast the objects of a list from rank `src`."""
    process_group = group_of(group, "broadcast_object_list")
    root = group_rank(process_group, src, "src", "broadcast_object_list")
    _check_list(object_list, "object_list", "broadcast_object_list")
    values = _all_gather_values(object_list if process_group.rank == root else None, process_group)[root]
    _check_list(object_list, "object_list", "broadcast_object_list", len(values))
    object_list[:] = values


@public("mint.distributed")
def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None,
    src: int = 0,
    group: str | None = None,
) -> None:
    """Scatter the objects of a list at rank `src`; the object of this process becomes the first element of
    the output list.
    """
    process_group = group_of(group, "scatter_object_list")
    root = group_rank(process_group, src, "src", "scatter_object_list")
    _check_list(scatter_object_output_list, "scatter_object_output_list", "scatter_object_list")
    if process_group.rank == root:
        _check_list(
            scatter_object_input_list, "scatter_object_input_list", "scatter_object_list", process_group.size
        )
    values = _all_gather_values(
        scatter_object_input_list if process_group.rank == root else None, process_group
    )[root]
    scatter_object_output_list[:1] = [values[process_group.rank]]
