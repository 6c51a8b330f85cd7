"""The receiver operating characteristic, and the area under a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type

from .metric import Metric, as_array, check_input_count, not_updated_error, rearrange_inputs

__all__ = ["ROC", "auc"]


@public("nn", "train", "millrace")
class ROC(Metric):
    """ROC curve: false and true positive rates per threshold; lists of one per class for several classes.

    >>> metric = ROC(pos_label=1)
    >>> metric.update([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> fpr, tpr, thresholds = metric.eval()
    >>> float(auc(fpr, tpr))
    0.75
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        self.class_num = (
            None if class_num is None else check_argument_type(class_num, "class_num", "ROC", int)
        )
        self.pos_label = (
            None if pos_label is None else check_argument_type(pos_label, "pos_label", "ROC", int)
        )
        self.clear()

    def clear(self) -> None:
        self.y_pred: Any = 0
        self.y: Any = 0
        self.sample_weights = None
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = map(as_array, check_input_count(2, inputs, "ROC", "predicted value, true value"))
        if y_pred.ndim == y.ndim:
            if self.class_num not in (None, 1):
                raise ArgumentValueError(
                    "For 'ROC', when predicted value (input[0]) and true value (input[1]) have the same shape, the "
                    f"'class_num' must be 1, but got {self.class_num}."
                )
            self.class_num = 1
            self.pos_label = 1 if self.pos_label is None else self.pos_label
            y_pred = y_pred.reshape(-1, 1)
        elif y_pred.ndim == y.ndim + 1:
            if self.pos_label is not None:
                raise ArgumentValueError(
                    "For 'ROC', when the dimension of predicted value (input[0]) equals the dimension of true value "
                    f"(input[1]) add 1, the 'pos_label' must be None, but got {self.pos_label}."
                )
            if self.class_num != y_pred.shape[1]:
                raise ArgumentValueError(
                    "For 'ROC', the 'class_num' must equal the number of classes from predicted value (input[0]), but "
                    f"got 'class_num' {self.class_num}, the number of classes from predicted value {y_pred.shape[1]}."
                )
            y_pred = np.moveaxis(y_pred, 1, -1).reshape(-1, y_pred.shape[1])
        else:
            raise ArgumentValueError(
                "For 'ROC', predicted value (input[0]) and true value (input[1]) must have same dimensions, or the "
                "dimension of predicted value equal the dimension of true value add 1, but got predicted value ndim: "
                f"{y_pred.ndim}, true value ndim: {y.ndim}."
            )
        if y_pred.shape[0] != y.size or y.size == 0:
            raise ArgumentValueError(
                f"For 'ROC.update', there must be a label for each row of scores, but got {y_pred.shape[0]} rows and "
                f"{y.size} labels."
            )
        self.y_pred, self.y, self._is_update = y_pred, y.reshape(-1), True

    def eval(self) -> Any:
        if not self._is_update:
            raise not_updated_error()
        if self.class_num == 1:
            label = self.pos_label if self.pos_label is not None else 0
            return _compute_curve(self.y_pred[:, 0], self.y == label)
        curves = [_compute_curve(self.y_pred[:, c], self.y == c) for c in range(self.class_num or 0)]
        return tuple(list(part) for part in zip(*curves, strict=True))


def _compute_curve(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ROC curve of one class, from the highest threshold down."""
    order = np.argsort(-scores)
    scores, positive = scores[order], positive[order].astype(np.int64)
    last = np.append(
        np.nonzero(np.diff(scores))[0], scores.size - 1
    )  # the last index of each run of equal scores
    right = np.append(0, np.cumsum(positive)[last])
    wrong = np.append(0, 1 + last - right[1:])
    if wrong[-1] <= 0:
        raise ArgumentValueError(
            "For 'ROC.eval', there is no negative samples in true value, false positive value is meaningless."
        )
    if right[-1] <= 0:
        raise ArgumentValueError(
            "For 'ROC.eval', there is no positive samples in true value, true positive value is meaningless."
        )
    thresholds = np.hstack([scores[last][:1] + 1, scores[last]])
    return wrong / wrong[-1], right / right[-1], thresholds


@public("nn", "train", "millrace")
def auc(x: np.ndarray, y: np.ndarray, reorder: bool = False) -> Any:
    """The area under a curve, by trapezoids.

    >>> float(auc(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 1.0])))
    0.75
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        raise ArgumentTypeError(
            f"For 'auc', the argument 'x' and 'y' must all be np.ndarray, but got {type(x)}, {type(y)}"
        )
    for array in (x, y):
        if array.ndim == 0:
            raise ArgumentTypeError(f"Singleton array {array} cannot be considered as a valid collection.")
    if len(x) != len(y):
        raise ArgumentValueError(
            f"Found input variables with inconsistent numbers of samples: {[len(x), len(y)]}."
        )
    for array in (x, y):
        if array.ndim != 1 and not (array.ndim == 2 and array.shape[1] == 1):
            raise ArgumentValueError(
                "For 'auc', the input must be a 1-dimensional array, or a 2-dimensional array with the second "
                f"dimension of 1, but got shape {array.shape}."
            )
    x, y = x.ravel(), y.ravel()
    if len(x) < 2:
        raise ArgumentValueError(
            f"For 'auc', the shape of the argument 'x' in axis 0 must be at least 2, but got {len(x)}."
        )
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    falling = bool((steps < 0).any())
    if falling and not (steps <= 0).all():
        raise ArgumentValueError(
            "For 'auc', if the argument 'reorder' is False, the argument 'x' array must be increasing or decreasing, "
            f"but got 'x': {x}"
        )
    area = (steps * (y[1:] + y[:-1]) / 2.0).sum()
    return -area if falling else area
