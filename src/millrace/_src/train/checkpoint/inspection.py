"""Inspect a checkpoint without loading it: parameters, optimizer states, other entries."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from millrace._src.core.errors import CheckpointError
from millrace._src.core.public import public

from . import ckpt_format as ckpt
from . import safetensors_format as safe
from .checkpoint_path import local_copy, resolve_load_path
from .ckpt_protobuf import CorruptCheckpointError
from .load import checkpoint_load_error
from .state_entries import TEXT
from .torch_weights import ENDINGS, read_torch
from .training_state import NAMESPACE

__all__ = ["Contents", "CheckpointItem", "contents_of", "classify_items"]

# Prefixes of optimizer states before the parameter name.
_SLOTS = re.compile(
    r"(?:moments|moment[12]?|accum(?:_update)?|stat|vhat|adam_[mv]|lamb_[mv]|mean_square|mean_grad|linear|prev|step_size"
    r"|exp_avg(?:_sq)?|max_exp_avg_sq|momentum_buf|ax_)\.|(?:mu|eta|exp_avg_sq_row|exp_avg_sq_col|exp_avg_sq)_"
)
_SCALARS = re.compile(
    r"global_step|learning_rate(?:_group_\d+)?|momentum|beta[12]_power|state_step|step_t|afactor_step|fake_lr|fake_param"
    r"|scale_sense|current_iterator_step|last_overflow_iterator_step"
)
_STATISTICS = ("moving_mean", "moving_variance", "running_mean", "running_var", "num_batches_tracked")


class CheckpointItem(NamedTuple):
    """One entry: its ``part`` is "parameter", "statistic", "optimizer" or "extra"."""

    name: str
    element_type: str
    shape: tuple[int, ...]
    nbytes: int
    part: str = "extra"

    @property
    def numbers(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


class Contents(NamedTuple):
    """Entries of a file in order."""

    file: str
    format: str
    size: int
    items: list[CheckpointItem]

    def of(self, part: str) -> list[CheckpointItem]:
        """Entries of one part."""
        return [item for item in self.items if item.part == part]

    def numbers(self, part: str = "parameter") -> int:
        """Number of elements in all entries of one part."""
        return sum(item.numbers for item in self.of(part))


@public("train", "millrace")
def contents_of(file: str, key: bytes | None = None, mode: str = "AES-GCM") -> Contents:
    """List the contents of a ``.ckpt``, ``.safetensors``, ``.pth`` or ``.pt`` file.

    >>> from millrace import nn
    >>> from millrace.train import save_checkpoint
    >>> save_checkpoint(nn.Dense(3, 2), "net.ckpt")
    >>> contents_of("net.ckpt").numbers()
    8
    """
    if file.endswith(ENDINGS):
        if not os.path.isfile(file):
            raise CheckpointError(f"the file {file} does not exist")
        tensors, object_names = read_torch(Path(file))
        items = [
            CheckpointItem(
                name, str(t.dtype).removeprefix("torch."), tuple(t.shape), t.numel() * t.element_size()
            )
            for name, t in tensors.items()
        ]
        items += [CheckpointItem(name, "object", (0,), 0) for name in object_names]
        return Contents(file, "PyTorch", os.path.getsize(file), classify_items(items))
    format = "safetensors" if file.endswith(".safetensors") else "ckpt"
    name = resolve_load_path(file, format)
    with local_copy(name) as path:
        try:
            items = (
                _list_safetensors_items(path)
                if format == "safetensors"
                else _list_ckpt_items(path, key, mode)
            )
        except (CheckpointError, CorruptCheckpointError, OSError) as error:
            raise checkpoint_load_error(name, path, format, error) from error
        return Contents(name, format, path.stat().st_size, classify_items(items))


def _list_ckpt_items(path: Path, key: bytes | None, mode: str) -> list[CheckpointItem]:
    buffer, _ = ckpt.contents(path, key, mode, check=True)
    items = []
    for record in ckpt.records(buffer):
        size = record.nbytes + sum(part.nbytes for part in record.parts)
        shape = record.parts[1].dims if len(record.parts) > 1 else record.dims
        items.append(
            CheckpointItem(
                record.name, record.element_type, (0,) if record.element_type == TEXT else shape, size
            )
        )
    return items


def _list_safetensors_items(path: Path) -> list[CheckpointItem]:
    return [CheckpointItem(*each) for each in safe.list_tensors(path)]


def classify_items(items: Iterable[CheckpointItem]) -> list[CheckpointItem]:
    """Set the part of each entry."""
    listed = list(items)
    names = {item.name for item in listed}
    return [item._replace(part=_classify_item(item, names)) for item in listed]


def _classify_item(item: CheckpointItem, names: set[str]) -> str:
    if item.element_type in (TEXT, "object") or item.name.startswith(NAMESPACE):
        return "extra"
    if item.name.rpartition(".")[2] in _STATISTICS:
        return "statistic"
    if _SCALARS.fullmatch(item.name):
        return "optimizer"
    slot = _SLOTS.match(item.name)
    if slot and item.name[slot.end() :] in names:
        return "optimizer"
    plain = "." not in item.name and not item.shape and item.name not in ("weight", "bias")
    return (
        "extra"
        if plain and item.name in ("epoch_num", "step_num", "best_epoch", "best_value")
        else "parameter"
    )
