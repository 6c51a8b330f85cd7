"""Cosine similarity of the rows of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type, check_choice

from .metric import Metric, as_array, check_input_count, not_updated_error, rearrange_inputs

__all__ = ["CosineSimilarity"]


@public("nn", "train", "millrace")
class CosineSimilarity(Metric):
    """Cosine similarity (dot product with "dot") between all rows of a batch.

    >>> metric = CosineSimilarity()
    >>> metric.update(np.array([[1.0, 0.0], [3.0, 4.0]]))
    >>> metric.eval().tolist()
    [[0.0, 0.6], [0.6, 0.0]]
    """

    def __init__(
        self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True
    ) -> None:
        super().__init__()
        owner = "CosineSimilarity"
        check_argument_type(similarity, "similarity", owner, str)
        self.similarity = check_choice(similarity, "similarity", owner, ["dot", "cosine"])
        check_argument_type(reduction, "reduction", owner, str)
        self.reduction = check_choice(reduction, "reduction", owner, ["none", "sum", "mean"])
        self.zero_diagonal = check_argument_type(zero_diagonal, "zero_diagonal", owner, bool)
        self.clear()

    def clear(self) -> None:
        self.sqr_mtx_res: Any = 0
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        rows = as_array(check_input_count(1, inputs, "CosineSimilarity", "rows")[0])
        if rows.ndim != 2:
            raise ArgumentValueError(
                f"For 'CosineSimilarity.update', the input must be rows, with 2 axes, but got shape {rows.shape}."
            )
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, ord=2, axis=1)[:, None]
        self.sqr_mtx_res = np.dot(rows, rows.T)
        self._is_update = True

    def eval(self) -> Any:
        if not self._is_update:
            raise not_updated_error()
        similarity = self.sqr_mtx_res.copy()
        if self.zero_diagonal:
            np.fill_diagonal(similarity, 0)
        if self.reduction == "none":
            return similarity
        return similarity.mean(axis=-1) if self.reduction == "mean" else similarity.sum(axis=-1)
