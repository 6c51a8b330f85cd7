"""Rank, world size and rendezvous of this process, from the environment variables of its launcher.

Supported launchers are `millrace run` and `torchrun` (RANK, WORLD_SIZE ...), `mpirun` (OMPI_COMM_WORLD_*,
PMI_*), MindSpore's `msrun` (MS_*) and its older scripts (RANK_ID, RANK_SIZE, DEVICE_ID). Without any of them
the world has one process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.core.io.runtime_directory import runtime_directory

from .addresses import is_loopback

__all__ = ["RENDEZVOUS_VARIABLE", "ClusterEnvironment", "detect_environment"]

DEFAULT_PORT = 29500
# set by `millrace run` on one machine: the run id and the folder of the rendezvous file, "id:folder"
RENDEZVOUS_VARIABLE = "MILLRACE_MEETING"


@dataclass(frozen=True)
class ClusterEnvironment:
    """A rank and the rendezvous of the ranks: an address, or a file if all ranks are on one machine."""

    launcher: str
    rank: int  # -1: the rendezvous assigns the rank
    size: int
    local_rank: int
    local_size: int
    host: str = ""
    port: int = 0
    file: str = ""
    # for an address: whether a separate process opens the store instead of rank 0
    hosted: bool = False
    role: str = "worker"
    # whether all ranks are known to be on this machine
    one_machine: bool = False


def detect_environment(env: Mapping[str, str] = os.environ) -> ClusterEnvironment:
    """Read rank, size and rendezvous from environment variables.

    >>> detect_environment(
    ...     {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    ... ).local_rank
    1
    >>> detect_environment({}).size
    1
    """
    for launcher, rank, size, local_rank, local_size in _RANK_VARIABLES:
        if rank in env and size in env:
            return _environment_from_rank_variables(env, launcher, rank, size, local_rank, local_size)
    if "MS_WORKER_NUM" in env:
        return _environment_from_msrun(env)
    if "RANK_ID" in env and "RANK_SIZE" in env:
        return _environment_from_rank_variables(
            env, "RANK_ID and RANK_SIZE", "RANK_ID", "RANK_SIZE", "DEVICE_ID", ""
        )
    return ClusterEnvironment("none", 0, 1, 0, 1)


# launcher, and its variables for rank, size, local rank, local size
_RANK_VARIABLES = (
    ("torchrun or millrace run", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    (
        "mpirun of Open MPI",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    ("mpirun of MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)


def _read_int(env: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = env.get(name, "")
    if not text and default is not None:
        return default
    try:
        return int(text)
    except ValueError:
        raise ArgumentValueError(
            f"The environment variable {name} must be an integer, but it is {text!r}: the launcher sets it. "
            "Unset it to run a single process."
        ) from None


def _environment_from_rank_variables(
    env: Mapping[str, str], launcher: str, rank: str, size: str, local_rank: str, local_size: str
) -> ClusterEnvironment:
    rank_id, num_ranks = _read_int(env, rank), _read_int(env, size)
    if not 0 <= rank_id < num_ranks:
        raise ArgumentValueError(
            f"The environment has {rank}={rank_id} and {size}={num_ranks}: a rank is less than the size."
        )
    local_rank_id, num_local_ranks = (
        _read_int(env, local_rank, rank_id),
        _read_int(env, local_size, num_ranks),
    )
    if "MASTER_ADDR" in env or launcher.startswith(("torchrun", "RANK_ID")):
        host, port = env.get("MASTER_ADDR", "127.0.0.1"), _read_int(env, "MASTER_PORT", DEFAULT_PORT)
        hosted = env.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        local = is_loopback(host) or (bool(env.get(local_size)) and num_local_ranks == num_ranks)
        return ClusterEnvironment(
            launcher,
            rank_id,
            num_ranks,
            local_rank_id,
            num_local_ranks,
            host,
            port,
            _rendezvous_file_of_run(env),
            hosted,
            one_machine=local,
        )
    if num_ranks > 1 and num_local_ranks != num_ranks:
        raise ArgumentValueError(
            f"The processes were started by {launcher} on several machines without a rendezvous address. Name one of "
            "them and a free port of it: mpirun -x MASTER_ADDR=host -x MASTER_PORT=29500 ... (or -genv with MPICH)."
        )
    return ClusterEnvironment(
        launcher,
        rank_id,
        num_ranks,
        local_rank_id,
        num_local_ranks,
        file=_rendezvous_file_of_job(env),
        one_machine=True,
    )


def _rendezvous_file_of_run(env: Mapping[str, str]) -> str:
    """The rendezvous file of this `millrace run` on one machine; "" for ranks of another launcher that it
    started.
    """
    run, _, folder = env.get(RENDEZVOUS_VARIABLE, "").partition(":")
    if not folder or run != env.get("TORCHELASTIC_RUN_ID"):
        return ""
    return os.path.join(folder, f"meet-{_read_int(env, 'TORCHELASTIC_RESTART_COUNT', 0)}")


def _rendezvous_file_of_job(env: Mapping[str, str]) -> str:
    """A file path that only processes of this job derive: from the job id, or from the parent process."""
    job = next(
        (env[name] for name in ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID") if name in env), ""
    )
    name = "".join(letter if letter.isalnum() else "-" for letter in job) or f"parent-{os.getppid()}"
    return str(runtime_directory(make=True, error=OperationError) / f"meet-{name[:128]}")


def _environment_from_msrun(env: Mapping[str, str]) -> ClusterEnvironment:
    """The environment of MindSpore's `msrun`: workers, and a scheduler process that only serves the
    rendezvous.
    """
    missing = [name for name in ("MS_SCHED_HOST", "MS_SCHED_PORT") if name not in env]
    if missing:
        raise ArgumentValueError(
            f"The environment has MS_WORKER_NUM, but not {' and '.join(missing)}: msrun sets them."
        )
    num_ranks, rank_id = _read_int(env, "MS_WORKER_NUM"), _read_int(env, "MS_NODE_ID", -1)
    role = "scheduler" if env.get("MS_ROLE", "MS_WORKER") == "MS_SCHED" else "worker"
    local_rank_id = _read_int(env, "MS_LOCAL_RANK", _read_int(env, "DEVICE_ID", max(rank_id, 0)))
    num_local_ranks = _read_int(env, "MS_LOCAL_WORKER_NUM", num_ranks)
    host, port = env["MS_SCHED_HOST"], _read_int(env, "MS_SCHED_PORT")
    local = is_loopback(host) or ("MS_LOCAL_WORKER_NUM" in env and num_local_ranks == num_ranks)
    return ClusterEnvironment(
        "msrun", rank_id, num_ranks, local_rank_id, num_local_ranks, host, port, "", True, role, local
    )
