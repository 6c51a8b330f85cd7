"""Linear algebra in a fixed order of operations: the same bits on every processor.

BLAS and LAPACK choose the order of their sums, and fused multiply-add, by the processor and by the number of threads.
Here every product and every sum is rounded to the type of the result, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .validation import Array

__all__ = ["multiply_vector", "perspective_coefficients", "solve"]

Points = Sequence[Sequence[float]]

# Products computed at once: one MiB of float64 stays in the second-level cache.
_BLOCK = 1 << 17


def multiply_vector(vector: Array, matrix: Array) -> Array:
    """Product of a vector <n> and a matrix <n,m>; the rows of the matrix are added in their order.

    >>> multiply_vector(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.5, 3.0]])).tolist()
    [2.0, 6.0]
    """
    dtype = np.result_type(vector, matrix)
    length, width = matrix.shape
    total = np.zeros(width, dtype)
    step = max(1, _BLOCK // max(1, width))
    products = np.empty((min(step, length), width), dtype)
    for start in range(0, length, step):
        rows = matrix[start : start + step]
        block = np.multiply(vector[start : start + step, None], rows, out=products[: len(rows)])
        if width == 1:  # one column is one sum: numpy would add its halves
            for product in block:
                total += product
            continue
        block[0] += total
        np.add.reduce(block, axis=0, dtype=dtype, out=total)
    return total


def solve(rows: list[list[float]]) -> list[float] | None:
    """Solve n linear equations by Gaussian elimination with partial pivoting.

    Args:
        rows: the n coefficients of each equation, then its right side. The lists are overwritten.

    Returns:
        The n unknowns; None where the equations have no single solution.

    >>> solve([[0.0, 2.0, 4.0], [1.0, 1.0, 5.0]])
    [3.0, 2.0]
    """
    size = len(rows)
    smallest = 100 * np.finfo(np.float64).eps
    for i in range(size):
        column = [abs(row[i]) for row in rows[i:]]
        largest = max(column)
        if not largest >= smallest:
            return None
        pivot = i + column.index(largest)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        upper = rows[i]
        factor = -1.0 / upper[i]
        for lower in rows[i + 1 :]:
            if lower[i]:
                share = lower[i] * factor
                lower[i + 1 :] = [a + share * b for a, b in zip(lower[i + 1 :], upper[i + 1 :], strict=True)]
    unknowns = [0.0] * size
    for i in reversed(range(size)):
        row = rows[i]
        rest = row[size]
        for k in range(i + 1, size):
            rest -= row[k] * unknowns[k]
        unknowns[i] = rest / row[i]
    return unknowns


def perspective_coefficients(start: Points, end: Points, single: bool = False) -> list[float] | None:
    """Coefficients a ... h of the perspective transform (ax + by + c, dx + ey + f) / (gx + hy + 1) of four points.

    Args:
        start: four points (x, y).
        end: the four points that they are mapped to.
        single: whether the products of coordinates are rounded to float32, as in OpenCV.

    Returns:
        None where no such projection exists: three points on a line.

    >>> perspective_coefficients([(0, 0), (1, 0), (1, 1), (0, 1)], [(1, 0), (2, 0), (2, 1), (1, 1)])
    [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    above: list[list[float]] = []
    below: list[list[float]] = []
    for (x, y), (to_x, to_y) in zip(start, end, strict=True):
        products = [-x * to_x, -y * to_x, -x * to_y, -y * to_y]
        if single:
            products = np.array(products, np.float32).tolist()
        above.append([x, y, 1.0, 0.0, 0.0, 0.0, *products[:2], to_x])
        below.append([0.0, 0.0, 0.0, x, y, 1.0, *products[2:], to_y])
    return solve(above + below)
