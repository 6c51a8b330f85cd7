"""``millrace.mint.distributed``: sends and receives with PyTorch's names that write into given tensors."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.tensor.device_placement import ensure_on_device

from . import collectives as functions
from .comm_handle import CommHandle, to_torch
from .inplace_collectives import copy_into

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


@public("mint.distributed")
def send(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> None:
    """Send a tensor to rank `dst`."""
    functions.send(tensor, dst, WORLD_GROUP if group is None else group, tag)


@public("mint.distributed")
def recv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> int:
    """Receive from rank `src` into `tensor`; returns 0."""
    received = functions.recv(tensor, src, WORLD_GROUP if group is None else group, tag)
    copy_into(to_torch(tensor, "tensor", "recv"), received._torch, None, "recv")
    return 0


@public("mint.distributed")
def isend(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """Start sending; ``handle.wait()`` blocks until the tensor is sent."""
    return functions.isend(tensor, dst, WORLD_GROUP if group is None else group, tag)


@public("mint.distributed")
def irecv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """Start receiving; the tensor is filled after ``handle.wait()``."""
    target = to_torch(tensor, "tensor", "irecv")
    received, handle = functions.irecv(tensor, src, WORLD_GROUP if group is None else group, tag)
    copy_handle = copy_into(target, received._torch, handle, "irecv")
    assert copy_handle is not None
    return copy_handle


@public("mint.distributed")
class P2POp(functions.P2POp):
    """One send or receive of `batch_isend_irecv`: ``P2POp(isend, tensor, peer)``."""

    def __init__(self, op: Any, tensor: Any, peer: int, group: str | None = None, tag: int = 0) -> None:
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"For 'P2POp', the argument 'tensor' must be Tensor, but got {type(tensor).__name__}."
            )
        super().__init__(op, tensor, peer, group, tag)


@public("mint.distributed")
def batch_isend_irecv(p2p_op_list: Any) -> list[CommHandle]:
    """Run several sends and receives together; received tensors are written in place. Returns one handle per
    operation.
    """
    received = functions.run_p2p_ops(
        p2p_op_list, lambda operation: torch.empty_like(ensure_on_device(operation.tensor))
    )
    for operation, data in zip(p2p_op_list, received, strict=True):
        if operation.op == "irecv":
            copy_into(operation.tensor._torch, data, None, "batch_isend_irecv")
    return [CommHandle() for _ in received]
