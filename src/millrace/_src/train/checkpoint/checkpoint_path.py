"""Paths of checkpoints: local, or remote such as ``s3://bucket/run/net.ckpt``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, CheckpointError, MillraceError
from millrace._src.core.io.remote import download, is_remote, remote_exists, upload
from millrace._src.core.io.temporary_directory import LockedTemporaryDirectory

__all__ = ["FORMATS", "local_copy", "resolve_load_path", "resolve_save_path", "atomic_upload"]

FORMATS = ("ckpt", "safetensors")


def resolve_save_path(name: Any, format: str) -> str:
    """Full name of a file to write; the extension is appended unless the name already ends with it."""
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"For 'save_checkpoint', the parameter {name} for checkpoint file name is invalid,"
            f"'ckpt_file_name' must be string, but got {type(name)}."
        )
    if not is_remote(name):
        name = os.path.realpath(name)
        if os.path.isdir(name):
            raise IsADirectoryError(
                f"For 'save_checkpoint', the parameter `ckpt_file_name`: {name} is a directory, "
                "it must be a file name."
            )
    return name if name.endswith(format) else f"{name}.{format}"


_TORCH = (".pth", ".pt", ".bin")


def resolve_load_path(name: Any, format: str) -> str:
    """Full name of an existing file to read."""
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"For 'load_checkpoint', the argument 'ckpt_file_name' must be string, but got {type(name)}."
        )
    if format not in FORMATS:
        raise ArgumentValueError(
            "For 'load_checkpoint', the checkpoint file should end with '.ckpt' or '.safetensors', please input the "
            f"correct 'ckpt_file_name'. (The format is {format!r}.)"
        )
    if not name.endswith(format):
        raise ArgumentValueError(
            "For 'load_checkpoint', the checkpoint file format must same with 'format', but got "
            f"file_name:'{name}', format:'{format}'"
            + (
                ". Load weights of PyTorch with train.load_torch(file, network)"
                if name.endswith(_TORCH)
                else ""
            )
        )
    if is_remote(name):
        there = remote_exists(name)
    else:
        name = os.path.realpath(name)
        there = os.path.exists(name)
    if not there:
        raise CheckpointError(
            f"For 'load_checkpoint', the checkpoint file: {name} does not exist, please check whether the "
            "'ckpt_file_name' is correct."
        )
    return name


@contextlib.contextmanager
def local_copy(name: str) -> Iterator[Path]:
    """The local file, or a temporary copy of a remote one."""
    if not is_remote(name):
        yield Path(name)
        return
    with LockedTemporaryDirectory("upload") as folder:
        target = folder / name.rpartition("/")[2]
        try:
            download(name, target)
        except MillraceError as error:
            raise CheckpointError(f"the checkpoint cannot be fetched: {error}") from error
        yield target


@contextlib.contextmanager
def atomic_upload(name: str) -> Iterator[Path]:
    """A local path to write; the file is moved or uploaded to ``name`` when the block succeeds."""
    if not is_remote(name):
        yield Path(name)
        return
    with LockedTemporaryDirectory("upload") as folder:
        target = folder / name.rpartition("/")[2]
        yield target
        upload(target, name)  # object uploads are atomic
