"""Collective operations as MindSpore's primitive classes: ``ops.AllReduce(op, group)(x)``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP, require_membership
from millrace._src.runtime.ops.declare.primitive import Primitive
from millrace._src.runtime.tensor.device_placement import ensure_on_device, to_context_device
from millrace._src.runtime.tensor.storage import to_torch_dtype, wrap

from . import functional as collective

__all__ = [
    "AllGather",
    "AllGatherV",
    "AllReduce",
    "AlltoAll",
    "AlltoAllV",
    "Barrier",
    "BatchISendIRecv",
    "Broadcast",
    "CollectiveGather",
    "CollectiveScatter",
    "NeighborExchange",
    "Receive",
    "Reduce",
    "ReduceOp",
    "ReduceScatter",
    "ReduceScatterV",
    "Send",
]


@public("ops")
class ReduceOp:
    """Reduction operations over processes.

    >>> ReduceOp.SUM, ReduceOp.MAX
    ('sum', 'max')
    """

    SUM: ClassVar[str] = "sum"
    MAX: ClassVar[str] = "max"
    MIN: ClassVar[str] = "min"
    PROD: ClassVar[str] = "prod"


class CollectivePrimitive(Primitive):
    """Common base: name, group, and argument checks as in MindSpore."""

    def __init__(self, group: str, **options: Any) -> None:
        super().__init__(type(self).__name__)
        self._check_type("group", group, str)
        self.group = group
        for name, value in options.items():
            setattr(self, name, value)

    def _check_type(self, name: str, value: Any, expected_type: type) -> None:
        if not isinstance(value, expected_type) or (expected_type is int and isinstance(value, bool)):
            raise ArgumentTypeError(
                f"For '{self.name}', the '{name}' must be {expected_type.__name__}, but got {type(value).__name__}."
            )

    def _tensor(self, x: Any) -> torch.Tensor:
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                f"For '{self.name}', the input must be a Tensor, but got {type(x).__name__}."
            )
        return ensure_on_device(x)


class _ReductionPrimitive(CollectivePrimitive):
    def __init__(self, op: str, group: str, **options: Any) -> None:
        super().__init__(group, **options)
        self._check_type("op", op, str)
        self.op = op


@public("ops")
class AllReduce(_ReductionPrimitive):
    """Sum of a tensor over all processes of a group, in each of them. Its gradient is summed in the same way.

    >>> from millrace.communication import init, release
    >>> init()
    >>> AllReduce()(Tensor([1.0, 2.0])).asnumpy().tolist()  # one process
    [1.0, 2.0]
    >>> release()
    """

    def __init__(self, op: str = ReduceOp.SUM, group: str = WORLD_GROUP) -> None:
        super().__init__(op, group)

    def __call__(self, input_x: Any) -> Tensor:
        return wrap(collective.all_reduce(self._tensor(input_x), self.op, self.group))


@public("ops")
class AllGather(CollectivePrimitive):
    """Tensors of all processes, concatenated along the first axis."""

    def __init__(self, group: str = WORLD_GROUP) -> None:
        super().__init__(group)

    def __call__(self, input_x: Any) -> Tensor:
        return wrap(collective.all_gather(self._tensor(input_x), self.group))


@public("ops")
class AllGatherV(CollectivePrimitive):
    """Tensors of all processes, concatenated; `output_split_sizes` has the length of each."""

    def __init__(self, group: str = WORLD_GROUP) -> None:
        super().__init__(group)

    def __call__(self, input_x: Any, output_split_sizes: Any) -> Tensor:
        x = self._tensor(input_x)
        return wrap(collective.all_gather(x.reshape(-1), self.group, to_split_sizes(output_split_sizes)))


@public("ops")
class ReduceScatter(_ReductionPrimitive):
    """Sum over all processes, of which each keeps its equal part of the first axis."""

    def __init__(self, op: str = ReduceOp.SUM, group: str = WORLD_GROUP) -> None:
        super().__init__(op, group)

    def __call__(self, input_x: Any) -> Tensor:
        return wrap(collective.reduce_scatter(self._tensor(input_x), self.op, self.group))


@public("ops")
class ReduceScatterV(_ReductionPrimitive):
    """Sum over all processes, of which each keeps its part; `input_split_sizes` has the length of each."""

    def __init__(self, op: str = ReduceOp.SUM, group: str = WORLD_GROUP) -> None:
        super().__init__(op, group)

    def __call__(self, input_x: Any, input_split_sizes: Any) -> Tensor:
        x, sizes = self._tensor(input_x).reshape(-1), to_split_sizes(input_split_sizes)
        return wrap(collective.reduce_scatter(x, self.op, self.group, sizes))


@public("ops")
class Broadcast(CollectivePrimitive):
    """Tensors of group rank `root_rank`, in all processes; called with a tuple, it returns one."""

    def __init__(self, root_rank: int, group: str = WORLD_GROUP) -> None:
        super().__init__(group)
        if not isinstance(root_rank, int) or isinstance(root_rank, bool):
            raise ArgumentTypeError(
                f"For 'Broadcast', the type of 'root_rank' should be 'int', but got type "
                f"'{type(root_rank).__name__}'."
            )
        self.root_rank = root_rank

    def __call__(self, input_x: Any) -> Any:
        if not isinstance(input_x, (tuple, list)):
            raise ArgumentTypeError(
                f"For 'Broadcast', the type of 'input_x' must be tuple, but got {type(input_x).__name__}: "
                "write Broadcast(0)((x,))."
            )
        return tuple(wrap(collective.broadcast(self._tensor(x), self.root_rank, self.group)) for x in input_x)


@public("ops")
class AlltoAll(CollectivePrimitive):
    """Each process splits its tensor along `split_dim` into one part per process and sends one to each; the received
    parts are concatenated along `concat_dim`.
    """

    def __init__(self, split_count: int, split_dim: int, concat_dim: int, group: str = WORLD_GROUP) -> None:
        super().__init__(group)
        for name, value in (
            ("split_count", split_count),
            ("split_dim", split_dim),
            ("concat_dim", concat_dim),
        ):
            self._check_type(name, value, int)
        self.split_count, self.split_dim, self.concat_dim = split_count, split_dim, concat_dim

    def __call__(self, input_x: Any) -> Tensor:
        x, size = self._tensor(input_x), require_membership(self.group, self.name).size
        if self.split_count != size:
            raise ArgumentValueError(
                f"For 'AlltoAll', the 'split_count' must be the number of processes in the group ({size}), but got "
                f"{self.split_count}."
            )
        if x.shape[self.split_dim] % size:
            raise ArgumentValueError(
                f"For 'AlltoAll', axis {self.split_dim} of the input {tuple(x.shape)} cannot be cut into {size} "
                "equal parts."
            )
        parts = torch.stack(x.chunk(size, self.split_dim))
        ones = [1] * size
        received = collective.all_to_all(parts, ones, ones, self.group)
        return wrap(torch.cat(received.unbind(0), self.concat_dim))


@public("ops")
class AlltoAllV(CollectivePrimitive):
    """Exchange elements between all processes; the lists give the numbers in units of `block_size`."""

    def __init__(self, group: str = WORLD_GROUP, block_size: int = 1) -> None:
        super().__init__(group, block_size=block_size)

    def __call__(self, input_x: Any, send_numel_list: Any, recv_numel_list: Any) -> Tensor:
        block = self.block_size  # type: ignore[attr-defined]
        sent = [count * block for count in to_split_sizes(send_numel_list)]
        received = [count * block for count in to_split_sizes(recv_numel_list)]
        return wrap(collective.all_to_all(self._tensor(input_x).reshape(-1), sent, received, self.group))


@public("ops")
class NeighborExchange(CollectivePrimitive):
    """Send tensors to some processes of the group, and receive tensors from some."""

    def __init__(
        self,
        send_rank_ids: Sequence[int],
        recv_rank_ids: Sequence[int],
        recv_shapes: Sequence[Sequence[int]],
        send_shapes: Sequence[Sequence[int]],
        recv_type: Any,
        group: str = WORLD_GROUP,
    ) -> None:
        super().__init__(group)
        self.send_rank_ids, self.recv_rank_ids = list(send_rank_ids), list(recv_rank_ids)
        self.recv_shapes, self.send_shapes = list(recv_shapes), list(send_shapes)
        self.recv_type = recv_type

    def __call__(self, input_x: Any) -> tuple[Tensor, ...]:
        sent = [self._tensor(x) for x in (input_x if isinstance(input_x, (tuple, list)) else (input_x,))]
        shapes = [tuple(x.shape) for x in sent]
        if shapes != [tuple(shape) for shape in self.send_shapes]:
            raise ArgumentValueError(
                f"For 'NeighborExchange', the shapes to send are {self.send_shapes}, but got {shapes}."
            )
        like = [_tensor_spec(shape, self.recv_type) for shape in self.recv_shapes]
        received = collective.send_receive(sent, self.send_rank_ids, like, self.recv_rank_ids, 0, self.group)
        return tuple(wrap(each) for each in received)


@public("ops")
class Send(CollectivePrimitive):
    """Send a tensor to group rank `dest_rank`, where a `Receive` with the same `sr_tag` receives it."""

    def __init__(
        self, sr_tag: int, dest_rank: int, group: str = WORLD_GROUP, group_back: str = WORLD_GROUP
    ) -> None:
        super().__init__(group, group_back=group_back)
        self._check_type("dest_rank", dest_rank, int)
        self._check_type("sr_tag", sr_tag, int)
        self.sr_tag, self.dest_rank = sr_tag, dest_rank
        self.rank = dest_rank

    def __call__(self, input_data: Any) -> Tensor:
        x = self._tensor(input_data)
        collective.send_receive([x.detach()], [self.dest_rank], [], [], self.sr_tag, self.group)
        return wrap(x)


@public("ops")
class Receive(CollectivePrimitive):
    """Receive a tensor of a given shape and dtype from group rank `src_rank`. No gradient is sent back: pipeline
    stages are not split this way here.
    """

    def __init__(
        self,
        sr_tag: int,
        src_rank: int,
        shape: Sequence[int],
        dtype: Any,
        group: str = WORLD_GROUP,
        group_back: str = WORLD_GROUP,
    ) -> None:
        super().__init__(group, group_back=group_back)
        self._check_type("src_rank", src_rank, int)
        self._check_type("sr_tag", sr_tag, int)
        self.sr_tag, self.src_rank, self.rank = sr_tag, src_rank, src_rank
        self.shape, self.dtype = tuple(shape), dtype

    def __call__(self, x: Any = None) -> Tensor:
        like = [_tensor_spec(self.shape, self.dtype)]
        return wrap(collective.send_receive([], [], like, [self.src_rank], self.sr_tag, self.group)[0])


@public("ops")
class Reduce(_ReductionPrimitive):
    """Sum over all processes on group rank `dest_rank`; the others keep their input."""

    def __init__(self, dest_rank: int, op: str = ReduceOp.SUM, group: str = WORLD_GROUP) -> None:
        super().__init__(op, group)
        self._check_type("dest_rank", dest_rank, int)
        self.dest_rank = dest_rank

    def __call__(self, input_x: Any) -> Tensor:
        return wrap(collective.reduce(self._tensor(input_x), self.dest_rank, self.op, self.group))


@public("ops")
class Barrier(CollectivePrimitive):
    """Wait until every process of the group has reached this call."""

    def __init__(self, group: str = WORLD_GROUP) -> None:
        super().__init__(group)

    def __call__(self) -> None:
        collective.barrier(self.group)


@public("ops")
class CollectiveGather(CollectivePrimitive):
    """Tensors of all processes, concatenated along the first axis, on group rank `dest_rank`; zeros on the others."""

    def __init__(self, dest_rank: int, group: str = WORLD_GROUP) -> None:
        super().__init__(group)
        self._check_type("dest_rank", dest_rank, int)
        self.dest_rank = dest_rank

    def __call__(self, input_x: Any) -> Tensor:
        return wrap(collective.gather(self._tensor(input_x), self.dest_rank, self.group))


@public("ops")
class CollectiveScatter(CollectivePrimitive):
    """Each process's equal part, along the first axis, of the tensor on group rank `src_rank`."""

    def __init__(self, src_rank: int = 0, group: str = WORLD_GROUP) -> None:
        super().__init__(group)
        self._check_type("src_rank", src_rank, int)
        self.src_rank = src_rank

    def __call__(self, input_x: Any) -> Tensor:
        return wrap(collective.scatter(self._tensor(input_x), self.src_rank, self.group))


@public("ops")
class BatchISendIRecv(CollectivePrimitive):
    """Several sends ("isend") and receives ("irecv") at once, each with its process."""

    def __init__(
        self,
        op_types: Sequence[str],
        remote_ranks: Sequence[int],
        receive_shapes: Any = None,
        receive_dtypes: Any = None,
        group: str = WORLD_GROUP,
    ) -> None:
        super().__init__(group)
        wrong = [each for each in op_types if each not in ("isend", "irecv")]
        if wrong:
            raise ArgumentTypeError(
                f"For 'BatchISendIRecv', op_types must be 'isend' or 'irecv', but got {wrong[0]!r}."
            )
        if len(op_types) != len(remote_ranks):
            raise ArgumentValueError(
                f"For 'BatchISendIRecv', op_types and remote_ranks must have one length, but got {len(op_types)} and "
                f"{len(remote_ranks)}."
            )
        self.op_types, self.remote_ranks = list(op_types), list(remote_ranks)
        self.receive_shapes, self.receive_dtypes = list(receive_shapes or ()), list(receive_dtypes or ())

    def __call__(self, *inputs: Any) -> tuple[Tensor, ...]:
        tensors = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)) else inputs
        sent = [self._tensor(x) for x in tensors]
        pairs = list(zip(self.op_types, self.remote_ranks, strict=True))
        to = [rank for op_type, rank in pairs if op_type == "isend"]
        from_ = [rank for op_type, rank in pairs if op_type == "irecv"]
        like = [_tensor_spec(s, t) for s, t in zip(self.receive_shapes, self.receive_dtypes, strict=True)]
        if len(sent) != len(to) or len(like) != len(from_):
            raise ArgumentValueError(
                f"For 'BatchISendIRecv', {len(to)} sends and {len(from_)} receives are requested, but got {len(sent)} "
                f"tensors and {len(like)} shapes."
            )
        received = iter(collective.send_receive(sent, to, like, from_, 0, self.group))
        # MindSpore returns a tensor for each operation; that of a send has no meaning
        outputs = [
            next(received) if op_type == "irecv" else sent[0].new_zeros(1) for op_type in self.op_types
        ]
        return tuple(wrap(each) for each in outputs)


def _tensor_spec(shape: Sequence[int], dtype: Any) -> collective.TensorSpec:
    torch_dtype = to_torch_dtype(dtype)
    return tuple(shape), torch_dtype, to_context_device(torch.empty(0)).device


def to_split_sizes(value: Any) -> list[int]:
    """Split sizes, given as numbers or as a tensor."""
    if isinstance(value, Tensor):
        return [int(each) for each in value.asnumpy().reshape(-1)]
    if not isinstance(value, (tuple, list)) or not all(isinstance(each, int) for each in value):
        raise ArgumentTypeError(f"Lengths must be a list of int or a Tensor of them, but got {value!r}.")
    return [math.trunc(each) for each in value]
