"""``millrace.communication.comm_func``: collective functions that give their result. Ranks are those of the world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP, ProcessGroup
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.ops.collective.torch_library_ops import ASYNC_COLLECTIVES
from millrace._src.runtime.tensor.device_placement import ensure_on_device, to_context_device
from millrace._src.runtime.tensor.storage import to_torch_dtype, wrap

from .comm_handle import CommHandle, group_of, group_rank, run_collective, to_torch, to_torch_list, wrapped

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

Answer = tuple[Tensor, CommHandle | None]


def all_reduce(tensor: Tensor, op: str = "sum", group: str = WORLD_GROUP, async_op: bool = False) -> Answer:
    """The sum over the processes of a group, and a handle where `async_op` is True.

    >>> from millrace.communication import init, release
    >>> init()
    >>> all_reduce(Tensor([1.0]))[0].asnumpy().tolist()
    [1.0]
    >>> release()
    """
    x, name = to_torch(tensor, "tensor", "all_reduce"), group_of(group, "all_reduce").name
    made, handle = run_collective(
        "all_reduce", lambda: collective.all_reduce(x, op, name), (x.detach(), op, name), async_op
    )
    return _given(made), handle


def all_gather_into_tensor(tensor: Tensor, group: str = WORLD_GROUP, async_op: bool = False) -> Answer:
    """The tensors of all processes along the first axis."""
    x, name = (
        to_torch(tensor, "tensor", "all_gather_into_tensor"),
        group_of(group, "all_gather_into_tensor").name,
    )
    made, handle = run_collective(
        "all_gather", lambda: collective.all_gather(x, name), (x.detach(), [], name), async_op
    )
    return _given(made), handle


def reduce_scatter_tensor(
    tensor: Tensor, op: str = "sum", group: str = WORLD_GROUP, async_op: bool = False
) -> Answer:
    """The sum over the processes, of which each keeps its equal part of the first axis."""
    x, name = (
        to_torch(tensor, "tensor", "reduce_scatter_tensor"),
        group_of(group, "reduce_scatter_tensor").name,
    )
    made, handle = run_collective(
        "reduce_scatter",
        lambda: collective.reduce_scatter(x, op, name),
        (x.detach(), [], op, name),
        async_op,
    )
    return _given(made), handle


def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str = WORLD_GROUP) -> Tensor:
    """The sum over the processes at rank `dst`; the others keep what they gave."""
    among = group_of(group, "reduce")
    x, root = to_torch(tensor, "tensor", "reduce"), group_rank(among, dst, "dst", "reduce")
    return wrap(collective.reduce(x, root, op, among.name))


def broadcast(tensor: Tensor, src: int = 0, group: str = WORLD_GROUP) -> Tensor:
    """The tensor of rank `src`, in all processes."""
    among = group_of(group, "broadcast")
    x, root = to_torch(tensor, "tensor", "broadcast"), group_rank(among, src, "src", "broadcast")
    return wrap(collective.broadcast(x, root, among.name))


def gather_into_tensor(tensor: Tensor, dst: int = 0, group: str = WORLD_GROUP) -> Tensor:
    """The tensors of all processes along the first axis, at rank `dst`; zeros in the others."""
    among = group_of(group, "gather_into_tensor")
    root = group_rank(among, dst, "dst", "gather_into_tensor")
    return wrap(collective.gather(to_torch(tensor, "tensor", "gather_into_tensor"), root, among.name))


def scatter_tensor(tensor: Tensor, src: int = 0, group: str = WORLD_GROUP) -> Tensor:
    """Each process's equal part, along the first axis, of the tensor at rank `src`."""
    among = group_of(group, "scatter_tensor")
    root = group_rank(among, src, "src", "scatter_tensor")
    return wrap(collective.scatter(to_torch(tensor, "tensor", "scatter_tensor"), root, among.name))


def barrier(group: str = WORLD_GROUP) -> None:
    """Wait until every process of the group is here."""
    collective.barrier(group_of(group, "barrier").name)


def send(tensor: Tensor, dst: int = 0, group: str = WORLD_GROUP, tag: int = 0) -> None:
    """Send a tensor to rank `dst`, which receives it with the same `tag`."""
    among = _other(group, dst, "dst", "send")
    collective.send_receive(
        [to_torch(tensor, "tensor", "send").detach()], [among.ranks.index(dst)], [], [], tag, among.name
    )


def recv(tensor: Tensor, src: int = 0, group: str = WORLD_GROUP, tag: int = 0) -> Tensor:
    """What rank `src` sends; `tensor` says its shape and type."""
    among, x = _other(group, src, "src", "recv"), to_torch(tensor, "tensor", "recv")
    like = [(tuple(x.shape), x.dtype, x.device)]
    return wrap(collective.send_receive([], [], like, [among.ranks.index(src)], tag, among.name)[0])


def isend(tensor: Tensor, dst: int = 0, group: str = WORLD_GROUP, tag: int = 0) -> CommHandle:
    """Begin to send; the handle waits until it is done."""
    among = _other(group, dst, "dst", "isend")
    x = to_torch(tensor, "tensor", "isend").detach()
    return CommHandle(ASYNC_COLLECTIVES["exchange"]([x], [among.ranks.index(dst)], [], [], tag, among.name))


def irecv(tensor: Tensor, src: int = 0, group: str = WORLD_GROUP, tag: int = 0) -> tuple[Tensor, CommHandle]:
    """Begin to receive; after ``handle.wait()`` the tensor has what came."""
    among = _other(group, src, "src", "irecv")
    made = torch.empty_like(to_torch(tensor, "tensor", "irecv"))
    pending = ASYNC_COLLECTIVES["exchange"]([], [], [made], [among.ranks.index(src)], tag, among.name)
    return wrap(made), CommHandle(pending)


def _other(group: Any, rank: int, name: str, owner: str) -> ProcessGroup:
    among = group_of(group, owner)
    if group_rank(among, rank, name, owner) == among.rank:
        raise ArgumentValueError(
            f"Invalid destination rank: {name} should not be the same as the rank of itself."
        )
    return among


class P2POp:
    """One send or receive of `batch_isend_irecv`: ``P2POp("isend", tensor, peer)``.

    For a receive `tensor` may be a shape, with its type in `recv_dtype`.
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
        """Where what is received goes."""
        if isinstance(self.tensor, Tensor):
            data = ensure_on_device(self.tensor)
            kind = data.dtype if self.recv_dtype is None else to_torch_dtype(self.recv_dtype)
            return torch.empty_like(data, dtype=kind)
        shape = (self.tensor,) if isinstance(self.tensor, int) else tuple(self.tensor)
        return to_context_device(torch.empty(shape, dtype=to_torch_dtype(self.recv_dtype)))


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> tuple[Tensor, ...]:
    """Several sends and receives at once; a result for each, which of a send means nothing."""
    return wrapped(run_p2p_ops(p2p_op_list, lambda each: each.memory()))


def run_p2p_ops(p2p_op_list: Any, room: Any) -> list[torch.Tensor]:
    """Run a list of `P2POp`; `room` says where each receive goes."""
    if not isinstance(p2p_op_list, (list, tuple)) or not p2p_op_list:
        raise ArgumentTypeError(
            f"For 'batch_isend_irecv', 'p2p_op_list' must be a list of P2POp that is not empty, but got "
            f"{p2p_op_list!r}."
        )
    if any(not isinstance(each, P2POp) for each in p2p_op_list):
        raise ArgumentTypeError("For 'batch_isend_irecv', each element of 'p2p_op_list' must be a P2POp.")
    among = group_of(p2p_op_list[0].group, "batch_isend_irecv")
    if any(group_of(each.group, "batch_isend_irecv") != among for each in p2p_op_list):
        raise ArgumentTypeError("For 'batch_isend_irecv', all of 'p2p_op_list' must be of one group.")
    sends = [each for each in p2p_op_list if each.op == "isend"]
    receives = [each for each in p2p_op_list if each.op == "irecv"]
    memory = [room(each) for each in receives]
    peer = [group_rank(among, each.peer, "peer", "batch_isend_irecv") for each in (*sends, *receives)]
    data = [ensure_on_device(each.tensor).detach() for each in sends]
    torch.ops.millrace.exchange(
        data, peer[: len(sends)], memory, peer[len(sends) :], p2p_op_list[0].tag, among.name
    )
    made = iter(memory)
    return [next(made) if each.op == "irecv" else torch.zeros(1) for each in p2p_op_list]


def all_to_all_with_output_shape(
    output_shape_list: Any, input_tensor_list: Any, group: str | None = None, async_op: bool = False
) -> tuple[tuple[Tensor, ...], CommHandle | None]:
    """A tensor to each process, and one of a given shape from each."""
    owner = "all_to_all_with_output_shape"
    among, sent = group_of(group, owner), to_torch_list(input_tensor_list, "input_tensor_list", owner)
    shapes = [tuple(s.shape) if isinstance(s, Tensor) else tuple(s) for s in output_shape_list]
    made, handle = all_to_all_lists(sent, shapes, among, async_op)
    return wrapped(made), handle


def all_to_all_lists(
    sent: list[torch.Tensor], shapes: list[tuple[int, ...]], among: ProcessGroup, async_op: bool
) -> tuple[list[torch.Tensor], CommHandle | None]:
    """A tensor to each, one from each."""
    if len(sent) != among.size or len(shapes) != among.size:
        raise ArgumentValueError(
            f"'all_to_all' takes a tensor to and from each of {among.size} processes, but got {len(sent)} and "
            f"{len(shapes)}."
        )
    joined = torch.cat([each.reshape(-1) for each in sent])
    lengths, numbers = [each.numel() for each in sent], [math.prod(shape) for shape in shapes]
    made, handle = run_collective(
        "all_to_all",
        lambda: collective.all_to_all(joined, lengths, numbers, among.name),
        (joined.detach(), lengths, numbers, among.name),
        async_op,
    )
    assert made is not None
    return [part.reshape(shape) for part, shape in zip(made.split(numbers), shapes, strict=True)], handle


def all_to_all_single_with_output_shape(
    output_shape: Any,
    tensor: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: str | None = None,
    async_op: bool = False,
) -> Answer:
    """Rows of a tensor to each process, and rows from each; without sizes, equal parts."""
    owner = "all_to_all_single_with_output_shape"
    among, x = group_of(group, owner), to_torch(tensor, "tensor", owner)
    shape = tuple(output_shape.shape) if isinstance(output_shape, Tensor) else tuple(output_shape)
    made, handle = all_to_all_rows(x, shape, output_split_sizes, input_split_sizes, among, async_op, owner)
    return wrap(made), handle


def all_to_all_rows(
    x: torch.Tensor,
    shape: tuple[int, ...],
    received: Any,
    sent: Any,
    among: ProcessGroup,
    async_op: bool,
    owner: str,
) -> tuple[torch.Tensor, CommHandle | None]:
    """Rows to each, rows from each."""
    there, back = _parts(x.shape[0], sent, among, owner), _parts(shape[0], received, among, owner)
    made, handle = run_collective(
        "all_to_all",
        lambda: collective.all_to_all(x, there, back, among.name),
        (x.detach(), there, back, among.name),
        async_op,
    )
    assert made is not None
    return made, handle


def _parts(length: int, sizes: Any, among: ProcessGroup, owner: str) -> list[int]:
    if sizes:
        return [int(size) for size in sizes]
    if length % among.size:
        raise ArgumentValueError(
            f"For '{owner}', {length} rows cannot be cut into {among.size} equal parts: give the sizes."
        )
    return [length // among.size] * among.size


def _given(made: torch.Tensor | None) -> Tensor:
    assert made is not None
    return wrap(made)
