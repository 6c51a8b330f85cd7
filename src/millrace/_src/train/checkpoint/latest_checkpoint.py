"""Where ``Model.train(..., resume=...)`` goes on: the newest good file of a folder, or the one that was named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, CheckpointError
from millrace._src.core.io.remote import is_remote, remote_glob
from millrace._src.core.log import get_logger
from millrace._src.runtime.nn.cell import Cell
from millrace._src.train.callbacks.callback import as_list
from millrace._src.train.epoch_iterator import TrainingPosition

from .run_folder import ENDINGS, ForeignRun, Run, describe, run_in
from .training_state import restore

__all__ = ["restore_latest", "resumed"]

log = get_logger(__name__)


@contextmanager
def resumed(
    place: str | None, train_network: Cell, parts: tuple[Cell, Any, Any], callbacks: Any = None
) -> Iterator[tuple[Run, tuple[str, TrainingPosition] | None]]:
    """The identity of a training, and where it stands; a folder that it resumes from is locked until the block ends.

    ``parts`` are its network, optimizer and loss. Encrypted files are read with the key that ``callbacks`` write with.
    """
    key = None if place is None else _key_of(callbacks)
    with run_in(place, {} if place is None else describe(*parts)) as run:
        found = None if place is None else restore_latest(place, train_network, run, key)
        run.confirm()
        yield run, found


def _key_of(callbacks: Any) -> bytes | None:
    """The key of the training files that the callbacks write; None where these are not encrypted."""
    keys = {
        key for callback in as_list(callbacks) if (key := getattr(callback, "resume_key", None)) is not None
    }
    if len(keys) > 1:
        raise ArgumentValueError(
            f"Model.train: expected one enc_key for the files to resume from, got {len(keys)}. Give every "
            "ModelCheckpoint the same enc_key"
        )
    return next(iter(keys), None)


def restore_latest(
    place: str, network: Cell, run: Run | None = None, key: bytes | None = None
) -> tuple[str, TrainingPosition] | None:
    """Put a saved training back into its network: the file it came from, and where it stood.

    None for a folder without checkpoints: the training begins. A file of a folder that is torn is passed over, which
    is said. A file of another run than ``run`` is refused; a file that was named is taken as it is.
    """
    if not isinstance(place, str):
        raise ArgumentTypeError(
            f"'resume' must be the name of a checkpoint, or of a folder of them, but got {place!r}."
        )
    if place.endswith(ENDINGS) and not os.path.isdir(place):
        return _loaded(place, network, run, key, explicit=True)
    refused = None
    for file in _newest_first(place):
        try:
            return _loaded(file, network, run, key, explicit=False)
        except ForeignRun:
            raise
        except CheckpointError as error:
            log.warning("%s", error)
            refused = refused or error
    if refused is not None:
        raise refused
    return None


def _loaded(
    file: str, network: Cell, run: Run | None, key: bytes | None, explicit: bool
) -> tuple[str, TrainingPosition]:
    def accept(saved: dict[str, Any] | None) -> None:
        if run is not None:
            run.accept(saved, file, explicit)

    found = restore(file, [network], key, accept)
    if found.data is None and found.step_in_epoch:
        raise CheckpointError(
            f"{file} was saved in the middle of an epoch whose data could not tell their place, so that the run cannot "
            "go on from it. Train on a dataset, or save at the end of epochs."
        )
    name = file if is_remote(file) else os.path.realpath(file)
    kept = found.extra.get("callbacks", {}) if isinstance(found.extra, dict) else {}
    if not isinstance(kept, dict) or not all(isinstance(facts, dict) for facts in kept.values()):
        raise CheckpointError(f"{file}: what its callbacks kept is damaged.")
    place = TrainingPosition(found.epoch, found.step, found.step_in_epoch, found.data, kept, found.callbacks)
    return name, place


def _newest_first(folder: str) -> list[str]:
    if is_remote(folder):
        # an object has no time that all stores tell alike: epoch and step in its name say which is newer
        found = [file for file in remote_glob(f"{folder.rstrip('/')}/*") if file.endswith(ENDINGS)]
        return sorted(found, key=_numbers, reverse=True)
    if not os.path.isdir(folder):
        return []
    entries = [entry for entry in os.scandir(folder) if entry.name.endswith(ENDINGS)]
    return [entry.path for entry in sorted(entries, key=lambda e: e.stat().st_mtime_ns, reverse=True)]


def _numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name.rpartition("/")[2])]
