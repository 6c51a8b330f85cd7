"""Initialization of process groups: ``init``, ranks and groups on torch.distributed (gloo on CPU, NCCL on
GPUs).
"""

from __future__ import annotations

import atexit
import datetime
import gc
import itertools
import os
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import torch.distributed as dist

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.log import get_logger
from millrace._src.core.public import export_names, public
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed import parallel_context
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP, ProcessGroup
from millrace._src.runtime.tensor.backend.context import get_context, get_device, set_context

from .addresses import connect_store, is_public, loopback_interface, open_store, resolve
from .cluster_environment import ClusterEnvironment, detect_environment
from .rendezvous_file import open_rendezvous_file
from .termination import watch_for_termination

__all__ = [
    "HCCL_WORLD_COMM_GROUP",
    "MCCL_WORLD_COMM_GROUP",
    "NCCL_WORLD_COMM_GROUP",
    "GlobalComm",
    "create_group",
    "destroy_group",
    "get_comm_name",
    "get_group_rank_from_world_rank",
    "get_group_size",
    "get_local_rank",
    "get_local_rank_size",
    "get_process_group_ranks",
    "get_rank",
    "get_world_rank_from_group_rank",
    "init",
    "is_initialized",
    "release",
]

logger = get_logger(__name__)

HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP = groups.WORLD_NAMES

# MindSpore's backend name -> device
_BACKENDS = {"hccl": "Ascend", "nccl": "GPU", "mccl": "CPU"}


@public("communication", "communication.management")
class GlobalComm:
    """Process-wide state of communication: backend, initialization, name of the world group.

    >>> GlobalComm.INITED
    False
    """

    BACKEND: ClassVar[str] = "hccl"
    WORLD_COMM_GROUP: ClassVar[str] = WORLD_GROUP
    INITED: ClassVar[bool] = False
    CHECK_ENVS: ClassVar[bool] = True


# the cluster environment and the store of this process, from `init` on
_session: list[tuple[ClusterEnvironment, Any]] = []
# variables that keep the connections on loopback, set by `_join` and unset by `release`
_loopback_variables: list[str] = []
# number of rendezvous at a file; each has a separate file
_rendezvous_counter = itertools.count(1)


@public("communication.management")
def is_initialized() -> bool:
    """Whether `init` has initialized the process group."""
    return GlobalComm.INITED


@public("communication", "communication.management")
def init(backend_name: str | None = None) -> None:
    """Initialize distributed communication. Every process calls it once, before the first collective
    operation.

    Rank and size are read from the environment: `millrace run`, `torchrun`, `mpirun` and MindSpore's `msrun`
    are supported. A process without a launcher is rank 0 of 1.

    >>> init()
    >>> get_rank(), get_group_size()
    (0, 1)
    >>> release()
    """
    device = str(get_context("device_target"))
    if backend_name is not None and not isinstance(backend_name, str):
        raise ArgumentTypeError(
            f"For 'init', the argument 'backend_name' must be a string, but got the type : {type(backend_name)}"
        )
    if backend_name is not None and backend_name not in (*_BACKENDS, "gloo"):
        raise OperationError(
            "For 'init', the argument 'backend_name' must be one of 'hccl', 'nccl' and 'mccl', but got 'backend_name' "
            f": {backend_name}"
        )
    expected = {"CPU": "mccl", "GPU": "nccl"}.get(device, "mccl")
    if backend_name is not None and backend_name not in (expected, "gloo"):
        raise OperationError(
            f"For 'init', the argument 'backend_name' should be '{expected}' to init '{device}', but got "
            f"'{backend_name}'."
        )
    if GlobalComm.INITED:
        return
    environment = detect_environment()
    library = "nccl" if expected == "nccl" and backend_name != "gloo" else "gloo"
    _join(environment, library, None)


def _join(environment: ClusterEnvironment, library: str, timeout: datetime.timedelta | None) -> None:
    if library == "nccl" and not dist.is_nccl_available():
        raise OperationError(
            "For 'init', this PyTorch was built without NCCL, which GPUs need. Install PyTorch's CUDA build, or "
            "use gloo with init('gloo'). `millrace doctor` lists what is missing."
        )
    if library == "nccl":
        if "DEVICE_ID" not in os.environ:
            set_context(device_id=environment.local_rank)
        torch.cuda.set_device(get_device())
    join_timeout = timeout or datetime.timedelta(minutes=float(os.environ.get("MILLRACE_COMM_TIMEOUT", "30")))
    if environment.role == "scheduler":
        _run_scheduler(environment, join_timeout)
    if environment.one_machine and environment.size > 1:
        _stay_on_loopback()
    try:
        rank, store = _rendezvous(environment, join_timeout)
        # host tensors, such as serialized objects, use gloo
        backends = "cpu:gloo,cuda:nccl" if library == "nccl" else library
        dist.init_process_group(
            backends, store=store, rank=rank, world_size=environment.size, timeout=join_timeout
        )
    except OperationError:
        _leave_loopback()
        raise
    except (RuntimeError, ValueError) as error:
        _leave_loopback()
        raise OperationError(
            f"For 'init', rank {environment.rank} of {environment.size} (started by {environment.launcher}) could not "
            f"join the rendezvous at {environment.file or f'{environment.host}:{environment.port}'}: "
            f"{str(error).splitlines()[0]}. Check that all processes are running and "
            "can reach that address."
        ) from error
    _session[:] = [(environment, store)]
    watch_for_termination(lambda: _session[0][1] if _session else None, rank, environment.size)
    groups.register_group(ProcessGroup(WORLD_GROUP, tuple(range(environment.size)), rank, dist.group.WORLD))
    GlobalComm.INITED = True
    GlobalComm.BACKEND = "nccl" if library == "nccl" else "mccl"
    GlobalComm.WORLD_COMM_GROUP = f"{GlobalComm.BACKEND}_world_group"
    parallel_context.set_world(rank, environment.size)
    logger.info("rank %d of %d is initialized with %s", rank, environment.size, library)


def _rendezvous(environment: ClusterEnvironment, timeout: datetime.timedelta) -> tuple[int, Any]:
    """The rank of this process and the store of the rendezvous."""
    if environment.size == 1:
        return 0, dist.HashStore()
    if environment.file:
        path = f"{environment.file}.{next(_rendezvous_counter)}"
        return environment.rank, open_rendezvous_file(path, environment.rank, environment.size, timeout)
    if environment.rank == 0 and not environment.hosted:
        address = _open_rendezvous_store(environment, timeout)
    else:
        address = connect_store(environment.host, environment.port, timeout)
    # after a restart by the launcher, the store still holds the keys of the former processes
    store = dist.PrefixStore(f"/millrace/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", address)
    rank = environment.rank if environment.rank >= 0 else store.add("ranks", 1) - 1
    return rank, store


def _open_rendezvous_store(environment: ClusterEnvironment, timeout: datetime.timedelta) -> Any:
    """Open the store of the rendezvous. Its address is the user's choice, from the environment."""
    public = [address for address in resolve(environment.host) if is_public(address)]
    if public:
        logger.warning(
            "the rendezvous is at %s, port %d, which is a public address: anyone who reaches it can change the run. "
            "Name an address of a private network in MASTER_ADDR.",
            public[0],
            environment.port,
        )
    return open_store(environment.host, environment.port, timeout, any_address=True)


def _stay_on_loopback() -> None:
    """Bind gloo and NCCL to loopback, unless the user named an interface."""
    interface = loopback_interface()
    for name, value in (("GLOO_SOCKET_IFNAME", interface), ("NCCL_SOCKET_IFNAME", f"={interface}")):
        if interface and name not in os.environ:
            os.environ[name] = value
            _loopback_variables.append(name)


def _leave_loopback() -> None:
    while _loopback_variables:
        os.environ.pop(_loopback_variables.pop(), None)


def _run_scheduler(environment: ClusterEnvironment, timeout: datetime.timedelta) -> None:
    """MindSpore's scheduler role: serve the rendezvous until every worker has left."""
    store = _open_rendezvous_store(environment, timeout)
    for number in range(environment.size):
        store.wait([f"/millrace/0/left/{number}"], datetime.timedelta(days=365))
    sys.exit(0)


@public("communication", "communication.management")
def release() -> None:
    """Destroy all groups. `init` may be called again afterwards.

    >>> release()
    """
    if not GlobalComm.INITED:
        return
    world = groups.world_group()
    GlobalComm.INITED = False
    GlobalComm.BACKEND, GlobalComm.WORLD_COMM_GROUP = "hccl", WORLD_GROUP
    groups.unregister_group()
    parallel_context.clear_world()
    environment, store = _session.pop()
    if environment.launcher == "msrun" and world is not None:
        store.set(f"left/{world.rank}", "1")
    dist.destroy_process_group()
    _leave_loopback()
    if environment.file:
        # the store removes its file when it is garbage-collected; frames of an error may hold it in a cycle
        del store
        gc.collect()


atexit.register(release)


@public("communication", "communication.management")
def create_group(group: str, rank_ids: Sequence[int], options: Any = None) -> None:
    """Create a named group of ranks. Every process of the world calls it, members or not.

    >>> init()
    >>> create_group("pair", [0])
    >>> get_group_size("pair"), get_world_rank_from_group_rank("pair", 0)
    (1, 0)
    >>> destroy_group("pair")
    >>> release()
    """
    _check_group_name("create_group", group)
    if not isinstance(rank_ids, (list, range)):
        raise ArgumentTypeError(
            f"For 'create_group', the argument 'rank_ids' must be type of list, but got 'rank_ids' type : "
            f"{type(rank_ids)}."
        )
    world = groups.get_group(WORLD_GROUP, "create_group")
    ranks = tuple(rank_ids)
    if not ranks:
        raise ArgumentValueError(
            "For 'create_group', the argument 'rank_ids' size should be greater than 1, but got 0."
        )
    if len(set(ranks)) != len(ranks):
        raise ArgumentValueError(f"List rank_ids in Group {group} has duplicate data! {list(ranks)}")
    wrong = [rank for rank in ranks if not isinstance(rank, int) or not 0 <= rank < world.size]
    if wrong:
        raise ArgumentValueError(
            f"For 'create_group', ranks are in [0, {world.size}), but 'rank_ids' has {wrong[0]!r}."
        )
    if group in groups.WORLD_NAMES or group in groups.group_names():
        raise ArgumentValueError(
            f"For 'create_group', the group '{group}' already exists. Choose another name, or call destroy_group first."
        )
    handle = dist.new_group(list(ranks))
    group_rank = ranks.index(world.rank) if world.rank in ranks else -1
    groups.register_group(ProcessGroup(group, ranks, group_rank, handle if group_rank >= 0 else None))


@public("communication", "communication.management")
def destroy_group(group: str) -> None:
    """Destroy a group that `create_group` created."""
    _check_group_name("destroy_group", group)
    if group in groups.WORLD_NAMES:
        groups.get_group(WORLD_GROUP, "destroy_group")
        raise ArgumentValueError("The world group does not support to be destroyed: call release().")
    process_group = groups.get_group(group, "destroy_group")
    groups.unregister_group(group)
    if process_group.handle is not None:
        dist.destroy_process_group(process_group.handle)


@public("communication", "communication.management")
def get_rank(group: str = WORLD_GROUP) -> int:
    """The rank of this process in a group; 0 before `init`.

    >>> get_rank()
    0
    """
    _check_group_name("get_rank", group)
    if not GlobalComm.INITED:
        return 0
    return groups.require_membership(group, "get_rank").rank


@public("communication", "communication.management")
def get_group_size(group: str = WORLD_GROUP) -> int:
    """The number of processes in a group; 1 before `init`.

    >>> get_group_size()
    1
    """
    _check_group_name("get_group_size", group)
    return groups.get_group(group, "get_group_size").size if GlobalComm.INITED else 1


@public("communication", "communication.management")
def get_local_rank(group: str = WORLD_GROUP) -> int:
    """The rank of this process on its machine; 0 before `init`."""
    _check_group_name("get_local_rank", group)
    return _session[0][0].local_rank if GlobalComm.INITED else 0


@public("communication", "communication.management")
def get_local_rank_size(group: str = WORLD_GROUP) -> int:
    """The number of processes on this machine; 1 before `init`."""
    _check_group_name("get_local_rank_size", group)
    return _session[0][0].local_size if GlobalComm.INITED else 1


@public("communication", "communication.management")
def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The world rank of a group rank."""
    _check_group_name("get_world_rank_from_group_rank", group)
    _check_int("get_world_rank_from_group_rank", "group_rank_id", group_rank_id)
    process_group = groups.get_group(group, "get_world_rank_from_group_rank")
    if not 0 <= group_rank_id < process_group.size:
        raise ArgumentValueError(
            f"For 'get_world_rank_from_group_rank', 'group_rank_id' must be in [0, {process_group.size}), but got "
            f"{group_rank_id}."
        )
    return process_group.ranks[group_rank_id]


@public("communication", "communication.management")
def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The group rank of a world rank."""
    _check_group_name("get_group_rank_from_world_rank", group)
    _check_int("get_group_rank_from_world_rank", "world_rank_id", world_rank_id)
    return groups.get_group(group, "get_group_rank_from_world_rank").group_rank(world_rank_id)


@public("communication", "communication.management")
def get_process_group_ranks(group: str = WORLD_GROUP) -> list[int]:
    """The world ranks of a group, in group order."""
    _check_group_name("get_process_group_ranks", group)
    return list(groups.get_group(group, "get_process_group_ranks").ranks)


@public("communication", "communication.management")
def get_comm_name(group: str = WORLD_GROUP) -> str:
    """The backend's name of a group."""
    _check_group_name("get_comm_name", group)
    return str(getattr(groups.require_membership(group, "get_comm_name").handle, "group_name", group))


def _check_group_name(owner: str, group: Any) -> None:
    if not isinstance(group, str):
        raise ArgumentTypeError(
            f"For '{owner}', the argument 'group' must be type of string, but got 'group' type : {type(group)}."
        )


def _check_int(owner: str, name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(
            f"For '{owner}', the argument '{name}' must be type of int, but got '{name}' type : {type(value)}."
        )


export_names(
    __name__, "communication", "HCCL_WORLD_COMM_GROUP", "MCCL_WORLD_COMM_GROUP", "NCCL_WORLD_COMM_GROUP",
)  # fmt: skip
export_names(
    __name__, "communication.management", "HCCL_WORLD_COMM_GROUP", "MCCL_WORLD_COMM_GROUP",
    "NCCL_WORLD_COMM_GROUP",
)  # fmt: skip
