"""Registry of metrics by name, as in ``Model(network, metrics={"acc"})``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public

from .classification import (
    F1,
    Accuracy,
    Fbeta,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from .confusion_matrix import ConfusionMatrix, ConfusionMatrixMetric
from .cosine_similarity import CosineSimilarity
from .metric import Metric, rearrange_inputs
from .occlusion_sensitivity import OcclusionSensitivity
from .regression import MAE, MSE, Loss
from .roc_auc import ROC, auc
from .segmentation import Dice, HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance
from .text import BleuScore, Perplexity

__all__ = [
    "Accuracy",
    "BleuScore",
    "ConfusionMatrix",
    "ConfusionMatrixMetric",
    "CosineSimilarity",
    "Dice",
    "F1",
    "Fbeta",
    "HausdorffDistance",
    "Loss",
    "MAE",
    "MSE",
    "MeanSurfaceDistance",
    "Metric",
    "OcclusionSensitivity",
    "Perplexity",
    "Precision",
    "ROC",
    "Recall",
    "RootMeanSquareDistance",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "auc",
    "get_metric_fn",
    "get_metrics",
    "names",
    "rearrange_inputs",
]

# Metric classes by name.
BY_NAME: dict[str, Callable[..., Any]] = {
    "F1": F1,
    "acc": Accuracy,
    "accuracy": Accuracy,
    "auc": auc,
    "bleu_score": BleuScore,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric,
    "cosine_similarity": CosineSimilarity,
    "dice": Dice,
    "hausdorff_distance": HausdorffDistance,
    "loss": Loss,
    "mae": MAE,
    "mean_surface_distance": MeanSurfaceDistance,
    "mse": MSE,
    "occlusion_sensitivity": OcclusionSensitivity,
    "perplexity": Perplexity,
    "precision": Precision,
    "recall": Recall,
    "roc": ROC,
    "root_mean_square_distance": RootMeanSquareDistance,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
    "topk": TopKCategoricalAccuracy,
}


@public("nn", "train", "millrace")
def names() -> list[str]:
    """Names of all metrics.

    >>> names()[:3]
    ['F1', 'acc', 'accuracy']
    """
    return sorted(BY_NAME)


@public("nn", "train", "millrace")
def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """Create a metric by name.

    >>> get_metric_fn("precision", eval_type="multilabel")  # doctest: +ELLIPSIS
    <millrace.nn.Precision object at ...>
    """
    if name not in BY_NAME:
        raise KeyError(f"For 'get_metric_fn', unsupported metric {name!r}: it must be one of {names()}.")
    return BY_NAME[name](*args, **kwargs)


@public("nn")
def get_metrics(metrics: dict[str, Metric] | set[str] | None) -> dict[str, Metric] | None:
    """Metrics by name, from a dict of metrics or a set of names.

    >>> sorted(get_metrics({"loss", "acc"}))
    ['acc', 'loss']
    """
    if metrics is None:
        return None
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise ArgumentTypeError(
                    "For 'get_metrics', if 'metrics' is dict, the key in 'metrics' must be string and value in "
                    f"'metrics' must be Metric, but got key:{type(name)}, value:{type(metric)}."
                )
        return metrics
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in metrics}
    raise ArgumentTypeError(
        f"For 'get_metrics', the argument 'metrics' must be None, dict or set, but got {metrics}"
    )
