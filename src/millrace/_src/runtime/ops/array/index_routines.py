"""Lists compared, counted and unrolled: what differs, where it stands, how far apart it is."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import promote_operands, to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import INTEGERS, REAL, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ComputeAccidentalHits",
    "ConfusionMatrix",
    "EditDistance",
    "ListDiff",
    "MapUniform",
    "RaggedRange",
    "SubAndFilter",
    "UnravelIndex",
    "accidental_hits",
    "confusion_counts",
    "edit_distance",
    "grouped_places",
    "list_difference",
    "ragged_ranges",
    "shifted_within",
    "unravelled",
]


@op(accepts=REAL, dtype=UNCHECKED, differentiable=False)
def list_difference(x: Tensor, y: Tensor, out_idx: Any = torch.int32) -> tuple[Tensor, Tensor]:
    """What is in x and not in y, and at which places of x."""
    if out_idx not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For 'ListDiff', 'out_idx' must be int32 or int64, but got {out_idx}.")
    if x.ndim != 1 or y.ndim != 1:
        raise ArgumentValueError(
            f"For 'ListDiff', both lists must have one axis, but got {list(x.shape)} and {list(y.shape)}."
        )
    alone = ~torch.isin(x, y)
    return x[alone], alone.nonzero().squeeze(1).to(out_idx)


ListDiff = primitive("ListDiff", list_difference)


@op(accepts=INTEGERS, dtype=UNCHECKED, differentiable=False)
def unravelled(indices: Tensor, dims: Tensor) -> Tensor:
    """The coordinates, in an array of this shape, of elements that are numbered from 0 on: a column per number."""
    if dims.ndim != 1 or indices.ndim > 1:
        raise ArgumentValueError(
            f"For 'UnravelIndex', 'indices' must have at most one axis and 'dims' one, but got {list(indices.shape)} "
            f"and {list(dims.shape)}."
        )
    shape = to_python_list(dims)
    size = int(torch.prod(dims))
    if indices.numel() and not (int(indices.min()) >= 0 and int(indices.max()) < size):
        raise ArgumentValueError(
            f"For 'UnravelIndex', the numbers must be in [0, {size}), but got {indices.tolist()}."
        )
    return torch.stack(torch.unravel_index(indices.long(), shape)).to(indices.dtype)


UnravelIndex = primitive("UnravelIndex", unravelled)


@op(accepts=REAL, dtype=UNCHECKED, differentiable=False)
def ragged_ranges(starts: Tensor, limits: Tensor, deltas: Tensor, Tsplits: Any) -> tuple[Tensor, Tensor]:
    """Several ranges behind one another, with the place at which each starts (and the last ends)."""
    if Tsplits not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For 'RaggedRange', 'Tsplits' must be int32 or int64, but got {Tsplits}.")
    shapes = {tuple(part.shape) for part in (starts, limits, deltas) if part.ndim}
    if len(shapes) > 1 or any(len(shape) > 1 for shape in shapes):
        raise ArgumentValueError(
            f"For 'RaggedRange', starts, limits and deltas must be lists of one length or numbers, but the shapes are "
            f"{[list(part.shape) for part in (starts, limits, deltas)]}."
        )
    starts, limits, deltas = torch.broadcast_tensors(*(part.reshape(-1) for part in (starts, limits, deltas)))
    if bool((deltas == 0).any()):
        raise ArgumentValueError(f"For 'RaggedRange', a delta must not be 0, but got {deltas.tolist()}.")
    wide = torch.float64 if starts.is_floating_point() else torch.int64
    apart, step = (limits.to(wide) - starts.to(wide)), deltas.to(wide)
    counts = torch.ceil(apart / step).clamp_min(0).long()
    ends = torch.cumsum(counts, 0)
    splits = torch.cat([ends.new_zeros(1), ends])
    places = torch.arange(int(ends[-1]) if len(ends) else 0, device=starts.device)
    places = places - torch.repeat_interleave(splits[:-1], counts)
    values = torch.repeat_interleave(starts.to(wide), counts) + places * torch.repeat_interleave(step, counts)
    return splits.to(Tsplits), values.to(starts.dtype)


RaggedRange = primitive("RaggedRange", ragged_ranges)


@op(accepts=INTEGERS, dtype=UNCHECKED, differentiable=False)
def shifted_within(input_x: Tensor, max_num: Any, offset: Any) -> tuple[Tensor, Tensor]:
    """The values less `offset` that are then in [0, max_num), and their places."""
    _, shift = promote_operands(input_x, offset)
    _, most = promote_operands(input_x, max_num)
    moved = input_x - shift
    kept = (moved >= 0) & (moved < most)
    return moved[kept], kept.nonzero().squeeze(1).to(input_x.dtype)


SubAndFilter = primitive("SubAndFilter", shifted_within, ())


@op(accepts=INTEGERS, dtype=UNCHECKED, differentiable=False)
def grouped_places(input: Tensor, per_group_size: Any, group_num: Any) -> Tensor:
    """The place of each key where keys go to the groups in turn: the remainder says the group, the quotient the
    place."""
    _, size = promote_operands(input, per_group_size)
    _, count = promote_operands(input, group_num)
    return torch.remainder(input, count) * size + torch.div(input, count, rounding_mode="floor")


MapUniform = primitive("MapUniform", grouped_places, ())


@op(accepts=REAL, dtype=UNCHECKED, differentiable=False)
def confusion_counts(
    labels: Tensor,
    predictions: Tensor,
    weights: Tensor | None = None,
    num_classes: int = 2,
    dtype: str = "int32",
) -> Tensor:
    """How often each class (row) was taken for each (column); with weights, their sum."""
    if isinstance(num_classes, bool) or not isinstance(num_classes, int):
        raise ArgumentTypeError(
            f"For 'ConfusionMatrix', 'num_classes' must be an int, but got {num_classes!r}."
        )
    if not isinstance(dtype, str) or not hasattr(torch, dtype):
        raise ArgumentTypeError(f"For 'ConfusionMatrix', 'dtype' must be a type's name, but got {dtype!r}.")
    if labels.ndim != 1 or labels.shape != predictions.shape:
        raise ArgumentValueError(
            f"For 'ConfusionMatrix', labels and predictions must be lists of one length, but the shapes are "
            f"{list(labels.shape)} and {list(predictions.shape)}."
        )
    kind = getattr(torch, dtype)
    counts = torch.zeros(num_classes * num_classes, dtype=kind, device=labels.device)
    added = torch.ones_like(labels, dtype=kind) if weights is None else weights.to(kind)
    place = labels.long() * num_classes + predictions.long()
    return counts.index_add_(0, place, added).reshape(num_classes, num_classes)


ConfusionMatrix = primitive(
    "ConfusionMatrix", confusion_counts, ("num_classes", "dtype"), num_classes=inspect.Parameter.empty
)


@op(accepts=INTEGERS, dtype=UNCHECKED, differentiable=False)
def accidental_hits(
    true_classes: Tensor, sampled_candidates: Tensor, num_true: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Where a sampled candidate is a true class: the row of the true class, the place of the candidate, and a weight of
    the least float32 to push it out of a softmax."""
    if isinstance(num_true, bool) or not isinstance(num_true, int):
        raise ArgumentTypeError(
            f"For 'ComputeAccidentalHits', 'num_true' must be an int, but got {num_true!r}."
        )
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true or sampled_candidates.ndim != 1:
        raise ArgumentValueError(
            f"For 'ComputeAccidentalHits', 'true_classes' must have the shape (N, {num_true}) and 'sampled_candidates' "
            f"one axis, but got {list(true_classes.shape)} and {list(sampled_candidates.shape)}."
        )
    hits = (true_classes.unsqueeze(-1) == sampled_candidates).any(1).nonzero()
    weights = torch.full((len(hits),), torch.finfo(torch.float32).min, device=true_classes.device)
    return hits[:, 0].to(torch.int32), hits[:, 1].to(true_classes.dtype), weights


ComputeAccidentalHits = primitive("ComputeAccidentalHits", accidental_hits)


def _sequences(name: str, indices: Tensor, values: Tensor, shape: Tensor) -> dict[tuple[int, ...], list[Any]]:
    """The sequences of a sparse tensor: where they stand -> their elements."""
    if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1 or indices.shape != (len(values), len(shape)):
        raise ArgumentValueError(
            f"For 'EditDistance', the {name} must be given as indices (N, R), values (N,) and a shape (R,), but the "
            f"shapes are {[list(part.shape) for part in (indices, values, shape)]}."
        )
    found: dict[tuple[int, ...], list[Any]] = {}
    for place, value in zip(to_python_list(indices), to_python_list(values), strict=True):
        found.setdefault(tuple(place[:-1]), []).append(value)
    return found


def _levenshtein_distance(one: list[Any], other: list[Any]) -> int:
    """How many elements must be put in, taken out or replaced to come from one list to the other."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@op(dtype=UNCHECKED, differentiable=False)
def edit_distance(
    hypothesis_indices: Tensor,
    hypothesis_values: Tensor,
    hypothesis_shape: Tensor,
    truth_indices: Tensor,
    truth_values: Tensor,
    truth_shape: Tensor,
    normalize: bool = True,
) -> Tensor:
    """Levenshtein's distance of sequences, given as sparse tensors whose last axis runs along them; with `normalize`
    as a share of the true length, where that is 0: infinite, or 0 for two empty sequences."""
    if not isinstance(normalize, bool):
        raise ArgumentTypeError(f"For 'EditDistance', 'normalize' must be a bool, but got {normalize!r}.")
    said = _sequences("hypothesis", hypothesis_indices, hypothesis_values, hypothesis_shape)
    true = _sequences("truth", truth_indices, truth_values, truth_shape)
    if hypothesis_shape.shape != truth_shape.shape:
        raise ArgumentValueError(
            f"For 'EditDistance', hypothesis and truth must have as many axes, but the shapes are "
            f"{hypothesis_shape.tolist()} and {truth_shape.tolist()}."
        )
    size = to_python_list(torch.maximum(hypothesis_shape, truth_shape)[:-1])
    made = torch.zeros(size, dtype=torch.float32)
    for place in {*said, *true}:
        wanted = true.get(place, [])
        away = float(_levenshtein_distance(said.get(place, []), wanted))
        if normalize:
            away = away / len(wanted) if wanted else (float("inf") if away else 0.0)
        made[place] = away
    return made


EditDistance = primitive("EditDistance", edit_distance)
