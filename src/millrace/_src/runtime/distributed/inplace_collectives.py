"""``millrace.mint.distributed``: collective functions with PyTorch's names that write into given tensors.

Groups are names, as in MindSpore; ranks are world ranks.
"""

from __future__ import annotations

import datetime
import itertools
from typing import Any

import torch
import torch.distributed as dist

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.tensor.backend.context import get_context

from . import collectives as functions
from . import process_groups as communication
from .addresses import is_loopback
from .cluster_environment import ClusterEnvironment, detect_environment
from .comm_handle import CommHandle, group_of, run_collective, to_torch, to_torch_list
from .comm_handle import group_rank as rank_in_group

__all__ = [
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_into_tensor_uneven",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "copy_into",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_initialized",
    "new_group",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_uneven",
    "scatter",
]

Handle = CommHandle | None
_group_counter = itertools.count(1)


# groups -----------------------------------------------------------------------------------------------


@public("mint.distributed")
def init_process_group(
    backend: str = "hccl",
    init_method: str | None = None,
    timeout: datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Initialize the process group, as `communication.init` does. `init_method` may be ``tcp://host:port``
    with `world_size` and `rank`.

    >>> init_process_group()
    >>> get_rank(), get_world_size(), is_initialized()
    (0, 1, True)
    >>> destroy_process_group()
    """
    if store is not None or pg_options is not None:
        raise ArgumentValueError("For 'init_process_group', 'store' and 'pg_options' must be None.")
    if communication.GlobalComm.INITED:
        return
    environment = detect_environment()
    if init_method is not None:
        if not init_method.startswith("tcp://") or ":" not in init_method[6:]:
            raise ArgumentValueError(
                f"For 'init_process_group', 'init_method' must be 'tcp://host:port', but got {init_method!r}."
            )
        if world_size < 1 or not 0 <= rank < world_size:
            raise ArgumentValueError(
                f"For 'init_process_group', 'init_method' needs a 'world_size' above 0 and a 'rank' below it, but got "
                f"{world_size} and {rank}."
            )
        host, _, port = init_method[6:].rpartition(":")
        environment = ClusterEnvironment(
            "init_process_group",
            rank,
            world_size,
            rank,
            world_size,
            host,
            int(port),
            one_machine=is_loopback(host),
        )
    gpu = get_context("device_target") == "GPU" and backend != "gloo"
    communication._join(environment, "nccl" if gpu else "gloo", timeout)


@public("mint.distributed")
def destroy_process_group(group: str | None = None) -> None:
    """Destroy a group, or, without a name, all groups."""
    if group is None or group in groups.WORLD_NAMES:
        communication.release()
    else:
        communication.destroy_group(group)


@public("mint.distributed")
def new_group(
    ranks: Any = None,
    timeout: datetime.timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
) -> str:
    """Create a group of ranks and return its name. Every process must call it."""
    world = groups.get_group(WORLD_GROUP, "new_group")
    name = group_desc or f"group_{next(_group_counter)}"
    communication.create_group(name, list(world.ranks if ranks is None else ranks))
    return name


@public("mint.distributed")
def is_available() -> bool:
    """Whether distributed communication is available.

    >>> is_available()
    True
    """
    return dist.is_available()


@public("mint.distributed")
def is_initialized() -> bool:
    """Whether the process group is initialized."""
    return communication.GlobalComm.INITED


@public("mint.distributed")
def get_backend(group: str | None = None) -> str:
    """MindSpore's name of the backend: "nccl" between GPUs, "mccl" (here: gloo) between CPUs."""
    return communication.GlobalComm.BACKEND


@public("mint.distributed")
def get_rank(group: str | None = None) -> int:
    """The rank of this process in a group; -1 if it is not a member."""
    if not communication.GlobalComm.INITED:
        return 0
    return groups.get_group(WORLD_GROUP if group is None else group, "get_rank").rank


@public("mint.distributed")
def get_world_size(group: str | None = None) -> int:
    """The size of a group; -1 if this process is not a member."""
    if not communication.GlobalComm.INITED:
        return 1
    process_group = groups.get_group(WORLD_GROUP if group is None else group, "get_world_size")
    return process_group.size if process_group.rank >= 0 else -1


@public("mint.distributed")
def get_global_rank(group: str | None, group_rank: int) -> int:
    """The world rank of a group rank."""
    return communication.get_world_rank_from_group_rank(WORLD_GROUP if group is None else group, group_rank)


@public("mint.distributed")
def get_group_rank(group: str | None, global_rank: int) -> int:
    """The group rank of a world rank."""
    return communication.get_group_rank_from_world_rank(global_rank, WORLD_GROUP if group is None else group)


@public("mint.distributed")
def get_process_group_ranks(group: str | None = None) -> list[int]:
    """The world ranks of a group."""
    return communication.get_process_group_ranks(WORLD_GROUP if group is None else group)


# tensors ----------------------------------------------------------------------------------------------


def copy_into(
    target: torch.Tensor,
    result: torch.Tensor | None,
    handle: Handle,
    owner: str,
) -> Handle:
    """Write a result into the caller's tensor, now or when ``wait`` is called."""
    assert result is not None
    if result.numel() != target.numel() or result.dtype != target.dtype:
        raise ArgumentValueError(
            f"For '{owner}', the result is {tuple(result.shape)} of {result.dtype}, but the tensor for it is "
            f"{tuple(target.shape)} of {target.dtype}."
        )

    def write() -> None:
        with torch.no_grad():
            target.copy_(result.detach().reshape(target.shape))

    if handle is None or handle._pending is None:
        write()
        return handle
    return CommHandle(handle._pending, write)


@public("mint.distributed")
def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False) -> Handle:
    """Sum over the processes, in place.

    >>> init_process_group()
    >>> x = Tensor([1.0, 2.0])
    >>> all_reduce(x)
    >>> x.asnumpy().tolist()
    [1.0, 2.0]
    >>> destroy_process_group()
    """
    x, name = to_torch(tensor, "tensor", "all_reduce"), group_of(group, "all_reduce").name
    data = x.detach()
    outcome = run_collective(
        "all_reduce", lambda: collective.all_reduce(data, op, name), (data, op, name), async_op
    )
    return copy_into(x, *outcome, "all_reduce")


@public("mint.distributed")
def broadcast(tensor: Tensor, src: int, group: str | None = None, async_op: bool = False) -> Handle:
    """Broadcast the tensor of rank `src`, in place."""
    process_group, x = group_of(group, "broadcast"), to_torch(tensor, "tensor", "broadcast")
    root, data = rank_in_group(process_group, src, "src", "broadcast"), x.detach()
    args = (data, root, process_group.name)
    return copy_into(
        x, *run_collective("broadcast", lambda: collective.broadcast(*args), args, async_op), "broadcast"
    )


@public("mint.distributed")
def reduce(
    tensor: Tensor, dst: int, op: str = "sum", group: str | None = None, async_op: bool = False
) -> Handle:
    """Sum over the processes, in place at rank `dst`."""
    process_group, x = group_of(group, "reduce"), to_torch(tensor, "tensor", "reduce")
    args = (x.detach(), rank_in_group(process_group, dst, "dst", "reduce"), op, process_group.name)
    return copy_into(x, *run_collective("reduce", lambda: collective.reduce(*args), args, async_op), "reduce")


@public("mint.distributed")
def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: str | None = None, async_op: bool = False
) -> Handle:
    """Concatenate the tensors of all processes along the first axis into `output_tensor`."""
    return _all_gather(output_tensor, input_tensor, (), group, async_op, "all_gather_into_tensor")


@public("mint.distributed")
def all_gather_into_tensor_uneven(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    group: str | None = None,
    async_op: bool = False,
) -> Handle:
    """Concatenate the tensors of all processes along the first axis; `output_split_sizes` are their numbers
    of rows.
    """
    sizes = list(output_split_sizes or ())
    return _all_gather(output, input, sizes, group, async_op, "all_gather_into_tensor_uneven")


def _all_gather(output: Any, input_tensor: Any, sizes: Any, group: Any, async_op: bool, owner: str) -> Handle:
    process_group = group_of(group, owner)
    target, x = to_torch(output, "output", owner), to_torch(input_tensor, "input", owner).detach()
    outcome = run_collective(
        "all_gather",
        lambda: collective.all_gather(x, process_group.name, sizes),
        (x, list(sizes), process_group.name),
        async_op,
    )
    return copy_into(target, *outcome, owner)


@public("mint.distributed")
def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: str | None = None, async_op: bool = False
) -> Handle:
    """Gather the tensor of each process into a list of tensors."""
    process_group = group_of(group, "all_gather")
    targets, x = (
        to_torch_list(tensor_list, "tensor_list", "all_gather"),
        to_torch(tensor, "tensor", "all_gather").detach(),
    )
    _check_length(targets, process_group.size, "tensor_list", "all_gather")
    flat = x.reshape(1, -1)
    gathered, handle = run_collective(
        "all_gather",
        lambda: collective.all_gather(flat, process_group.name),
        (flat, [], process_group.name),
        async_op,
    )
    return _copy_into_all(targets, gathered, handle, "all_gather")


def _copy_into_all(
    targets: list[torch.Tensor], rows: torch.Tensor | None, handle: Handle, owner: str
) -> Handle:
    """Copy the rows of a result into the tensors of a list."""
    assert rows is not None
    wrong = [t for t in targets if t.numel() != rows.shape[1] or t.dtype != rows.dtype]
    if wrong:
        raise ArgumentValueError(
            f"For '{owner}', the tensors of the list must have {rows.shape[1]} elements of {rows.dtype}, but one is "
            f"{tuple(wrong[0].shape)} of {wrong[0].dtype}."
        )

    def write() -> None:
        with torch.no_grad():
            for target, part in zip(targets, rows, strict=True):
                target.copy_(part.reshape(target.shape))

    if handle is None or handle._pending is None:
        write()
        return handle
    return CommHandle(handle._pending, write)


def _check_length(values: list[Any], size: int, name: str, owner: str) -> None:
    if len(values) != size:
        raise ArgumentValueError(
            f"For '{owner}', '{name}' must have a tensor for each of {size} processes, but it has {len(values)}."
        )


@public("mint.distributed")
def gather(
    tensor: Tensor, gather_list: Any, dst: int = 0, group: str | None = None, async_op: bool = False
) -> Handle:
    """Gather the tensor of each process into a list of tensors at rank `dst`."""
    process_group, x = group_of(group, "gather"), to_torch(tensor, "tensor", "gather").detach()
    root, flat = rank_in_group(process_group, dst, "dst", "gather"), x.reshape(1, -1)
    args = (flat, root, process_group.name)
    gathered, handle = run_collective("gather", lambda: collective.gather(*args), args, async_op)
    if process_group.rank != root:
        return handle
    targets = to_torch_list(gather_list, "gather_list", "gather")
    _check_length(targets, process_group.size, "gather_list", "gather")
    return _copy_into_all(targets, gathered, handle, "gather")


@public("mint.distributed")
def scatter(
    tensor: Tensor, scatter_list: Any, src: int = 0, group: str | None = None, async_op: bool = False
) -> Handle:
    """Scatter a list of tensors at rank `src`, one per process, into `tensor`."""
    process_group, target = group_of(group, "scatter"), to_torch(tensor, "tensor", "scatter")
    root = rank_in_group(process_group, src, "src", "scatter")
    if process_group.rank == root:
        parts = to_torch_list(scatter_list, "scatter_list", "scatter")
        _check_length(parts, process_group.size, "scatter_list", "scatter")
        rows = torch.stack([part.detach().reshape(-1) for part in parts])
    else:
        rows = target.new_empty((process_group.size, target.numel()))
    args = (rows, root, process_group.name)
    return copy_into(
        target, *run_collective("scatter", lambda: collective.scatter(*args), args, async_op), "scatter"
    )


@public("mint.distributed")
def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False
) -> Handle:
    """Sum over the processes; each keeps its equal part of the first axis in `output`."""
    return _reduce_scatter(output, to_torch(input, "input", "reduce_scatter_tensor"), (), op, group, async_op,
                      "reduce_scatter_tensor")  # fmt: skip


@public("mint.distributed")
def reduce_scatter_tensor_uneven(
    output: Tensor,
    input: Tensor,
    input_split_sizes: Any = None,
    op: str = "sum",
    group: str | None = None,
    async_op: bool = False,
) -> Handle:
    """Sum over the processes; `input_split_sizes` are the numbers of rows that the processes keep."""
    owner, sizes = "reduce_scatter_tensor_uneven", list(input_split_sizes or ())
    return _reduce_scatter(output, to_torch(input, "input", owner), sizes, op, group, async_op, owner)


@public("mint.distributed")
def reduce_scatter(
    output: Tensor, input_list: Any, op: str = "sum", group: str | None = None, async_op: bool = False
) -> Handle:
    """Sum the tensors of a list over the processes; each process keeps its own in `output`."""
    parts = to_torch_list(input_list, "input_list", "reduce_scatter")
    rows = torch.stack([part.reshape(-1) for part in parts])
    return _reduce_scatter(output, rows, (), op, group, async_op, "reduce_scatter")


def _reduce_scatter(
    output: Any, x: torch.Tensor, sizes: Any, op: str, group: Any, async_op: bool, owner: str
) -> Handle:
    process_group, target, data = group_of(group, owner), to_torch(output, "output", owner), x.detach()
    outcome = run_collective(
        "reduce_scatter",
        lambda: collective.reduce_scatter(data, op, process_group.name, sizes),
        (data, list(sizes), op, process_group.name),
        async_op,
    )
    return copy_into(target, *outcome, owner)


@public("mint.distributed")
def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: str | None = None, async_op: bool = False
) -> Handle:
    """Send one tensor to each process, and receive one from each into the tensors of a list."""
    process_group = group_of(group, "all_to_all")
    targets = to_torch_list(output_tensor_list, "output_tensor_list", "all_to_all")
    sent = [tensor.detach() for tensor in to_torch_list(input_tensor_list, "input_tensor_list", "all_to_all")]
    shapes = [tuple(target.shape) for target in targets]
    received, handle = functions.all_to_all_lists(sent, shapes, process_group, async_op)

    def write() -> None:
        with torch.no_grad():
            for target, part in zip(targets, received, strict=True):
                target.copy_(part)

    if handle is None or handle._pending is None:
        write()
        return handle
    return CommHandle(handle._pending, write)


@public("mint.distributed")
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: str | None = None,
    async_op: bool = False,
) -> Handle:
    """Send rows of a tensor to each process, and receive rows from each into `output`."""
    process_group, target = (
        group_of(group, "all_to_all_single"),
        to_torch(output, "output", "all_to_all_single"),
    )
    x = to_torch(input, "input", "all_to_all_single").detach()
    outcome = functions.all_to_all_rows(
        x,
        tuple(target.shape),
        output_split_sizes,
        input_split_sizes,
        process_group,
        async_op,
        "all_to_all_single",
    )
    return copy_into(target, *outcome, "all_to_all_single")


@public("mint.distributed")
def barrier(group: str | None = None, async_op: bool = False, device_ids: Any = None) -> Handle:
    """Block until every process of the group has reached the barrier."""
    name = group_of(group, "barrier").name
    return run_collective("barrier", lambda: collective.barrier(name), (torch.empty(0), name), async_op)[1]
