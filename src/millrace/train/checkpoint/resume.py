"""One file from which a training goes on: parameters, optimizer, loss scale, step, random numbers, place in the data.

It is a checkpoint like any other, which MindSpore loads too. What is more than parameters stands in it as arrays of
bytes: ``millrace.training`` is JSON, ``millrace.random.*`` are the states of generators, ``millrace.kept.*`` what
callbacks keep.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from millrace.core import rng, seeds
from millrace.core.errors import ArgumentTypeError, ArgumentValueError, CheckpointError, ParameterMismatch
from millrace.core.tensor import Tensor
from millrace.nn.cell import Cell
from millrace.tensor import random
from millrace.tensor.parameter import Parameter
from millrace.tensor.storage import wrap

from .loading import read, refused
from .places import name_to_load
from .saving import save_checkpoint

__all__ = [
    "OWN",
    "TrainingState",
    "appendix",
    "at_position",
    "is_resumable",
    "load_training",
    "put_back",
    "save_training",
]

# What begins the names of entries that are ours, and that no net has.
OWN = "millrace."
_ABOUT = OWN + "training"
_RANDOM = OWN + "random."
_KEPT = OWN + "kept."
_VERSION = 1


@dataclasses.dataclass(frozen=True)
class TrainingState:
    """Where a training stood; made by :func:`load_training`.

    ``data`` goes to ``create_dict_iterator(state=...)`` or ``dataset.epochs(n, state=...)``; None if none was saved.
    ``epoch`` counts finished epochs, ``step`` all steps, ``step_in_epoch`` those of the epoch under way.
    """

    step: int
    epoch: int
    step_in_epoch: int
    data: dict[str, Any] | None
    extra: Any
    # tensors that callbacks of a Model's training had kept
    kept: dict[str, Tensor] = dataclasses.field(default_factory=dict)


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
) -> None:
    """Save everything that a training needs to go on: cells, random numbers, and the place in the data.

    ``cells`` are the net, the optimizer and whatever else has parameters, as a training step that holds them all;
    ``data`` is the iterator that batches come from; ``extra`` is anything that JSON can say. A run that is killed and
    resumed from this file ends with the same bits as one that was not.

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
        raise ArgumentValueError("For 'save_training', give the net, and the optimizer after it.")
    values = dict(_values(cells))
    for name in values:
        if name.startswith(OWN):
            raise ArgumentValueError(
                f"For 'save_training', no parameter may be named {name!r}: names with {OWN!r} are kept for its own use."
            )
    more = appendix(data, step, epoch, step_in_epoch, extra)
    save_checkpoint(
        [{"name": name, "data": value} for name, value in values.items()],
        ckpt_file_name,
        append_dict=more,
        async_save=async_save,
        crc_check=True,
        format=format,
    )


def appendix(data: Any, step: int, epoch: int, step_in_epoch: int = 0, extra: Any = None) -> dict[str, Any]:
    """What is saved beside parameters, for ``append_dict``."""
    about = {
        "version": _VERSION,
        "step": step,
        "epoch": epoch,
        "step_in_epoch": step_in_epoch,
        "data": data.state() if hasattr(data, "state") else data,
        "seed": seeds.get_seed(),
        "globals": rng.global_state(),
        "extra": extra,
    }
    try:
        text = json.dumps(about)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"For 'save_training', 'data' must be an iterator of a dataset or its state(), and 'extra' what JSON can "
            f"say, but got data {type(data).__name__} and extra {extra!r}: {error}."
        ) from None
    found: dict[str, Any] = {"epoch_num": epoch, "step_num": step}
    found |= {_RANDOM + name: wrap(state) for name, state in random.states().items()}
    return {**found, _ABOUT: Tensor(np.frombuffer(text.encode(), np.uint8).copy())}


def at_position(place: Any) -> dict[str, Any]:
    """The same for where a Model's training stands."""
    about = appendix(place.data, place.step, place.epoch, place.step_in_epoch, {"callbacks": place.callbacks})
    return {**about, **{_KEPT + name: value for name, value in place.values.items()}}


def load_training(ckpt_file_name: str, *cells: Cell) -> TrainingState:
    """Put everything back as :func:`save_training` found it; what is to be handed to the loop is returned.

    All or nothing: a cell whose parameters are not in the file, or have another shape or type, leaves every cell as it
    was. Make the iterator with the state that is returned after this call, which sets the seed of the run.
    """
    format = "safetensors" if str(ckpt_file_name).endswith(".safetensors") else "ckpt"
    name = name_to_load(ckpt_file_name, format)
    found = read(name, format, check=True)
    if not is_resumable(found):
        why = (
            f"it holds {len(found)} values and no state of a training, so that a run cannot go on from it: it is torn, "
            "or was saved by save_checkpoint and not by save_training or ModelCheckpoint"
        )
        raise refused(name, Path(name), format, CheckpointError(why))
    return put_back(found, cells, name)


def is_resumable(found: dict[str, Any]) -> bool:
    """Whether a training can go on from what a file holds."""
    return _ABOUT in found


def put_back(found: dict[str, Any], cells: Iterable[Cell], file: str) -> TrainingState:
    """Write the values of a file into cells and generators."""
    about = _about(found, file)
    targets = list(_values(cells))
    _check(targets, found, file)
    for name, target in targets:
        if name in found:
            with torch.no_grad():
                target._torch.copy_(found[name]._torch)
    if about["seed"] is not None:
        seeds.set_seed(about["seed"])
    random.set_states(
        {
            name.removeprefix(_RANDOM): value._torch
            for name, value in found.items()
            if name.startswith(_RANDOM)
        }
    )
    rng.set_global_state(about["globals"])
    kept = {name.removeprefix(_KEPT): value for name, value in found.items() if name.startswith(_KEPT)}
    return TrainingState(
        about["step"], about["epoch"], about["step_in_epoch"], about["data"], about["extra"], kept
    )


def _about(found: dict[str, Any], file: str) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(found[_ABOUT].asnumpy().tobytes())
        version = about["version"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{file}: its entry {_ABOUT!r} cannot be read: {error}") from None
    if version != _VERSION:
        raise CheckpointError(
            f"{file} was saved by another release (its state has version {version}, this one reads {_VERSION}): load "
            "its parameters with load_checkpoint, and begin the run anew."
        )
    return about


def _values(cells: Iterable[Cell]) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers of several cells, each once; two of one name cannot both be saved."""
    seen: dict[str, Tensor] = {}
    for cell in cells:
        if not isinstance(cell, Cell):
            raise ArgumentTypeError(
                f"For 'save_training' and 'load_training', a Cell (net, optimizer, training step) is wanted, but got "
                f"{type(cell).__name__}."
            )
        own = [(param.name, param) for _, param in cell.parameters_and_names()]
        for name, value in [*own, *cell.named_buffers()]:
            if name not in seen:
                seen[name] = value
                yield name, value
            elif seen[name] is not value:
                raise ArgumentValueError(
                    f"Two parameters are named {name!r}, so that one of them would be lost; give one of the cells a "
                    "name of its own (Cell.update_parameters_name), or the parameter (name=...)."
                )


def _check(targets: list[tuple[str, Tensor]], found: dict[str, Any], file: str) -> None:
    missing = [name for name, target in targets if name not in found and target.size]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise CheckpointError(
            f"{file} lacks {', '.join(map(repr, missing[:5]))}{more}, which these cells have: give load_training the "
            "cells that were saved, built as they were."
        )
    for name, target in targets:
        saved = found.get(name)
        if isinstance(saved, Parameter) and (saved.shape, saved.dtype) != (target.shape, target.dtype):
            raise ParameterMismatch(
                f"{name!r} is {saved.dtype}{list(saved.shape)} in {file}, and {target.dtype}{list(target.shape)} here. "
                "Build net and optimizer as they were when it was saved."
            )
