"""``millrace.communication.comm_func``: collective functions that return their result. Ranks are world ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP, ProcessGroup
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.ops.collective.torch_library_ops import ASYNC_COLLECTIVES
from millrace._src.runtime.tensor.device_placement import ensure_on_device, to_context_device
from millrace._src.runtime.tensor.storage import to_torch_dtype, wrap

from .comm_handle import (
    CommHandle,
    group_of,
    group_rank,
    run_collective,
    to_torch,
    to_torch_list,
    wrap_tensors,
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

CollectiveResult = tuple[Tensor, CommHandle | None]


@public("communication.comm_func")
def all_reduce(
    tensor: Tensor, op: str = "sum", group: str = WORLD_GROUP, async_op: bool = False
) -> CollectiveResult:
    """Sum over the processes of a group, and a handle if `async_op` is True.

    >>> from millrace.communication import init, release
    >>> init()
    >>> all_reduce(Tensor([1.0]))[0].asnumpy().tolist()
    [1.0]
    >>> release()
    """
    x, name = to_torch(tensor, "tensor", "all_reduce"), group_of(group, "all_reduce").name
    reduced, handle = run_collective(
        "all_reduce", lambda: collective.all_reduce(x, op, name), (x.detach(), op, name), async_op
    )
    return _wrap_result(reduced), handle


@public("communication.comm_func")
def all_gather_into_tensor(
    tensor: Tensor, group: str = WORLD_GROUP, async_op: bool = False
) -> CollectiveResult:
    """Concatenate the tensors of all processes along the first axis."""
    x, name = (
        to_torch(tensor, "tensor", "all_gather_into_tensor"),
        group_of(group, "all_gather_into_tensor").name,
    )
    gathered, handle = run_collective(
        "all_gather", lambda: collective.all_gather(x, name), (x.detach(), [], name), async_op
    )
    return _wrap_result(gathered), handle


@public("communication.comm_func")
def reduce_scatter_tensor(
    tensor: Tensor, op: str = "sum", group: str = WORLD_GROUP, async_op: bool = False
) -> CollectiveResult:
    """Sum over the processes; each process keeps its equal part of the first axis."""
    x, name = (
        to_torch(tensor, "tensor", "reduce_scatter_tensor"),
        group_of(group, "reduce_scatter_tensor").name,
    )
    scattered, handle = run_collective(
        "reduce_scatter",
        lambda: collective.reduce_scatter(x, op, name),
        (x.detach(), [], op, name),
        async_op,
    )
    return _wrap_result(scattered), handle


@public("communication.comm_func")
def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str = WORLD_GROUP) -> Tensor:
    """Sum over the processes at rank `dst`; the other processes return their input."""
    process_group = group_of(group, "reduce")
    x, root = to_torch(tensor, "tensor", "reduce"), group_rank(process_group, dst, "dst", "reduce")
    return wrap(collective.reduce(x, root, op, process_group.name))


@public("communication.comm_func")
def broadcast(tensor: Tensor, src: int = 0, group: str = WORLD_GROUP) -> Tensor:
    """The tensor of rank `src`, in all processes."""
    process_group = group_of(group, "broadcast")
    x, root = to_torch(tensor, "tensor", "broadcast"), group_rank(process_group, src, "src", "broadcast")
    return wrap(collective.broadcast(x, root, process_group.name))


@public("communication.comm_func")
def gather_into_tensor(tensor: Tensor, dst: int = 0, group: str = WORLD_GROUP) -> Tensor:
    """Concatenate the tensors of all processes along the first axis at rank `dst`; zeros in the others."""
    process_group = group_of(group, "gather_into_tensor")
    root = group_rank(process_group, dst, "dst", "gather_into_tensor")
    return wrap(collective.gather(to_torch(tensor, "tensor", "gather_into_tensor"), root, process_group.name))


@public("communication.comm_func")
def scatter_tensor(tensor: Tensor, src: int = 0, group: str = WORLD_GROUP) -> Tensor:
    """The equal part of this process, along the first axis, of the tensor at rank `src`."""
    process_group = group_of(group, "scatter_tensor")
    root = group_rank(process_group, src, "src", "scatter_tensor")
    return wrap(collective.scatter(to_torch(tensor, "tensor", "scatter_tensor"), root, process_group.name))


@public("communication.comm_func")
def barrier(group: str = WORLD_GROUP) -> None:
    """Block until every process of the group has reached the barrier."""
    collective.barrier(group_of(group, "barrier").name)


@public("communication.comm_func")
def send(tensor: Tensor, dst: int = 0, group: str = WORLD_GROUP, tag: int = 0) -> None:
    """Send a tensor to rank `dst`, which must receive it with the same `tag`."""
    process_group = _require_peer(group, dst, "dst", "send")
    collective.send_receive(
        [to_torch(tensor, "tensor", "send").detach()],
        [process_group.ranks.index(dst)],
        [],
        [],
        tag,
        process_group.name,
    )


@public("communication.comm_func")
def recv(tensor: Tensor, src: int = 0, group: str = WORLD_GROUP, tag: int = 0) -> Tensor:
    """Receive a tensor from rank `src`; `tensor` provides its shape and dtype."""
    process_group, x = _require_peer(group, src, "src", "recv"), to_torch(tensor, "tensor", "recv")
    like = [(tuple(x.shape), x.dtype, x.device)]
    return wrap(
        collective.send_receive([], [], like, [process_group.ranks.index(src)], tag, process_group.name)[0]
    )


@public("communication.comm_func")
def isend(tensor: Tensor, dst: int = 0, group: str = WORLD_GROUP, tag: int = 0) -> CommHandle:
    """Start sending; ``handle.wait()`` blocks until the tensor is sent."""
    process_group = _require_peer(group, dst, "dst", "isend")
    x = to_torch(tensor, "tensor", "isend").detach()
    return CommHandle(
        ASYNC_COLLECTIVES["exchange"]([x], [process_group.ranks.index(dst)], [], [], tag, process_group.name)
    )


@public("communication.comm_func")
def irecv(tensor: Tensor, src: int = 0, group: str = WORLD_GROUP, tag: int = 0) -> tuple[Tensor, CommHandle]:
    """Start receiving; the tensor is filled after ``handle.wait()``."""
    process_group = _require_peer(group, src, "src", "irecv")
    buffer = torch.empty_like(to_torch(tensor, "tensor", "irecv"))
    pending = ASYNC_COLLECTIVES["exchange"](
        [], [], [buffer], [process_group.ranks.index(src)], tag, process_group.name
    )
    return wrap(buffer), CommHandle(pending)


def _require_peer(group: Any, rank: int, name: str, owner: str) -> ProcessGroup:
    process_group = group_of(group, owner)
    if group_rank(process_group, rank, name, owner) == process_group.rank:
        raise ArgumentValueError(
            f"Invalid destination rank: {name} should not be the same as the rank of itself."
        )
    return process_group


@public("communication.comm_func")
class P2POp:
    """One send or receive of `batch_isend_irecv`: ``P2POp("isend", tensor, peer)``.

    For a receive, `tensor` may be a shape; `recv_dtype` is its dtype.
    """

    def __init__(
        self,
        op: Any,
        tensor: Any,
        peer: int,
        group: str | None = None,
        tag: int = 0,
        recv_dtype: Any = None,
    ) -> None:
        name = op if isinstance(op, str) else getattr(op, "__name__", "")
        if name not in ("isend", "irecv"):
            raise ArgumentTypeError(
                f"For 'P2POp', the argument 'op' must be 'isend' or 'irecv', but got {op!r}."
            )
        if name == "isend" and not isinstance(tensor, Tensor):
            raise ArgumentTypeError(f"For 'P2POp', 'isend' takes a Tensor, but got {type(tensor).__name__}.")
        if not isinstance(tensor, Tensor) and recv_dtype is None:
            raise ArgumentTypeError(
                f"For 'P2POp', a receive takes a Tensor, or a shape and 'recv_dtype'; but got {tensor!r} without it."
            )
        self.op, self.tensor, self.peer, self.group, self.tag, self.recv_dtype = (
            name, tensor, peer, group, tag, recv_dtype,
        )  # fmt: skip

    def memory(self) -> torch.Tensor:
        """Allocate the output of a receive."""
        if isinstance(self.tensor, Tensor):
            data = ensure_on_device(self.tensor)
            dtype = data.dtype if self.recv_dtype is None else to_torch_dtype(self.recv_dtype)
            return torch.empty_like(data, dtype=dtype)
        shape = (self.tensor,) if isinstance(self.tensor, int) else tuple(self.tensor)
        return to_context_device(torch.empty(shape, dtype=to_torch_dtype(self.recv_dtype)))


@public("communication.comm_func")
def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> tuple[Tensor, ...]:
    """Run several sends and receives together. Returns one tensor per operation; that of a send has no
    meaning.
    """
    return wrap_tensors(run_p2p_ops(p2p_op_list, lambda each: each.memory()))


def run_p2p_ops(p2p_op_list: Any, allocate: Any) -> list[torch.Tensor]:
    """Run a list of `P2POp`; `allocate` returns the output tensor of each receive."""
    if not isinstance(p2p_op_list, (list, tuple)) or not p2p_op_list:
        raise ArgumentTypeError(
            f"For 'batch_isend_irecv', 'p2p_op_list' must be a list of P2POp that is not empty, but got "
            f"{p2p_op_list!r}."
        )
    if any(not isinstance(operation, P2POp) for operation in p2p_op_list):
        raise ArgumentTypeError("For 'batch_isend_irecv', each element of 'p2p_op_list' must be a P2POp.")
    process_group = group_of(p2p_op_list[0].group, "batch_isend_irecv")
    if any(group_of(operation.group, "batch_isend_irecv") != process_group for operation in p2p_op_list):
        raise ArgumentTypeError("For 'batch_isend_irecv', all of 'p2p_op_list' must be of one group.")
    sends = [operation for operation in p2p_op_list if operation.op == "isend"]
    receives = [operation for operation in p2p_op_list if operation.op == "irecv"]
    buffers = [allocate(operation) for operation in receives]
    peer_ranks = [
        group_rank(process_group, operation.peer, "peer", "batch_isend_irecv")
        for operation in (*sends, *receives)
    ]
    data = [ensure_on_device(operation.tensor).detach() for operation in sends]
    torch.ops.millrace.exchange(
        data,
        peer_ranks[: len(sends)],
        buffers,
        peer_ranks[len(sends) :],
        p2p_op_list[0].tag,
        process_group.name,
    )
    received = iter(buffers)
    return [next(received) if operation.op == "irecv" else torch.zeros(1) for operation in p2p_op_list]


@public("communication.comm_func")
def all_to_all_with_output_shape(
    output_shape_list: Any, input_tensor_list: Any, group: str | None = None, async_op: bool = False
) -> tuple[tuple[Tensor, ...], CommHandle | None]:
    """Send one tensor to each process and receive one tensor of a given shape from each."""
    owner = "all_to_all_with_output_shape"
    process_group, sent = group_of(group, owner), to_torch_list(input_tensor_list, "input_tensor_list", owner)
    shapes = [tuple(s.shape) if isinstance(s, Tensor) else tuple(s) for s in output_shape_list]
    received, handle = all_to_all_lists(sent, shapes, process_group, async_op)
    return wrap_tensors(received), handle


def all_to_all_lists(
    sent: list[torch.Tensor], shapes: list[tuple[int, ...]], process_group: ProcessGroup, async_op: bool
) -> tuple[list[torch.Tensor], CommHandle | None]:
    """Exchange one tensor with each process."""
    if len(sent) != process_group.size or len(shapes) != process_group.size:
        raise ArgumentValueError(
            f"'all_to_all' takes a tensor to and from each of {process_group.size} processes, but got {len(sent)} and "
            f"{len(shapes)}."
        )
    joined = torch.cat([tensor.reshape(-1) for tensor in sent])
    send_lengths, receive_lengths = (
        [tensor.numel() for tensor in sent],
        [math.prod(shape) for shape in shapes],
    )
    received, handle = run_collective(
        "all_to_all",
        lambda: collective.all_to_all(joined, send_lengths, receive_lengths, process_group.name),
        (joined.detach(), send_lengths, receive_lengths, process_group.name),
        async_op,
    )
    assert received is not None
    return [
        part.reshape(shape) for part, shape in zip(received.split(receive_lengths), shapes, strict=True)
    ], handle


@public("communication.comm_func")
def all_to_all_single_with_output_shape(
    output_shape: Any,
    tensor: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: str | None = None,
    async_op: bool = False,
) -> CollectiveResult:
    """Send rows of a tensor to each process and receive rows from each; equal parts by default."""
    owner = "all_to_all_single_with_output_shape"
    process_group, x = group_of(group, owner), to_torch(tensor, "tensor", owner)
    shape = tuple(output_shape.shape) if isinstance(output_shape, Tensor) else tuple(output_shape)
    received, handle = all_to_all_rows(
        x, shape, output_split_sizes, input_split_sizes, process_group, async_op, owner
    )
    return wrap(received), handle


def all_to_all_rows(
    x: torch.Tensor,
    shape: tuple[int, ...],
    received: Any,
    sent: Any,
    process_group: ProcessGroup,
    async_op: bool,
    owner: str,
) -> tuple[torch.Tensor, CommHandle | None]:
    """Exchange rows with each process."""
    send_sizes, receive_sizes = (
        _split_sizes(x.shape[0], sent, process_group, owner),
        _split_sizes(shape[0], received, process_group, owner),
    )
    received_rows, handle = run_collective(
        "all_to_all",
        lambda: collective.all_to_all(x, send_sizes, receive_sizes, process_group.name),
        (x.detach(), send_sizes, receive_sizes, process_group.name),
        async_op,
    )
    assert received_rows is not None
    return received_rows, handle


def _split_sizes(length: int, sizes: Any, process_group: ProcessGroup, owner: str) -> list[int]:
    if sizes:
        return [int(size) for size in sizes]
    if length % process_group.size:
        raise ArgumentValueError(
            f"For '{owner}', {length} rows cannot be divided into {process_group.size} equal parts. Pass the sizes."
        )
    return [length // process_group.size] * process_group.size


def _wrap_result(data: torch.Tensor | None) -> Tensor:
    assert data is not None
    return wrap(data)
