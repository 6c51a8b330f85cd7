"""Versions and availability of the communication libraries, for ``millrace doctor``."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist

__all__ = ["Libraries", "backend_versions", "try_gloo"]


@dataclass(frozen=True)
class Libraries:
    """Versions and built-in libraries of PyTorch."""

    torch: str
    cuda: str | None  # of PyTorch's build; None for a CPU build
    gpus: int  # usable by PyTorch
    gloo: bool
    nccl: tuple[int, ...] | None
    mpi: bool


def backend_versions() -> Libraries:
    """Query the installed libraries."""
    nccl = None
    if dist.is_available() and dist.is_nccl_available():
        version = torch.cuda.nccl.version()
        nccl = version if isinstance(version, tuple) else (version,)
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gloo = dist.is_available() and dist.is_gloo_available()
    mpi = dist.is_available() and dist.is_mpi_available()
    return Libraries(torch.__version__, torch.version.cuda, gpus, gloo, nccl, mpi)


def try_gloo() -> str:
    """Initialize gloo in this process; "" on success, else the error text."""
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
