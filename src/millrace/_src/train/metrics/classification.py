"""Classification metrics: accuracy, precision, recall, F-scores, top-k accuracy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type

from .metric import (
    ClassMetric,
    Metric,
    as_array,
    check_input_count,
    is_onehot,
    no_samples_error,
    rearrange_inputs,
)

__all__ = [
    "F1",
    "Accuracy",
    "Fbeta",
    "Precision",
    "Recall",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
]

TINY = sys.float_info.min  # keeps 0 / 0 at 0


@public("nn", "train", "millrace")
class Accuracy(ClassMetric):
    """Accuracy: the share of correctly classified samples; with ``eval_type="multilabel"``, with all labels correct.

    >>> metric = Accuracy()
    >>> metric.update([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], [1, 0, 1])
    >>> round(float(metric.eval()), 4)
    0.6667
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        self._correct_num: Any = 0
        self._total_num = 0
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._batch(inputs)
        if self._type == "multilabel":
            last, rows = y_pred.ndim - 1, (-1, self._class_num)
            right = (y_pred.swapaxes(1, last).reshape(rows) == y.swapaxes(1, last).reshape(rows)).all(axis=1)
        else:
            right = (y_pred.argmax(axis=1) == y).reshape(-1)
        self._correct_num += right.sum()
        self._total_num += right.shape[0]

    def eval(self) -> Any:
        if self._total_num == 0:
            raise no_samples_error("Accuracy")
        return self._correct_num / self._total_num


class _PerClassRatio(ClassMetric):
    """True positives divided by a count, per class (per sample for multilabel)."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.eps = TINY
        self.clear()

    def clear(self) -> None:
        self._class_num = 0
        many = self._type == "multilabel"
        self._true_positives: Any = np.empty(0) if many else 0
        self._among: Any = np.empty(0) if many else 0

    @staticmethod
    def _whole(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The denominator of the ratio."""
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predictions, labels = self._hits(*self._batch(inputs))
        right, among = (labels * predictions).sum(axis=0), self._whole(predictions, labels).sum(axis=0)
        if self._type == "multilabel":
            self._true_positives = np.concatenate((self._true_positives, right))
            self._among = np.concatenate((self._among, among))
        else:
            self._true_positives += right
            self._among += among

    def eval(self, average: bool = False) -> Any:
        owner = type(self).__name__
        if self._class_num == 0:
            raise no_samples_error(owner)
        check_argument_type(average, "average", owner, bool)
        share = self._true_positives / (self._among + self.eps)
        return share.mean() if average else share


@public("nn", "train", "millrace")
class Precision(_PerClassRatio):
    """Precision per class: true positives divided by positive predictions.

    With ``eval_type="multilabel"`` there is one value per sample; ``eval(average=True)`` returns the mean.

    >>> metric = Precision()
    >>> metric.update([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], [1, 0, 1])
    >>> metric.eval().tolist()
    [0.5, 1.0]
    """

    @staticmethod
    def _whole(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return predictions


@public("nn", "train", "millrace")
class Recall(_PerClassRatio):
    """Recall per class: true positives divided by positive labels.

    >>> metric = Recall()
    >>> metric.update([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], [1, 0, 1])
    >>> metric.eval().tolist()
    [1.0, 0.5]
    """

    @staticmethod
    def _whole(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return labels


@public("nn", "train", "millrace")
class Fbeta(ClassMetric):
    """F-beta score per class: weighted harmonic mean of precision and recall, recall weighted ``beta`` times.

    >>> metric = Fbeta(2)
    >>> metric.update([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], [1, 0, 1])
    >>> metric.eval().round(4).tolist()
    [0.8333, 0.5556]
    """

    def __init__(self, beta: float) -> None:
        super().__init__(None)
        self.eps = TINY
        if not beta > 0:
            raise ArgumentValueError(
                f"For 'Fbeta', the argument 'beta' must be greater than 0, but got {beta}."
            )
        self.beta = beta
        self.clear()

    def clear(self) -> None:
        self._class_num = 0
        self._true_positives: Any = 0
        self._actual_positives: Any = 0
        self._positives: Any = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predictions, labels = self._hits(*self._batch(inputs))
        self._true_positives += (labels * predictions).sum(axis=0)
        self._positives += predictions.sum(axis=0)
        self._actual_positives += labels.sum(axis=0)

    def eval(self, average: bool = False) -> Any:
        owner = type(self).__name__
        check_argument_type(average, "average", owner, bool)
        if self._class_num == 0:
            raise no_samples_error("Fbeta")
        square = self.beta**2
        score = (1.0 + square) * self._true_positives
        score = score / (square * self._actual_positives + self._positives + self.eps)
        return score.mean() if average else score


@public("nn", "train", "millrace")
class F1(Fbeta):
    """F1 score: F-beta with ``beta=1``.

    >>> metric = F1()
    >>> metric.update([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]], [1, 0, 1])
    >>> metric.eval(average=True).round(4).tolist()
    0.6667
    """

    def __init__(self) -> None:
        super().__init__(1.0)


@public("nn", "train", "millrace")
class TopKCategoricalAccuracy(Metric):
    """Top-k accuracy: the share of samples whose class is among the ``k`` highest scores.

    >>> metric = TopKCategoricalAccuracy(2)
    >>> metric.update([[0.1, 0.3, 0.6], [0.7, 0.1, 0.2]], [1, 1])
    >>> float(metric.eval())
    0.5
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        if not isinstance(k, int):
            raise ArgumentTypeError(
                "For 'TopKCategoricalAccuracy', the type of the argument 'k' should be int, but got 'k' type: "
                f"{type(k)}."
            )
        if k < 1:
            raise ArgumentValueError(
                f"For 'TopKCategoricalAccuracy', the argument 'k' must be at least 1, but got 'k' value: {k}."
            )
        self.k = k
        self.clear()

    def clear(self) -> None:
        self._correct_num: Any = 0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        owner = "TopKCategoricalAccuracy"
        y_pred, y = map(as_array, check_input_count(2, inputs, owner, "predicted value, true value"))
        if y_pred.ndim == y.ndim and is_onehot(y):
            y = y.argmax(axis=1)
        if y_pred.ndim != 2 or y.size != y_pred.shape[0] or y_pred.shape[1] < self.k:
            raise ArgumentValueError(
                f"For '{owner}.update', the predicted value (input[0]) must have the shape (samples, classes) with at "
                f"least {self.k} classes, and the true value (input[1]) a label for each sample, but got shapes "
                f"{y_pred.shape} and {y.shape}."
            )
        best = np.argsort(-y_pred, axis=1)[:, : self.k]
        self._correct_num += (best == y.reshape(-1, 1)).sum()
        self._samples_num += y.size

    def eval(self) -> Any:
        if self._samples_num == 0:
            raise no_samples_error("TopKCategoricalAccuracy")
        return self._correct_num / self._samples_num


@public("nn", "train", "millrace")
class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """Top-1 accuracy: the share of samples whose class has the highest score.

    >>> metric = Top1CategoricalAccuracy()
    >>> metric.update([[0.1, 0.3, 0.6], [0.7, 0.1, 0.2]], [2, 1])
    >>> float(metric.eval())
    0.5
    """

    def __init__(self) -> None:
        super().__init__(1)


@public("nn", "train", "millrace")
class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """Top-5 accuracy: the share of samples whose class is among the five highest scores.

    >>> metric = Top5CategoricalAccuracy()
    >>> metric.update([[0.1, 0.2, 0.3, 0.05, 0.15, 0.2]], [3])
    >>> float(metric.eval())
    0.0
    """

    def __init__(self) -> None:
        super().__init__(5)
