"""Training state files: parameters, optimizer, loss scale, step, random states, data position.

A state file is an ordinary checkpoint that MindSpore can load. Additional values are byte arrays:
``millrace.training`` is JSON, ``millrace.random.*`` are generator states, ``millrace.kept.*`` are callback tensors.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CheckpointError,
    ParameterMismatch,
)
from millrace._src.core.io import encrypted_stream
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.core.random import rng, seeds
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.tensor import rng_state as random
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.storage import wrap

from .checkpoint_path import resolve_load_path
from .load import checkpoint_load_error, read_verified
from .run_folder import Run
from .save import check_cipher, save_checkpoint

__all__ = [
    "NAMESPACE",
    "TrainingState",
    "training_state_entries",
    "position_entries",
    "is_resumable",
    "load_training",
    "restore_cells",
    "restore",
    "save_training",
]

# Reserved prefix of Millrace's entries.
NAMESPACE = "millrace."
_ABOUT = NAMESPACE + "training"
_RANDOM = NAMESPACE + "random."
_KEPT = NAMESPACE + "kept."
# 1: release 0.2. 2: with the identity of the run, and always with a checksum.
_VERSION = 2
_READABLE = (1, 2)

log = get_logger(__name__)


@public("train", "millrace")
@dataclasses.dataclass(frozen=True)
class TrainingState:
    """Position of a saved training, returned by :func:`load_training`.

    ``data`` goes to ``create_dict_iterator(state=...)`` or ``dataset.epochs(n, state=...)``; None if none was saved.
    ``epoch`` counts finished epochs, ``step`` all steps, ``step_in_epoch`` the steps of the current epoch.
    """

    step: int
    epoch: int
    step_in_epoch: int
    data: dict[str, Any] | None
    extra: Any
    # tensors of the callbacks of a Model's training
    callbacks: dict[str, Tensor] = dataclasses.field(default_factory=dict)


@public("train", "millrace")
def save_training(
    ckpt_file_name: str,
    *cells: Cell,
    data: Any = None,
    step: int = 0,
    epoch: int = 0,
    step_in_epoch: int = 0,
    extra: Any = None,
    async_save: bool | str = False,
    format: str = "ckpt",
    enc_key: bytes | None = None,
) -> None:
    """Save everything that a training needs to resume: cells, random states, and the data position.

    ``cells`` are the network, the optimizer and other cells with parameters, or a training step that holds them all;
    ``data`` is the iterator of the batches; ``extra`` is any JSON value. A run that is killed and resumed from this
    file ends with the same bits as an uninterrupted run. The file has a checksum. With ``enc_key`` (16, 24 or 32 bytes)
    it is encrypted in the mode "AES-GCM-STREAM" instead, which verifies the whole file.

    >>> import numpy as np
    >>> import millrace.dataset as ds
    >>> from millrace import nn
    >>> net = nn.Dense(2, 1)
    >>> batches = ds.NumpySlicesDataset(np.ones((6, 2), np.float32)).create_tuple_iterator(num_epochs=1)
    >>> _ = next(batches)
    >>> save_training("run.ckpt", net, data=batches, step=1)
    >>> found = load_training("run.ckpt", net)
    >>> found.step, found.data["delivered"]
    (1, 1)
    """
    if not cells:
        raise ArgumentValueError("For 'save_training', pass the network, followed by the optimizer.")
    values = dict(_named_values(cells))
    for name in values:
        if name.startswith(NAMESPACE):
            raise ArgumentValueError(
                f"For 'save_training', no parameter may be named {name!r}: names with {NAMESPACE!r} are kept for its "
                "own use."
            )
    state_entries = training_state_entries(data, step, epoch, step_in_epoch, extra)
    save_checkpoint(
        [{"name": name, "data": value} for name, value in values.items()],
        ckpt_file_name,
        append_dict=state_entries,
        async_save=async_save,
        enc_key=enc_key,
        enc_mode="AES-GCM" if enc_key is None else encrypted_stream.MODE,
        crc_check=enc_key is None,
        format=format,
    )


def training_state_entries(
    data: Any,
    step: int,
    epoch: int,
    step_in_epoch: int = 0,
    extra: Any = None,
    run: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Additional entries of a training state for ``append_dict``; ``run`` is the identity of the run."""
    about = {
        "version": _VERSION,
        "step": step,
        "epoch": epoch,
        "step_in_epoch": step_in_epoch,
        "data": data.state() if hasattr(data, "state") else data,
        "seed": seeds.get_seed(),
        "globals": rng.global_state(),
        "extra": extra,
        "run": run,
    }
    try:
        text = json.dumps(about)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"For 'save_training', 'data' must be an iterator of a dataset or its state(), and 'extra' a JSON "
            f"value, but got data {type(data).__name__} and extra {extra!r}: {error}."
        ) from None
    entries: dict[str, Any] = {"epoch_num": epoch, "step_num": step}
    entries |= {_RANDOM + name: wrap(state) for name, state in random.get_rng_states().items()}
    return {**entries, _ABOUT: Tensor(np.frombuffer(text.encode(), np.uint8).copy())}


def position_entries(position: Any, run: Run | None = None) -> dict[str, Any]:
    """Entries for the position of a Model's training."""
    about = training_state_entries(
        position.data,
        position.step,
        position.epoch,
        position.step_in_epoch,
        {"callbacks": position.callbacks},
        None if run is None else run.as_json(),
    )
    return {**about, **{_KEPT + name: value for name, value in position.values.items()}}


@public("train", "millrace")
def load_training(ckpt_file_name: str, *cells: Cell, dec_key: bytes | None = None) -> TrainingState:
    """Restore a state saved by :func:`save_training`; returns the position for the training loop.

    If parameters of a cell are missing in the file, or differ in shape or type, no cell is changed. Create the iterator
    with the returned state after this call, which sets the seed of the run. A file without a checksum is refused, since
    it may be truncated. ``dec_key`` is the ``enc_key`` of the file.
    """
    check_cipher(dec_key, encrypted_stream.MODE, "dec")
    return restore(ckpt_file_name, cells, dec_key)


def restore(
    ckpt_file_name: str,
    cells: Iterable[Cell],
    dec_key: bytes | None = None,
    accept: Callable[[dict[str, Any] | None], None] = lambda run: None,
) -> TrainingState:
    """Restore a training file; ``accept`` gets the identity of its run first, and may refuse it."""
    format = "safetensors" if str(ckpt_file_name).endswith(".safetensors") else "ckpt"
    name = resolve_load_path(ckpt_file_name, format)
    values, verified = read_verified(
        name, format, None, dec_key, encrypted_stream.MODE, check=True, required=False
    )
    if not is_resumable(values):
        why = (
            f"it holds {len(values)} values and no state of a training, so that a run cannot resume from it: it is "
            "damaged, or was saved by save_checkpoint and not by save_training or ModelCheckpoint"
        )
        raise checkpoint_load_error(name, Path(name), format, CheckpointError(why))
    if not verified:
        _check_unverified(values, name, format)
    accept(_parse_description(values, name).get("run"))
    return restore_cells(values, cells, name)


def _check_unverified(values: dict[str, Any], name: str, format: str) -> None:
    """Refuse a file without a checksum, except safetensors files of release 0.2, in which truncation is detected."""
    if format == "safetensors" and _parse_description(values, name)["version"] == 1:
        log.warning(
            "%s was saved by release 0.2 without a checksum: changed bytes in it are not noticed. The next save adds "
            "one",
            name,
        )
        return
    why = (
        "load_training: expected the checksum that every training file carries, got none. Its end was cut off, or "
        "OnRequestExit or BackupAndRestore of release 0.2 saved it, which wrote none. If you know that the file is "
        f"whole, add a checksum: save_checkpoint(load_checkpoint({name!r}), {name!r}, crc_check=True)"
    )
    raise checkpoint_load_error(name, Path(name), format, CheckpointError(why))


def is_resumable(values: dict[str, Any]) -> bool:
    """Whether a file contains a training state."""
    return _ABOUT in values


def restore_cells(values: dict[str, Any], cells: Iterable[Cell], file: str) -> TrainingState:
    """Write the values of a file into cells and random generators."""
    about = _parse_description(values, file)
    targets = list(_named_values(cells))
    _check_values(targets, values, file)
    _restore_random(about, values, file)  # first, since it may be damaged
    for name, target in targets:
        if name in values:
            with torch.no_grad():
                target._torch.copy_(values[name]._torch)
    _restore_random(about, values, file)  # again, since lazy parameters may have sampled values
    kept = {
        name.removeprefix(_KEPT): value
        for name, value in values.items()
        if name.startswith(_KEPT) and isinstance(value, Tensor)
    }
    return TrainingState(
        about["step"], about["epoch"], about["step_in_epoch"], about["data"], about["extra"], kept
    )


def _restore_random(about: dict[str, Any], values: dict[str, Any], file: str) -> None:
    """Restore seed and generators; nothing is changed if one of them is damaged."""
    seed, states, shared = seeds.get_seed(), random.get_rng_states(), rng.global_state()
    try:
        if about["seed"] is not None:
            seeds.set_seed(about["seed"])
        random.set_rng_states(
            {
                name.removeprefix(_RANDOM): value._torch
                for name, value in values.items()
                if name.startswith(_RANDOM)
            }
        )
        rng.set_global_state(about["globals"])
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        if seed is not None:
            seeds.set_seed(seed)
        random.set_rng_states(states)
        rng.set_global_state(shared)
        raise CheckpointError(f"{file}: its states of random numbers are damaged: {error}") from None


_COUNTS = ("step", "epoch", "step_in_epoch")


def _parse_description(values: dict[str, Any], file: str) -> dict[str, Any]:
    """Parse the JSON of a training state and check the types of its fields."""
    try:
        about = json.loads(values[_ABOUT].asnumpy().tobytes())
        version = about["version"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{file}: its entry {_ABOUT!r} cannot be read: {error}") from None
    if version not in _READABLE or isinstance(version, bool):
        raise CheckpointError(
            f"{file} was saved by another release (its state has version {str(version)[:20]}, this one reads "
            f"{_VERSION}): load its parameters with load_checkpoint, and restart the run."
        )
    seed, run = about.get("seed"), about.get("run")
    if (
        not all(type(about.get(name)) is int for name in _COUNTS)
        or not {"data", "seed", "globals", "extra"} <= about.keys()
        or not (seed is None or (type(seed) is int and seed >= 0))
        or not isinstance(run, (dict, type(None)))
    ):
        raise CheckpointError(
            f"{file}: its entry {_ABOUT!r} is damaged: a field is missing or of another type."
        )
    return dict(about)


def _named_values(cells: Iterable[Cell]) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers of cells by name, each once; raises an error for duplicate names."""
    seen: dict[str, Tensor] = {}
    for cell in cells:
        if not isinstance(cell, Cell):
            raise ArgumentTypeError(
                f"For 'save_training' and 'load_training', expected a Cell (network, optimizer, training step), "
                f"but got {type(cell).__name__}."
            )
        parameters = [(param.name, param) for _, param in cell.parameters_and_names()]
        for name, value in [*parameters, *cell.named_buffers()]:
            if name not in seen:
                seen[name] = value
                yield name, value
            elif seen[name] is not value:
                raise ArgumentValueError(
                    f"Two parameters are named {name!r}, so that one of them would be lost. Rename the "
                    "parameters of one cell (Cell.update_parameters_name), or the parameter (name=...)."
                )


def _check_values(targets: list[tuple[str, Tensor]], values: dict[str, Any], file: str) -> None:
    missing = [name for name, target in targets if name not in values and target.size]
    if missing:
        suffix = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise CheckpointError(
            f"{file} lacks {', '.join(map(repr, missing[:5]))}{suffix}, which these cells have: give load_training the "
            "cells that were saved, built as they were."
        )
    for name, target in targets:
        saved = values.get(name)
        if name in values and not isinstance(saved, Parameter):
            raise CheckpointError(f"{file}: expected a tensor for {name!r}, got {type(saved).__name__}.")
        if isinstance(saved, Parameter) and (saved.shape, saved.dtype) != (target.shape, target.dtype):
            raise ParameterMismatch(
                f"{name!r} is {saved.dtype}{list(saved.shape)} in {file}, and {target.dtype}{list(target.shape)} here. "
                "Build the network and the optimizer as they were when it was saved."
            )
