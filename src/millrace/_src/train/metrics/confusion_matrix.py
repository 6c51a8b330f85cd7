"""Confusion matrices and metrics computed from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type, check_choice

from .metric import Metric, as_array, check_input_count, no_samples_error, not_updated_error, rearrange_inputs

__all__ = ["ConfusionMatrix", "ConfusionMatrixMetric"]

NORMALIZE = ["target", "prediction", "all", "no_norm"]
DECREASE = ["none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel"]


@public("nn", "train", "millrace")
class ConfusionMatrix(Metric):
    """Confusion matrix: counts of true class (row) and predicted class (column).

    >>> metric = ConfusionMatrix(2)
    >>> metric.update([1, 0, 1, 0], [1, 0, 0, 1])
    >>> metric.eval().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5) -> None:
        super().__init__()
        self.num_classes = check_argument_type(num_classes, "num_classes", "ConfusionMatrix", int)
        if normalize not in NORMALIZE:
            raise ArgumentValueError(
                f"For 'ConfusionMatrix', the argument 'normalize' must be in {NORMALIZE}, but got {normalize}."
            )
        self.normalize = normalize
        self.threshold = check_argument_type(threshold, "threshold", "ConfusionMatrix", float)
        self.clear()

    def clear(self) -> None:
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = map(
            as_array, check_input_count(2, inputs, "ConfusionMatrix", "predicted value, true value")
        )
        if y_pred.ndim not in (y.ndim, y.ndim + 1):
            raise ArgumentValueError(
                "For 'ConfusionMatrix.update', predicted value (input[0]) and true value (input[1]) should have same "
                "dimensions, or the dimension of predicted value equals the dimension of true value add 1, but got "
                f"predicted value ndim: {y_pred.ndim}, true value ndim: {y.ndim}."
            )
        if y_pred.ndim == y.ndim + 1:
            y_pred = np.argmax(y_pred, axis=1)
        elif y_pred.dtype.kind == "f":
            y_pred = y_pred >= self.threshold
        predictions, wanted, count = (
            y_pred.reshape(-1).astype(int),
            y.reshape(-1).astype(int),
            self.num_classes,
        )
        if predictions.shape != wanted.shape:
            raise ArgumentValueError(
                "For 'ConfusionMatrix.update', there must be a prediction for each label, but got "
                f"{predictions.size} predictions and {wanted.size} labels."
            )
        for name, classes in (("predicted value (input[0])", predictions), ("true value (input[1])", wanted)):
            if classes.size and not (classes.min() >= 0 and classes.max() < count):
                raise ArgumentValueError(
                    f"For 'ConfusionMatrix.update', the {name} must hold classes in [0, {count}), but got "
                    f"{classes.min()} to {classes.max()}."
                )
        pairs = np.bincount(wanted * count + predictions, minlength=count**2)
        self.confusion_matrix += pairs.reshape(count, count)
        self._is_update = True

    def eval(self) -> Any:
        if not self._is_update:
            raise not_updated_error()
        matrix = self.confusion_matrix.astype(float)
        if self.normalize == "no_norm":
            return matrix
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        return _divide(matrix, matrix.sum(axis=axis, keepdims=True), 0.0)


@public("nn", "train", "millrace")
class ConfusionMatrixMetric(Metric):
    """A metric of the confusion matrix, selected by ``metric_name``.

    Inputs are one-hot, with the classes on axis 1. ``calculation_method=True`` computes it per sample and reduces the
    values by ``decrease`` (MindSpore supports only "mean" and "sum", and fails for single labels; here "mean_batch"
    returns one value per class, and so on).

    >>> metric = ConfusionMatrixMetric(metric_name="tpr")
    >>> metric.update([[[0], [1]], [[1], [0]]], [[[0], [1]], [[0], [1]]])
    >>> metric.eval().tolist()
    [0.5]
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        owner = "ConfusionMatrixMetric"
        self.skip_channel = check_argument_type(skip_channel, "skip_channel", owner, bool)
        self.calculation_method = check_argument_type(calculation_method, "calculation_method", owner, bool)
        self.metric_name = check_argument_type(metric_name, "metric_name", owner, str)
        self.decrease = check_choice(
            check_argument_type(decrease, "decrease", owner, str), "decrease", owner, DECREASE
        )
        self.clear()

    def clear(self) -> None:
        self._total_num: Any = 0.0
        self._class_num: Any = 0.0
        self._counts: Any = np.zeros(4)

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        owner = "ConfusionMatrixMetric"
        y_pred, y = map(as_array, check_input_count(2, inputs, owner, "predicted value, true value"))
        if not np.all(y.astype(np.uint8) == y):
            raise ArgumentValueError(
                f"For '{owner}.update', the true value (input[1]) must be a binarized ndarray."
            )
        if y_pred.ndim < 2:
            raise ArgumentValueError(
                f"For '{owner}.update', the predicted value (input[0]) must have at least 2 dimensions, but got "
                f"{y_pred.ndim}."
            )
        counts = _count_outcomes(y_pred, y, self.skip_channel)
        single = y_pred.ndim == 2 or (y_pred.ndim == 3 and y_pred.shape[-1] == 1)
        if self.calculation_method and not single:
            score, known = _reduce_scores(_compute_score(self.metric_name, counts), self.decrease)
            self._total_num = self._total_num + score * known
            self._class_num = self._class_num + known
        else:
            self._counts = self._counts + counts.sum(axis=(0, 1))

    def eval(self) -> Any:
        if not self.calculation_method or self._counts.any():
            return _compute_score(self.metric_name, self._counts[None])
        if not np.any(self._class_num):
            raise no_samples_error("ConfusionMatrixMetric")
        ratio = _divide(np.asarray(self._total_num), np.asarray(self._class_num), 0.0)
        return ratio.item() if ratio.ndim == 0 else ratio


def _divide(above: Any, below: Any, else_: float = np.nan) -> np.ndarray:
    """Quotient with a default for division by 0."""
    above, below = np.broadcast_arrays(np.asarray(above, float), np.asarray(below, float))
    return np.divide(above, below, out=np.full(above.shape, else_), where=below != 0)


def _count_outcomes(y_pred: np.ndarray, y: np.ndarray, skip_channel: bool) -> np.ndarray:
    """True positives, false positives, true negatives and false negatives per sample and class."""
    if not skip_channel:
        y = y[:, 1:] if y.shape[1] > 1 else y
        y_pred = y_pred[:, 1:] if y_pred.shape[1] > 1 else y_pred
    if y.shape != y_pred.shape:
        raise ArgumentValueError(
            "For 'ConfusionMatrixMetric.update', the shape of the true value (input[1]) should be that of the "
            f"predicted value (input[0]), {y_pred.shape}, but got {y.shape}."
        )
    rows = (*y_pred.shape[:2], -1)
    y_pred, y = y_pred.astype(float).reshape(rows), y.astype(float).reshape(rows)
    both, neither = (y_pred + y == 2).sum(axis=2), (y_pred + y == 0).sum(axis=2)
    positive = y.sum(axis=2)
    negative = y.shape[-1] - positive
    return np.stack([both, negative - neither, neither, positive - both], axis=-1).astype(float)


def _reduce_scores(score: np.ndarray, how: str) -> tuple[Any, Any]:
    """Reduce scores (sample, class) without NaN; returns the scores and their counts."""
    known = (~np.isnan(score)).astype(float)
    score = np.nan_to_num(score, nan=0.0)
    reduction, _, along = how.partition("_")
    if reduction == "none":
        return score, known
    if reduction == "sum":
        axis: Any = {"": (0, 1), "batch": 0, "channel": 1}[along]
        return score.sum(axis=axis), known.sum(axis=axis)
    if along:
        axis = 0 if along == "batch" else 1
        count = known.sum(axis=axis)
        return _divide(score.sum(axis=axis), count, 0.0), count
    count = known.sum(axis=1)  # per sample first, then over all samples
    each, samples = _divide(score.sum(axis=1), count, 0.0), (count > 0).sum(axis=0).astype(float)
    return _divide(each.sum(axis=0), samples, 0.0), samples


class _Rates:
    """The four counts and their common ratios."""

    def __init__(self, counts: np.ndarray) -> None:
        self.tp, self.fp, self.tn, self.fn = (counts[..., i] for i in range(4))
        self.p, self.n = self.tp + self.fn, self.fp + self.tn
        self.tpr, self.tnr = _divide(self.tp, self.p), _divide(self.tn, self.n)
        self.ppv, self.npv = _divide(self.tp, self.tp + self.fp), _divide(self.tn, self.tn + self.fn)


SCORES: dict[str, Callable[[_Rates], np.ndarray]] = {
    "tpr": lambda r: r.tpr,
    "tnr": lambda r: r.tnr,
    "ppv": lambda r: r.ppv,
    "npv": lambda r: r.npv,
    "fnr": lambda r: _divide(r.fn, r.p),
    "fpr": lambda r: _divide(r.fp, r.n),
    "fdr": lambda r: _divide(r.fp, r.fp + r.tp),
    "for": lambda r: _divide(r.fn, r.fn + r.tn),
    "pt": lambda r: _divide(np.sqrt(r.tpr * (1.0 - r.tnr)) + r.tnr - 1.0, r.tpr + r.tnr - 1.0),
    "ts": lambda r: _divide(r.tp, r.tp + r.fn + r.fp),
    "acc": lambda r: _divide(r.tp + r.tn, r.p + r.n),
    "ba": lambda r: (r.tpr + r.tnr) / 2.0,
    "f1": lambda r: _divide(2.0 * r.tp, 2.0 * r.tp + r.fn + r.fp),
    "mcc": lambda r: _divide(
        r.tp * r.tn - r.fp * r.fn, np.sqrt((r.tp + r.fp) * (r.tp + r.fn) * (r.tn + r.fp) * (r.tn + r.fn))
    ),
    "fm": lambda r: np.sqrt(r.ppv * r.tpr),
    "bm": lambda r: r.tpr + r.tnr - 1.0,
    "mk": lambda r: r.ppv + r.npv - 1.0,
}
METRIC_ALIASES = {
    "tpr": ("sensitivity", "recall", "hit_rate", "true_positive_rate"),
    "tnr": ("specificity", "selectivity", "true_negative_rate"),
    "ppv": ("precision", "positive_predictive_value"),
    "npv": ("negative_predictive_value",),
    "fnr": ("miss_rate", "false_negative_rate"),
    "fpr": ("fall_out", "false_positive_rate"),
    "fdr": ("false_discovery_rate",),
    "for": ("false_omission_rate",),
    "pt": ("prevalence_threshold",),
    "ts": ("threat_score", "critical_success_index", "csi"),
    "acc": ("accuracy",),
    "ba": ("balanced_accuracy",),
    "f1": ("f1_score",),
    "mcc": ("matthews_correlation_coefficient",),
    "fm": ("fowlkes_mallows_index",),
    "bm": ("informedness", "bookmaker_informedness"),
    "mk": ("markedness", "deltap"),
}
SHORT = {name: short for short, names in METRIC_ALIASES.items() for name in (short, *names)}


def _compute_score(name: str, counts: np.ndarray) -> np.ndarray:
    short = SHORT.get(name.replace(" ", "_").lower())
    if short is None:
        raise NotImplementedError(
            f"The metric is not implemented: 'metric_name' is {name!r}, and must be one of {sorted(SHORT)}."
        )
    return SCORES[short](_Rates(counts))
