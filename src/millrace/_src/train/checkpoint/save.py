"""Save checkpoints: ``save_checkpoint``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.io import encrypted_stream
from millrace._src.core.io import encryption as sealed
from millrace._src.core.public import public

from . import async_writer as background
from . import ckpt_format as ckpt
from . import safetensors_format as safe
from . import staging as copying
from .atomic_file import atomic_write
from .checkpoint_path import FORMATS, atomic_upload, resolve_save_path
from .state_entries import StateEntry, append_dict_entries, entries_of, on_host

__all__ = [
    "async_ckpt_thread_status",
    "check_cipher",
    "check_options",
    "save_checkpoint",
    "wait_for_checkpoints",
]


@public("train", "millrace")
def save_checkpoint(
    save_obj: Any,
    ckpt_file_name: str,
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: dict[str, Any] | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: Callable[[str], Any] | None = None,
    crc_check: bool = False,
    format: str = "ckpt",
    **kwargs: Any,
) -> None:
    """Write the parameters of a Cell, or a list or dict of them, to a file that MindSpore can read.

    The write is atomic: a killed process leaves the old file or the new one. With ``async_save`` (True, "thread" or
    "process": all use a thread, which releases the GIL while it writes) the values are copied and the call returns; the
    next save waits for it, and raises its error. In a training by ``Model`` large values are copied while the next step
    computes, and the first write to them waits for the copy.

    With ``enc_key`` the file is encrypted. ``enc_mode`` "AES-GCM", "AES-CBC" and "SM4-CBC" write MindSpore's format.
    "AES-GCM" then detects a changed block, and the two others not even that. None of them detects 64 MiB blocks that
    were exchanged, repeated or dropped, or blocks of another file with the same key. "AES-GCM-STREAM" detects all of
    these, and only Millrace reads it.

    >>> from millrace import Parameter, Tensor
    >>> save_checkpoint([Parameter(Tensor([1.0, 2.0]), name="w")], "net.ckpt", append_dict={"epoch_num": 3})
    >>> from millrace.train import load_checkpoint
    >>> {name: value.asnumpy().tolist() for name, value in load_checkpoint("net.ckpt").items()}
    {'w': [1.0, 2.0], 'epoch_num': 3}
    """
    if format not in FORMATS:
        raise ArgumentValueError(
            f"For 'save_checkpoint', the format must be 'safetensors' or 'ckpt', but got {format}."
        )
    entries = entries_of(save_obj, choice_func)
    name = resolve_save_path(ckpt_file_name, format)
    check_options(integrated_save, async_save, enc_key, enc_mode, crc_check, format)
    redundancy = kwargs.get("remove_redundancy")
    if not isinstance(redundancy, (bool, type(None))):
        raise ArgumentValueError(
            f"The parameter 'remove_redundancy' must be isinstance of {(type(None), bool)}, but got {redundancy}."
        )
    later = {entry.name: entry for entry in append_dict_entries(append_dict)}
    entries = [later.pop(entry.name, entry) for entry in entries] + list(later.values())
    write = functools.partial(
        _write,
        name,
        by_rows=bool(async_save),
        key=enc_key,
        mode=enc_mode,
        crc=crc_check,
        format=format,
        redundancy=redundancy,
    )
    background.wait_for_save()
    if async_save:
        copies, left = copying.stage_entries(entries)
        background.start_async_save(functools.partial(write, copies), name, left)
    else:
        write([_to_host(entry) for entry in entries])


def _to_host(entry: StateEntry) -> StateEntry:
    return entry if isinstance(entry.data, bytes) else entry._replace(data=on_host(entry.data))


def _write(
    name: str,
    entries: Sequence[StateEntry],
    by_rows: bool,
    key: bytes | None,
    mode: str,
    crc: bool,
    format: str,
    redundancy: bool | None,
) -> None:
    with atomic_upload(name) as path, atomic_write(path, ckpt.total(entries)) as draft:
        if format == "safetensors":
            safe.write(draft, entries, crc, redundancy)
        else:
            ckpt.write(draft, entries, by_rows, key, mode, crc)


def check_options(integrated: Any, asynchronous: Any, key: Any, mode: Any, crc: Any, format: str) -> None:
    """Check the options and their combinations."""
    if not isinstance(integrated, bool):
        raise ArgumentTypeError(f"The input value must be a bool, but got {type(integrated).__name__}.")
    if not isinstance(asynchronous, (bool, str)):
        raise ArgumentTypeError(
            "For 'save_checkpoint', the parameter 'async_save' must be bool or str, "
            f"but got {type(asynchronous)}."
        )
    if isinstance(asynchronous, str) and asynchronous not in ("process", "thread"):
        raise ArgumentValueError(
            "For 'save_checkpoint', the argument 'async_save' can only be 'process' or 'thread',"
            f"but got {asynchronous}."
        )
    check_cipher(key, mode, "enc")
    if not isinstance(crc, bool):
        raise ArgumentValueError(f"The parameter 'crc_check' must be isinstance of {bool}, but got {crc}.")
    if format == "safetensors":
        for option, value, default in (("enc_key", key, None), ("enc_mode", mode, "AES-GCM")):
            if value != default:
                raise ArgumentValueError(
                    f"For 'save_checkpoint', when format is 'safetensors', the parameter '{option}' must be set to "
                    f"default value '{default}', but got '{value}'."
                )
    elif crc and key is not None:
        raise ArgumentValueError(
            "For 'save_checkpoint', crc_check=True and enc_key exclude each other: MindSpore writes a file that "
            "nothing can load. Omit crc_check; with enc_mode='AES-GCM-STREAM' the whole file is verified when it "
            "is loaded."
        )


def check_cipher(key: Any, mode: Any, prefix: str) -> None:
    """Check the key and the mode of encryption."""
    if not isinstance(key, (bytes, type(None))):
        raise ArgumentValueError(
            f"The parameter '{prefix}_key' must be isinstance of {(type(None), bytes)}, but got {key}."
        )
    if not isinstance(mode, str):
        raise ArgumentValueError(
            f"The parameter '{prefix}_mode' must be isinstance of {str}, but got {mode}."
        )
    if key is None:
        return
    modes = (*sealed.MODES, encrypted_stream.MODE)
    if mode not in modes:
        raise ArgumentValueError(f"The parameter '{prefix}_mode' must be one of {modes}, but got {mode!r}.")
    lengths = (16,) if mode == "SM4-CBC" else (16, 24, 32)
    if len(key) not in lengths:
        raise ArgumentValueError(
            f"The parameter '{prefix}_key' must have {' or '.join(map(str, lengths))} bytes for {mode}, "
            f"but got {len(key)}."
        )


@public("train", "millrace")
def async_ckpt_thread_status() -> bool:
    """Whether an asynchronous save is running.

    >>> async_ckpt_thread_status()
    False
    """
    return background.is_saving()


@public("train", "millrace")
def wait_for_checkpoints() -> None:
    """Wait for the save that ``save_checkpoint(..., async_save=True)`` started; raises its error.

    >>> wait_for_checkpoints()
    """
    background.wait_for_save()
