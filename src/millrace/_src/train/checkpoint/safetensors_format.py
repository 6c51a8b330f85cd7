"""``.safetensors`` files: a JSON header with name, dtype, shape and byte range of each tensor, then the bytes.

Every number of the header is checked against the size of the file before memory is allocated. Files are written through
the same atomic path as ``.ckpt`` files, byte for byte as the ``safetensors`` library orders them.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import torch

from millrace._src.core.errors import ArgumentTypeError, CheckpointError

from .atomic_file import AtomicFile
from .state_entries import TEXT, StateEntry, raw

__all__ = ["TensorEntry", "checksum_fits", "read", "read_header", "write"]

# The library refuses longer headers.
_LONGEST_HEADER = 100_000_000
_MOST_DIMS = 64
_METADATA = "__metadata__"

# dtype in the file -> dtype of PyTorch and dtype name of a checkpoint, in the order in which the library sorts tensors.
_DTYPES: dict[str, tuple[torch.dtype, str]] = {
    "BOOL": (torch.bool, "Bool"),
    "U8": (torch.uint8, "UInt8"),
    "I8": (torch.int8, "Int8"),
    "I16": (torch.int16, "Int16"),
    "U16": (torch.uint16, "UInt16"),
    "F16": (torch.float16, "Float16"),
    "BF16": (torch.bfloat16, "BFloat16"),
    "I32": (torch.int32, "Int32"),
    "U32": (torch.uint32, "UInt32"),
    "F32": (torch.float32, "Float32"),
    "C64": (torch.complex64, "Complex64"),
    "F64": (torch.float64, "Float64"),
    "I64": (torch.int64, "Int64"),
    "U64": (torch.uint64, "UInt64"),
}
# one-byte dtypes that can be listed but not loaded
_LISTED = ("F8_E5M2", "F8_E4M3", "F8_E8M0")
_NAMES = {dtype: name for name, (dtype, _) in _DTYPES.items()}
_RANKS = {name: rank for rank, name in enumerate(_DTYPES)}


class TensorEntry(NamedTuple):
    """One tensor of a file and its byte range from the start of the file."""

    name: str
    dtype: torch.dtype | None
    type_name: str
    shape: tuple[int, ...]
    start: int
    end: int


# --- writing ------------------------------------------------------------------------------------------------


def write(
    draft: AtomicFile, entries: Sequence[StateEntry], crc: bool = False, remove_redundancy: bool | None = None
) -> None:
    """Write entries, whose tensors are in host memory."""
    tensors: dict[str, torch.Tensor] = {}
    for entry in sorted(entries, key=lambda entry: entry.name):
        if entry.element_type == TEXT or isinstance(entry.data, bytes):
            raise ArgumentTypeError(
                f"For 'save_checkpoint', {entry.name!r} is a str, and a safetensors file holds tensors only; "
                "save it as format='ckpt', or skip it with choice_func."
            )
        if entry.data.dtype not in _NAMES or entry.name == _METADATA:
            raise ArgumentTypeError(
                f"save_checkpoint: expected tensors that a safetensors file can hold, got {entry.name!r} of type "
                f"{entry.element_type}. Save it as format='ckpt', or skip it with choice_func."
            )
        tensors[entry.name] = entry.data
    about = {"format": "ms"}
    if remove_redundancy is not None:
        about["remove_redundancy"] = str(remove_redundancy)
    if crc:
        about["crc_num"] = str(_compute_checksum(tensors.items()))
    ordered = sorted(tensors.items(), key=lambda item: (-_RANKS[_NAMES[item[1].dtype]], item[0]))
    header: dict[str, Any] = {_METADATA: about} if tensors else {}
    end = 0
    for name, tensor in ordered:
        start, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    draft.write(len(text).to_bytes(8, "little") + text)
    for _, tensor in ordered:
        draft.write(raw(tensor))


# --- reading ------------------------------------------------------------------------------------------------


def read(
    path: Path, choice: Callable[[str], Any] | None = None
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Read the chosen tensors of a file by sorted name, and its metadata."""
    with path.open("rb", buffering=0) as file:
        slots, about = read_header(file)
        tensors = {
            slot.name: _read_tensor(file, slot)
            for slot in sorted(slots, key=lambda slot: slot.name)
            if choice is None or choice(slot.name)
        }
    return tensors, about


def checksum_fits(path: Path) -> bool | None:
    """Whether the checksum of a file matches its tensors; None without a checksum."""
    with path.open("rb", buffering=0) as file:
        slots, about = read_header(file)
        if "crc_num" not in about:
            return None
        ordered = sorted(slots, key=lambda slot: slot.name)
        return (
            str(_compute_checksum((slot.name, _read_tensor(file, slot)) for slot in ordered))
            == about["crc_num"]
        )


def read_header(file: BinaryIO | Any) -> tuple[list[TensorEntry], dict[str, str]]:
    """The tensors that a file holds, and its metadata; every length is checked against the size of the file."""
    size = os.fstat(file.fileno()).st_size
    file.seek(0)
    prefix = file.read(8)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise _damage_error(f"a header of {length} bytes, the file has {size}")
    text = file.read(length)
    if len(text) != length:
        raise _damage_error(f"a header of {length} bytes, {len(text)} could be read")
    try:
        header = json.loads(text, object_pairs_hook=_parse_object)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise _damage_error(f"a header that is not JSON ({error})") from None
    if not isinstance(header, dict):
        raise _damage_error("a header that is not a JSON object")
    about = header.pop(_METADATA, {})
    if not isinstance(about, dict) or not all(isinstance(value, str) for value in about.values()):
        raise _damage_error("metadata that are not texts")
    first = 8 + length
    slots = [_parse_entry(name, value, first) for name, value in header.items()]
    end = first
    for slot in sorted(slots, key=lambda slot: (slot.start, slot.end)):
        if slot.start != end:
            raise _damage_error(f"{slot.name!r} at byte {slot.start}, the tensor before it ends at {end}")
        end = slot.end
    if end != size:
        raise _damage_error(f"tensors up to byte {end}, the file has {size}")
    return slots, about


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name occurs twice")
    return members


def _parse_entry(name: str, value: Any, first: int) -> TensorEntry:
    if not isinstance(value, dict):
        raise _damage_error(f"{name!r} is no description of a tensor")
    dtype: Any = value.get("dtype")
    shape: Any = value.get("shape")
    offsets: Any = value.get("data_offsets")
    if not isinstance(dtype, str) or (dtype not in _DTYPES and dtype not in _LISTED):
        raise _damage_error(f"{name!r} has the dtype {str(dtype)[:40]!r}, which no file has")
    if not _is_size_list(shape) or len(shape) > _MOST_DIMS or not _is_size_list(offsets) or len(offsets) != 2:
        raise _damage_error(
            f"{name!r} has the shape {str(shape)[:60]} and the byte range {str(offsets)[:60]}"
        )
    torch_dtype, type_name = _DTYPES.get(dtype, (None, dtype))
    count = math.prod(shape) * (1 if torch_dtype is None else torch_dtype.itemsize)
    if math.prod(filter(None, shape)) >= 1 << 62 or offsets[1] - offsets[0] != count:
        raise _damage_error(
            f"{name!r} is {dtype}{str(shape)[:60]} and has the byte range {str(offsets)[:60]}"
        )
    return TensorEntry(name, torch_dtype, type_name, tuple(shape), first + offsets[0], first + offsets[1])


def _is_size_list(value: Any) -> bool:
    return isinstance(value, list) and all(type(count) is int and 0 <= count < 1 << 62 for count in value)


def _damage_error(got: str) -> CheckpointError:
    return CheckpointError(f"expected a whole safetensors file, got {got}. The file is damaged or cut off")


def _read_tensor(file: Any, slot: TensorEntry) -> torch.Tensor:
    if slot.dtype is None:
        raise CheckpointError(
            f"expected a dtype that can be loaded, got {slot.type_name} for {slot.name!r}. Load the other tensors with "
            "choice_func"
        )
    memory = torch.empty(slot.end - slot.start, dtype=torch.uint8)
    array: Any = memory.numpy()
    target = memoryview(array)
    file.seek(slot.start)
    done = 0
    while done < len(target):
        count = file.readinto(target[done : done + (1 << 30)])
        if not count:
            raise _damage_error(f"the end of the file in {slot.name!r}")
        done += count
    return memory.view(slot.dtype).reshape(slot.shape)


def _compute_checksum(tensors: Any) -> int:
    total = 0
    for name, tensor in tensors:
        total = zlib.crc32(_checksum_bytes(tensor), zlib.crc32(name.encode("utf-8", "surrogatepass"), total))
    return total


def _checksum_bytes(tensor: torch.Tensor) -> bytes | memoryview:
    """Bytes of a tensor for MindSpore's checksum: its data, but n zeros for a single integer n.

    This is the result of Python's ``bytes(array)``, which MindSpore uses. Where MindSpore fails (negative numbers, or
    gigabytes of zeros), the real bytes are used.
    """
    if not tensor.ndim and tensor.dtype is not torch.bool and not tensor.is_floating_point():
        count = 0 if tensor.is_complex() else int(tensor)
        if 0 <= count <= 1 << 28 and not tensor.is_complex():
            return bytes(count)
    return raw(tensor)


def list_tensors(path: Path) -> list[tuple[str, str, tuple[int, ...], int]]:
    """(name, type, shape, bytes) of each tensor, as the header describes them."""
    with path.open("rb", buffering=0) as file:
        slots, _ = read_header(file)
    return [(slot.name, slot.type_name, slot.shape, slot.end - slot.start) for slot in slots]
