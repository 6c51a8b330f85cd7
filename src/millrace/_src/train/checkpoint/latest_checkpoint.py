"""Checkpoint of ``Model.train(..., resume=...)``: the newest intact file of a folder, or a named file."""

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
from millrace._src.train.callbacks.callback import check_callbacks
from millrace._src.train.epoch_iterator import TrainingPosition

from .run_folder import ENDINGS, ForeignRun, Run, describe, open_run
from .training_state import restore

__all__ = ["restore_latest", "resume_run"]

log = get_logger(__name__)


@contextmanager
def resume_run(
    location: str | None, train_network: Cell, parts: tuple[Cell, Any, Any], callbacks: Any = None
) -> Iterator[tuple[Run, tuple[str, TrainingPosition] | None]]:
    """Identity and position of a resumed training; the folder is locked until the block ends.

    ``parts`` are its network, optimizer and loss. Encrypted files are read with the key of the ``callbacks``.
    """
    key = None if location is None else _key_of(callbacks)
    with open_run(location, {} if location is None else describe(*parts)) as run:
        restored = None if location is None else restore_latest(location, train_network, run, key)
        run.confirm()
        yield run, restored


def _key_of(callbacks: Any) -> bytes | None:
    """The key of the callbacks' training files; None if they are not encrypted."""
    keys = {
        key
        for callback in check_callbacks(callbacks)
        if (key := getattr(callback, "resume_key", None)) is not None
    }
    if len(keys) > 1:
        raise ArgumentValueError(
            f"Model.train: expected one enc_key for the files to resume from, got {len(keys)}. Give every "
            "ModelCheckpoint the same enc_key"
        )
    return next(iter(keys), None)


def restore_latest(
    location: str, network: Cell, run: Run | None = None, key: bytes | None = None
) -> tuple[str, TrainingPosition] | None:
    """Restore a saved training into its network; returns the file and the position.

    None for a folder without checkpoints: the training starts from the beginning. Damaged files of a folder are skipped
    with a warning. A file of another run than ``run`` is refused; an explicitly named file is accepted.
    """
    if not isinstance(location, str):
        raise ArgumentTypeError(
            f"'resume' must be the name of a checkpoint, or of a folder of them, but got {location!r}."
        )
    if location.endswith(ENDINGS) and not os.path.isdir(location):
        return _load_file(location, network, run, key, explicit=True)
    refused = None
    for file in _list_newest_first(location):
        try:
            return _load_file(file, network, run, key, explicit=False)
        except ForeignRun:
            raise
        except CheckpointError as error:
            log.warning("%s", error)
            refused = refused or error
    if refused is not None:
        raise refused
    return None


def _load_file(
    file: str, network: Cell, run: Run | None, key: bytes | None, explicit: bool
) -> tuple[str, TrainingPosition]:
    def accept(saved: dict[str, Any] | None) -> None:
        if run is not None:
            run.accept(saved, file, explicit)

    state = restore(file, [network], key, accept)
    if state.data is None and state.step_in_epoch:
        raise CheckpointError(
            f"{file} was saved in the middle of an epoch whose data has no position, so that the run cannot "
            "resume from it. Train on a dataset, or save at the end of epochs."
        )
    name = file if is_remote(file) else os.path.realpath(file)
    kept = state.extra.get("callbacks", {}) if isinstance(state.extra, dict) else {}
    if not isinstance(kept, dict) or not all(isinstance(facts, dict) for facts in kept.values()):
        raise CheckpointError(f"{file}: what its callbacks kept is damaged.")
    position = TrainingPosition(
        state.epoch, state.step, state.step_in_epoch, state.data, kept, state.callbacks
    )
    return name, position


def _list_newest_first(folder: str) -> list[str]:
    if is_remote(folder):
        # modification times of remote objects are not comparable: epoch and step in the name determine the order
        files = [file for file in remote_glob(f"{folder.rstrip('/')}/*") if file.endswith(ENDINGS)]
        return sorted(files, key=_numbers_in_name, reverse=True)
    if not os.path.isdir(folder):
        return []
    entries = [entry for entry in os.scandir(folder) if entry.name.endswith(ENDINGS)]
    return [entry.path for entry in sorted(entries, key=lambda e: e.stat().st_mtime_ns, reverse=True)]


def _numbers_in_name(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name.rpartition("/")[2])]
