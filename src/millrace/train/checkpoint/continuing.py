"""Where ``Model.train(..., resume=...)`` goes on: the newest good file of a folder, or the one that was named."""

from __future__ import annotations

import os
import re

from millrace.core.errors import ArgumentTypeError, CheckpointError
from millrace.core.log import get_logger
from millrace.core.remote import is_remote, remote_glob
from millrace.nn.cell import Cell
from millrace.train.feeding import Position

from .places import FORMATS
from .resume import load_training

__all__ = ["position_in"]

log = get_logger(__name__)

_ENDINGS = tuple(f".{format}" for format in FORMATS)


def position_in(place: str, network: Cell) -> tuple[str, Position] | None:
    """Put a saved training back into its network: the file it came from, and where it stood.

    None for a folder without checkpoints: the training begins. A file of a folder that is torn is passed over, which
    is said.
    """
    if not isinstance(place, str):
        raise ArgumentTypeError(
            f"'resume' must be the name of a checkpoint, or of a folder of them, but got {place!r}."
        )
    if place.endswith(_ENDINGS) and not os.path.isdir(place):
        return _loaded(place, network)
    refused = None
    for file in _newest_first(place):
        try:
            return _loaded(file, network)
        except CheckpointError as error:
            log.warning("%s", error)
            refused = refused or error
    if refused is not None:
        raise refused
    return None


def _loaded(file: str, network: Cell) -> tuple[str, Position]:
    found = load_training(file, network)
    if found.data is None and found.step_in_epoch:
        raise CheckpointError(
            f"{file} was saved in the middle of an epoch whose data could not tell their place, so that the run cannot "
            "go on from it. Train on a dataset, or save at the end of epochs."
        )
    name = file if is_remote(file) else os.path.realpath(file)
    kept = found.extra if isinstance(found.extra, dict) else {}
    place = Position(
        found.epoch, found.step, found.step_in_epoch, found.data, kept.get("callbacks", {}), found.kept
    )
    return name, place


def _newest_first(folder: str) -> list[str]:
    if is_remote(folder):
        # an object has no time that all stores tell alike: epoch and step in its name say which is newer
        found = [file for file in remote_glob(f"{folder.rstrip('/')}/*") if file.endswith(_ENDINGS)]
        return sorted(found, key=_numbers, reverse=True)
    if not os.path.isdir(folder):
        return []
    entries = [entry for entry in os.scandir(folder) if entry.name.endswith(_ENDINGS)]
    return [entry.path for entry in sorted(entries, key=lambda e: e.stat().st_mtime_ns, reverse=True)]


def _numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name.rpartition("/")[2])]
