"""Sequence operations: edit distance, n-gram blocking."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["EditDistance", "NoRepeatNGram", "edit_distance", "no_repeat_ngram"]


def _sequences(name: str, indices: Tensor, values: Tensor, shape: Tensor) -> dict[tuple[int, ...], list[Any]]:
    """Sequences of a sparse tensor: coordinates -> elements."""
    if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1 or indices.shape != (len(values), len(shape)):
        raise ArgumentValueError(
            f"For 'EditDistance', the {name} must be given as indices (N, R), values (N,) and a shape (R,), but the "
            f"shapes are {[list(part.shape) for part in (indices, values, shape)]}."
        )
    sequences: dict[tuple[int, ...], list[Any]] = {}
    for coordinates, value in zip(to_python_list(indices), to_python_list(values), strict=True):
        sequences.setdefault(tuple(coordinates[:-1]), []).append(value)
    return sequences


def _levenshtein_distance(one: list[Any], reference: list[Any]) -> int:
    """Levenshtein distance of two lists: the number of insertions, deletions and replacements."""
    row = list(range(len(reference) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(reference, 1):
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
    """Levenshtein distance of sequences, given as sparse tensors whose last axis runs along them. With `normalize` it
    is divided by the true length; if that is 0 it is infinite, or 0 for two empty sequences.
    """
    if not isinstance(normalize, bool):
        raise ArgumentTypeError(f"For 'EditDistance', 'normalize' must be a bool, but got {normalize!r}.")
    hypotheses = _sequences("hypothesis", hypothesis_indices, hypothesis_values, hypothesis_shape)
    true = _sequences("truth", truth_indices, truth_values, truth_shape)
    if hypothesis_shape.shape != truth_shape.shape:
        raise ArgumentValueError(
            f"For 'EditDistance', hypothesis and truth must have as many axes, but the shapes are "
            f"{hypothesis_shape.tolist()} and {truth_shape.tolist()}."
        )
    size = to_python_list(torch.maximum(hypothesis_shape, truth_shape)[:-1])
    distances = torch.zeros(size, dtype=torch.float32)
    for coordinates in {*hypotheses, *true}:
        wanted = true.get(coordinates, [])
        away = float(_levenshtein_distance(hypotheses.get(coordinates, []), wanted))
        if normalize:
            away = away / len(wanted) if wanted else (float("inf") if away else 0.0)
        distances[coordinates] = away
    return distances


EditDistance = primitive("EditDistance", edit_distance)


@op(dtype=SAME, differentiable=False)
def no_repeat_ngram(state_seq: Tensor, log_probs: Tensor, ngram_size: int = 1) -> Tensor:
    """Log-probabilities (batch, beams, words), with the lowest number for every word that would complete a run of
    `ngram_size` words for the second time in its sequence (batch, beams, length).
    """
    if ngram_size < 1 or state_seq.ndim != 3 or state_seq.shape[:2] != log_probs.shape[:2]:
        raise ArgumentValueError(
            f"For 'NoRepeatNGram', 'ngram_size' must be above 0 and the shapes (N, M, length) and (N, M, words), but "
            f"got {ngram_size}, {list(state_seq.shape)} and {list(log_probs.shape)}."
        )
    length = state_seq.shape[2]
    if length < ngram_size:
        return log_probs.clone()
    runs = state_seq.unfold(2, ngram_size, 1)
    tail = state_seq[..., length - ngram_size + 1 :].unsqueeze(2)
    repeats = (runs[..., :-1] == tail).all(-1)
    ends = runs[..., -1].long()
    banned = torch.zeros_like(log_probs, dtype=torch.int32)
    banned = banned.scatter_reduce(2, ends, repeats.to(torch.int32), "amax")
    return log_probs.masked_fill(banned.bool(), torch.finfo(log_probs.dtype).min)


NoRepeatNGram = primitive("NoRepeatNGram", no_repeat_ngram)
