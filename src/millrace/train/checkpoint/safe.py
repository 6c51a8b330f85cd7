"""``.safetensors`` files, through the library of that name: mapped, and without a pickle."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from millrace.core.errors import ArgumentTypeError, CheckpointError
from millrace.core.optional import require

from .entries import TEXT, Entry, raw

__all__ = ["read", "read_crc", "write"]


def _library(module: str = "safetensors") -> Any:
    return require(module, extra="train", purpose="safetensors files")


def write(
    path: Path, entries: Sequence[Entry], crc: bool = False, remove_redundancy: bool | None = None
) -> None:
    """Write entries, whose tensors are in host memory, in the order of their names."""
    tensors: dict[str, torch.Tensor] = {}
    for entry in sorted(entries):
        if entry.kind == TEXT or isinstance(entry.data, bytes):
            raise ArgumentTypeError(
                f"For 'save_checkpoint', {entry.name!r} is a str, and a safetensors file holds tensors only; "
                "save it as format='ckpt', or leave it out with choice_func."
            )
        # the library refuses two names for one memory
        shared = any(entry.data.data_ptr() == other.data_ptr() for other in tensors.values() if other.numel())
        tensors[entry.name] = entry.data.clone() if shared else entry.data
    about = {"format": "ms"}
    if remove_redundancy is not None:
        about["remove_redundancy"] = str(remove_redundancy)
    if crc:
        about["crc_num"] = str(_checksum(tensors, tensors.__getitem__))
    torched = _library("safetensors.torch")
    try:
        torched.save_file(tensors, str(path), metadata=about if tensors else None)
    except _library().SafetensorError as error:
        # the library wraps what the system says; the number in its text is all that is left of it
        raise _system(error) from error


def _system(error: Exception) -> OSError:
    import errno
    import os
    import re

    found = re.search(r"os error (\d+)", str(error))
    number = int(found[1]) if found else errno.EIO
    return OSError(number, os.strerror(number) if found else str(error))


def read(
    path: Path, choice: Callable[[str], Any] | None = None
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """The tensors of a file by name, sorted, in memory of their own; and what is said about it."""
    found = {}
    try:
        with _library().safe_open(str(path), framework="pt") as file:
            about = dict(file.metadata() or {})
            for name in sorted(file.keys()):
                if choice is None or choice(name):
                    found[name] = file.get_tensor(name).clone()
    except _library().SafetensorError as error:
        raise CheckpointError(f"this is no whole safetensors file: {error}") from None
    return found, about


def read_crc(path: Path) -> bool | None:
    """Whether the checksum of a file fits its tensors; None where it has none."""
    with _library().safe_open(str(path), framework="pt") as file:
        kept = (file.metadata() or {}).get("crc_num")
        if kept is None:
            return None
        return str(_checksum(sorted(file.keys()), file.get_tensor)) == kept


def _checksum(names: Any, get: Callable[[str], torch.Tensor]) -> int:
    sum_ = 0
    for name in names:
        sum_ = zlib.crc32(_summed(get(name)), zlib.crc32(name.encode(), sum_))
    return sum_


def _summed(tensor: torch.Tensor) -> bytes | memoryview:
    """What MindSpore's checksum takes of a tensor: its bytes, but of a single integer n that many zeros.

    That is what Python's ``bytes(array)`` gives, and both sides must count alike. Where MindSpore itself could not
    (below zero, or gigabytes of zeros), the true bytes are taken.
    """
    if not tensor.ndim and tensor.dtype is not torch.bool and not tensor.is_floating_point():
        count = 0 if tensor.is_complex() else int(tensor)
        if 0 <= count <= 1 << 28 and not tensor.is_complex():
            return bytes(count)
    return raw(tensor)


def listing(path: Path) -> list[tuple[str, str, tuple[int, ...], int]]:
    """(name, type, shape, bytes) of each tensor, as the head of the file says."""
    import json

    read(path, lambda name: False)  # the library checks the head against the file
    with path.open("rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return [
        (
            name,
            _TYPES.get(one["dtype"], one["dtype"]),
            tuple(one["shape"]),
            one["data_offsets"][1] - one["data_offsets"][0],
        )
        for name, one in head.items()
        if name != "__metadata__"
    ]


_TYPES = {
    "BOOL": "Bool", "U8": "UInt8", "I8": "Int8", "U16": "UInt16", "I16": "Int16", "U32": "UInt32", "I32": "Int32",
    "U64": "UInt64", "I64": "Int64", "F16": "Float16", "BF16": "BFloat16", "F32": "Float32", "F64": "Float64",
}  # fmt: skip
