"""What PyTorch says of the libraries that connect processes; ``millrace doctor`` reads it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist

__all__ = ["Libraries", "backend_versions", "try_gloo"]


@dataclass(frozen=True)
class Libraries:
    """Versions, and what is built in."""

    torch: str
    cuda: str | None  # of PyTorch's build; None without
    gpus: int  # that PyTorch can use
    gloo: bool
    nccl: tuple[int, ...] | None
    mpi: bool


def backend_versions() -> Libraries:
    """What is installed here."""
    nccl = None
    if dist.is_available() and dist.is_nccl_available():
        version = torch.cuda.nccl.version()
        nccl = version if isinstance(version, tuple) else (version,)
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gloo = dist.is_available() and dist.is_gloo_available()
    mpi = dist.is_available() and dist.is_mpi_available()
    return Libraries(torch.__version__, torch.version.cuda, gpus, gloo, nccl, mpi)


def try_gloo() -> str:
    """Open gloo in this process alone: "" where it works, else why it does not."""
    if dist.is_initialized():
        return ""
    try:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        dist.all_reduce(torch.ones(1))
    except (RuntimeError, ValueError) as error:
        return str(error).strip().partition("\n")[0]
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return ""
