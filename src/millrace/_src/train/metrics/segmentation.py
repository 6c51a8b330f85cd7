"""Segmentation metrics: Dice coefficient and surface distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type, check_choice

from .metric import Metric, as_array, check_input_count, no_samples_error, not_updated_error, rearrange_inputs

__all__ = ["Dice", "HausdorffDistance", "MeanSurfaceDistance", "RootMeanSquareDistance"]

DISTANCES = ["euclidean", "chessboard", "taxicab"]


@public("nn", "train", "millrace")
class Dice(Metric):
    """Dice coefficient of two masks: twice the intersection over the sum; summed over batches, divided by the samples.

    >>> metric = Dice()
    >>> metric.update(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]]))
    >>> round(metric.eval(), 4)
    0.6667
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = check_argument_type(smooth, "smooth", "Dice", float)
        if not smooth > 0:
            raise ArgumentValueError(
                f"For 'Dice', the 'smooth' must be float and must > 0.0, but got '{smooth}' with type 'float'."
            )
        self.clear()

    def clear(self) -> None:
        self._dice_coeff_sum = 0.0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = map(as_array, check_input_count(2, inputs, "Dice", "predicted value, true value"))
        if y_pred.shape != y.shape or y.ndim == 0:
            raise ArgumentValueError(
                "For 'Dice.update', predicted value (input[0]) and true value (input[1]) should have same shape, but "
                f"got predicted value shape: {y_pred.shape}, true value shape: {y.shape}."
            )
        a, b = y_pred.reshape(-1), y.reshape(-1)
        self._samples_num += y.shape[0]
        self._dice_coeff_sum += 2 * float(np.dot(a, b)) / float(np.dot(a, a) + np.dot(b, b) + self.smooth)

    def eval(self) -> float:
        if self._samples_num == 0:
            raise no_samples_error("Dice coefficient")
        return self._dice_coeff_sum / self._samples_num


class _SurfaceMetric(Metric):
    """Base of surface metrics: edges of the predicted and the true region with label ``label_idx``."""

    def __init__(self, distance_metric: str) -> None:
        super().__init__()
        owner = type(self).__name__
        check_argument_type(distance_metric, "distance_metric", owner, str)
        self.distance_metric = check_choice(distance_metric, "distance_metric", owner, DISTANCES)
        self.clear()

    def clear(self) -> None:
        self._edges: tuple[np.ndarray, np.ndarray] | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        owner = type(self).__name__
        y_pred, y, label = check_input_count(3, inputs, owner, "predicted value, true value, label index")
        y_pred, y = as_array(y_pred), as_array(y)
        if not isinstance(label, (int, float)):
            error_class = ArgumentTypeError if owner == "RootMeanSquareDistance" else ArgumentValueError
            raise error_class(
                f"For '{owner}.update', the label index (input[2]) must be int or float, but got {type(label)}."
            )
        if label not in y_pred and label not in y:
            raise ArgumentValueError(
                f"For '{owner}.update', the label index (input[2]) must be in predicted value (input[0]) or true value "
                f"(input[1]), but {label} is not."
            )
        if y_pred.size == 0 or y_pred.shape != y.shape:
            raise ArgumentValueError(
                f"For '{owner}.update', the size of predicted value (input[0]) and true value (input[1]) must be "
                "greater than 0, in addition to that, predicted value and true value should have the same shape, but "
                f"got predicted value size: {y_pred.size}, shape: {y_pred.shape}, true value size: {y.size}, shape: "
                f"{y.shape}."
            )
        self._edges = self._find_edges(y_pred == label, y == label)

    def _find_edges(self, y_pred: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _find_edge(y_pred), _find_edge(y)

    def _both(self) -> tuple[np.ndarray, np.ndarray]:
        if self._edges is None:
            raise not_updated_error()
        return self._edges

    def _distances(self, start: np.ndarray, end: np.ndarray) -> np.ndarray | None:
        """Distance of each element of one edge to the other edge; None if the first edge is empty."""
        return distance_to(end, self.distance_metric)[start] if start.any() else None


@public("nn", "train", "millrace")
class HausdorffDistance(_SurfaceMetric):
    """Hausdorff distance: the maximum distance (or ``percentile``) between surfaces; the larger of both directions.

    >>> metric = HausdorffDistance()
    >>> metric.update(
    ...     np.array([[3, 0, 1], [1, 3, 0], [1, 0, 2]]), np.array([[0, 2, 1], [1, 2, 1], [0, 0, 1]]), 0
    ... )
    >>> round(float(metric.eval()), 4)
    1.4142
    """

    def __init__(
        self,
        distance_metric: str = "euclidean",
        percentile: float | None = None,
        directed: bool = False,
        crop: bool = True,
    ) -> None:
        super().__init__(distance_metric)
        owner = "HausdorffDistance"
        self.percentile = (
            None if percentile is None else check_argument_type(percentile, "percentile", owner, float)
        )
        self.directed = (
            directed if directed is None else check_argument_type(directed, "directed", owner, bool)
        )
        self.crop = crop if crop is None else check_argument_type(crop, "crop", owner, bool)

    def _find_edges(self, y_pred: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.crop and y.ndim:
            coordinates = np.nonzero(y_pred | y)
            box = tuple(slice(at.min(), at.max() + 1) for at in coordinates)
            y_pred, y = np.squeeze(y_pred[box]), np.squeeze(y[box])
        return _find_edge(y_pred), _find_edge(y)

    def eval(self) -> Any:
        y_pred, y = self._both()
        there = self._farthest(y_pred, y)
        return there if self.directed else max(there, self._farthest(y, y_pred))

    def _farthest(self, start: np.ndarray, end: np.ndarray) -> Any:
        distances = self._distances(start, end)
        if distances is None:
            return np.inf
        if not self.percentile:
            return distances.max()
        if not 0 <= self.percentile <= 100:
            raise ArgumentValueError(
                "For 'HausdorffDistance', the value of the argument 'percentile' must be [0, 100], but got "
                f"{self.percentile}."
            )
        return np.percentile(distances, self.percentile)


class _MeanDistance(_SurfaceMetric):
    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        self.symmetric = check_argument_type(symmetric, "symmetric", type(self).__name__, bool)

    def _means(self, power: int) -> list[Any]:
        """Mean distances in one or both directions; infinity if a surface is empty."""
        y_pred, y = self._both()
        ways = [(y_pred, y), (y, y_pred)] if self.symmetric else [(y_pred, y)]
        distances = [self._distances(start, end) for start, end in ways]
        return [np.inf if each is None else (each**power).mean() for each in distances]


@public("nn", "train", "millrace")
class MeanSurfaceDistance(_MeanDistance):
    """The mean distance from one surface to the other; with ``symmetric``, the mean of both directions.

    >>> metric = MeanSurfaceDistance(symmetric=True)
    >>> metric.update(
    ...     np.array([[3, 0, 1], [1, 3, 0], [1, 0, 2]]), np.array([[0, 2, 1], [1, 2, 1], [0, 0, 1]]), 0
    ... )
    >>> round(float(metric.eval()), 4)
    0.7357
    """

    def eval(self) -> Any:
        there, *back = self._means(1)
        return np.mean((there, *back)) if back else there


@public("nn", "train", "millrace")
class RootMeanSquareDistance(_MeanDistance):
    """The mean squared distance from one surface to the other; with ``symmetric``, the root of the mean of both.

    One direction returns no root, as in MindSpore.

    >>> metric = RootMeanSquareDistance(symmetric=True)
    >>> metric.update(
    ...     np.array([[3, 0, 1], [1, 3, 0], [1, 0, 2]]), np.array([[0, 2, 1], [1, 2, 1], [0, 0, 1]]), 0
    ... )
    >>> round(float(metric.eval()), 4)
    0.9129
    """

    def eval(self) -> Any:
        there, *back = self._means(2)
        return np.sqrt(np.mean((there, *back))) if back else there


def _find_edge(mask: np.ndarray) -> np.ndarray:
    """Edge elements of a mask: elements with a neighbor outside the mask or at the border."""
    inner = mask.copy()
    for axis in range(mask.ndim):
        left, source = np.moveaxis(inner, axis, 0), np.moveaxis(mask, axis, 0)
        left[1:] &= source[:-1]
        left[:-1] &= source[1:]
        left[0] = left[-1] = False
    return mask & ~inner


def distance_to(mask: np.ndarray, metric: str) -> np.ndarray:
    """Distance transform: distance of each element to the nearest element of a mask, axis by axis.

    >>> distance_to(np.array([[True, False, False], [False, False, False]]), "taxicab").tolist()
    [[0, 1, 2], [1, 2, 3]]
    """
    if not mask.any():
        return np.full(mask.shape, np.inf)
    distances = np.where(mask, 0.0, np.inf)
    for axis, length in enumerate(mask.shape):
        previous = np.moveaxis(distances, axis, 0)
        nearest = previous.copy()
        for step in range(1, length):
            cost = step * step if metric == "euclidean" else step
            if cost >= nearest.max():
                break  # farther elements cannot be nearer
            for here, there in (
                (slice(step, None), slice(None, -step)),
                (slice(None, -step), slice(step, None)),
            ):
                neighbor = previous[there]
                path = np.maximum(neighbor, cost) if metric == "chessboard" else neighbor + cost
                np.minimum(nearest[here], path, out=nearest[here])
        distances = np.moveaxis(nearest, 0, axis)
    return np.sqrt(distances) if metric == "euclidean" else distances.astype(np.int32)
