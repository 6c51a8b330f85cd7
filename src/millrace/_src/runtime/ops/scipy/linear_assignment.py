"""Linear sum assignment (minimum-cost bipartite matching)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["linear_sum_assignment"]

_ALL = 2**63 - 1


def _solve_assignment(cost: list[list[float]]) -> list[int]:
    """Column assigned to each row of a matrix that is at least as wide as high, by shortest augmenting paths with dual
    variables (Jonker and Volgenant).
    """
    height, width = len(cost), len(cost[0])
    rows, columns = [0.0] * (height + 1), [0.0] * (width + 1)
    owner = [0] * (width + 1)  # row (from 1) assigned to each column (from 1); 0 is none
    for row in range(1, height + 1):
        owner[0], at = row, 0
        away, before, seen = [float("inf")] * (width + 1), [0] * (width + 1), [False] * (width + 1)
        while owner[at]:
            seen[at] = True
            here, nearest, then = owner[at], float("inf"), 0
            for column in range(1, width + 1):
                if not seen[column]:
                    reached = cost[here - 1][column - 1] - rows[here] - columns[column]
                    if reached < away[column]:
                        away[column], before[column] = reached, at
                    if away[column] < nearest:
                        nearest, then = away[column], column
            if nearest == float("inf"):
                raise ArgumentValueError("For 'linear_sum_assignment', the cost matrix is infeasible.")
            for column in range(width + 1):
                if seen[column]:
                    rows[owner[column]] += nearest
                    columns[column] -= nearest
                else:
                    away[column] -= nearest
            at = then
        while at:
            owner[at] = owner[before[at]]
            at = before[at]
    assignment = [0] * height
    for column in range(1, width + 1):
        if owner[column]:
            assignment[owner[column] - 1] = column - 1
    return assignment


@op("scipy.optimize", dtype=UNCHECKED, differentiable=False)
def linear_sum_assignment(
    cost_matrix: Tensor, maximize: bool, dimension_limit: Any = _ALL
) -> tuple[Tensor, Tensor]:
    """Assign rows to columns so that the sum of costs is minimal (or maximal). Only the first `dimension_limit`
    columns are used; a missing partner is -1.
    """
    name = "linear_sum_assignment"
    if not isinstance(maximize, bool):
        raise ArgumentTypeError(f"For '{name}', 'maximize' must be a bool, but got {maximize!r}.")
    if cost_matrix.ndim != 2:
        raise ArgumentValueError(
            f"For '{name}', a matrix is needed, but got the shape {list(cost_matrix.shape)}."
        )
    if cost_matrix.is_complex():
        raise ArgumentTypeError(f"For '{name}', costs must be real numbers, but got {cost_matrix.dtype}.")
    limit = int(dimension_limit)
    if limit < 1:
        raise ArgumentValueError(f"For '{name}', 'dimension_limit' must be above 0, but got {limit}.")
    seen = cost_matrix[:, :limit].double() * (-1 if maximize else 1)
    if bool(torch.isnan(seen).any()) or bool((seen == float("-inf")).any()):
        raise ArgumentValueError(
            f"For '{name}', costs must be numbers, but the matrix holds nan or infinite gains."
        )
    tall = seen.shape[0] > seen.shape[1]
    costs = to_python_list(seen.t() if tall else seen)
    one = list(range(len(costs)))
    assigned = _solve_assignment(costs) if costs else []
    rows, columns = (assigned, one) if tall else (one, assigned)
    pairs = sorted(zip(rows, columns, strict=True))
    lack = min(cost_matrix.shape) - len(pairs)
    index_pairs = torch.tensor([*pairs, *[(-1, -1)] * lack], dtype=torch.int64).reshape(-1, 2)
    return index_pairs[:, 0].contiguous(), index_pairs[:, 1].contiguous()
