"""``ckpt_to_safetensors`` and ``safetensors_to_ckpt``: convert checkpoint files between formats."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public

from .load import load_checkpoint
from .save import save_checkpoint

__all__ = ["ckpt_to_safetensors", "safetensors_to_ckpt"]


@public("train", "millrace")
def ckpt_to_safetensors(
    file_path: str,
    save_path: str | None = None,
    name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Write ``.safetensors`` next to a ``.ckpt``, or next to each one in the folders ``rank*`` of a folder.

    `save_path` is another target folder, `name_map` renames parameters, `file_name_regex` selects files. Strings, which
    safetensors cannot hold, are skipped; MindSpore fails on them. `processes_num` is accepted and ignored: the disk is
    the bottleneck.

    >>> from millrace import nn
    >>> save_checkpoint(nn.Dense(2, 1), "net.ckpt")
    >>> ckpt_to_safetensors("net.ckpt", name_map={"weight": "w"})
    >>> list(load_checkpoint("net.safetensors", format="safetensors"))
    ['bias', 'w']
    """
    _convert_files(
        "ckpt_to_safetensors", "ckpt", "safetensors", file_path, save_path, name_map, file_name_regex
    )


@public("train", "millrace")
def safetensors_to_ckpt(
    file_path: str,
    save_path: str | None = None,
    name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Write ``.ckpt`` next to a ``.safetensors``, or next to each one in the folders ``rank*`` of a folder.

    The arguments are those of :func:`ckpt_to_safetensors`.

    >>> from millrace import nn
    >>> save_checkpoint(nn.Dense(2, 1), "net.safetensors", format="safetensors")
    >>> safetensors_to_ckpt("net.safetensors")
    >>> list(load_checkpoint("net.ckpt"))
    ['bias', 'weight']
    """
    _convert_files(
        "safetensors_to_ckpt", "safetensors", "ckpt", file_path, save_path, name_map, file_name_regex
    )


def _convert_files(
    who: str, old: str, new: str, path: Any, save_path: Any, names: Any, pattern: str | None
) -> None:
    if not isinstance(path, str) or not os.path.exists(path):
        raise ArgumentValueError(f"For '{who}', the input path must be a valid path or file, but got {path}")
    if save_path and os.path.splitext(save_path)[1]:
        raise ArgumentValueError(f"For '{who}', the save_path must be a directory, but got '{save_path}'")
    if names is not None and not isinstance(names, dict):
        raise ArgumentValueError(
            f"For '{who}', the type of 'name_map' must be a dict, but got '{type(names)}'"
        )
    for file, folder in _list_files(who, old, path, save_path, pattern):
        os.makedirs(folder, exist_ok=True)
        values = load_checkpoint(file, format=old)
        if new == "safetensors":
            values = {name: value for name, value in values.items() if not isinstance(value, (str, list))}
        renamed = {(names or {}).get(name, name): value for name, value in values.items()}
        name = os.path.basename(file).replace(f".{old}", f".{new}")
        save_checkpoint(renamed, os.path.join(folder, name), format=new)


def _list_files(
    who: str, old: str, path: str, save_path: str | None, pattern: str | None
) -> Iterator[tuple[str, str]]:
    """The files to read and their target folders."""
    if os.path.isfile(path):
        if not path.endswith(f".{old}"):
            raise ArgumentValueError(f"For '{who}', the input file must be a .{old} file, but got {path}")
        if pattern is not None and not re.search(pattern, path):
            raise ArgumentValueError(f"For '{who}', the input file does not match the regular expression.")
        yield path, save_path or os.path.dirname(path) or "."
        return
    ranks = sorted(
        entry.name for entry in os.scandir(path) if entry.is_dir() and entry.name.startswith("rank")
    )
    if not ranks:
        raise ArgumentValueError(f"For '{who}', no directories starting with 'rank' found in {path}")
    for rank in ranks:
        folder = os.path.join(path, rank)
        for name in sorted(os.listdir(folder)):
            if name.endswith(f".{old}") and (pattern is None or re.search(pattern, name)):
                yield os.path.join(folder, name), os.path.join(save_path, rank) if save_path else folder
