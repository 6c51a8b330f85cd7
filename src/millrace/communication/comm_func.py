"""Collective functions that give their result: ``comm_func.all_reduce(x)``."""

from __future__ import annotations

from millrace._src.runtime.distributed.collectives import (
    P2POp,
    all_gather_into_tensor,
    all_reduce,
    all_to_all_single_with_output_shape,
    all_to_all_with_output_shape,
    barrier,
    batch_isend_irecv,
    broadcast,
    gather_into_tensor,
    irecv,
    isend,
    recv,
    reduce,
    reduce_scatter_tensor,
    scatter_tensor,
    send,
)

__all__ = [
    "P2POp",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all_single_with_output_shape",
    "all_to_all_with_output_shape",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "gather_into_tensor",
    "irecv",
    "isend",
    "recv",
    "reduce",
    "reduce_scatter_tensor",
    "scatter_tensor",
    "send",
]
