"""Where a checkpoint lies: a local path, or an address such as ``s3://bucket/run/net.ckpt``."""

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
    """The full name of a file to write: with its ending, unless the name ends with those letters already."""
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
    """The full name of a file to read, which is there."""
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
                ". Weights of PyTorch come in with train.load_torch(file, net)"
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
    """The file itself, or for an address a copy of it that is gone after the block."""
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
    """A local path to write, whose file is put where ``name`` says when the block ends well."""
    if not is_remote(name):
        yield Path(name)
        return
    with LockedTemporaryDirectory("upload") as folder:
        target = folder / name.rpartition("/")[2]
        yield target
        upload(target, name)  # an object is there whole or not at all
