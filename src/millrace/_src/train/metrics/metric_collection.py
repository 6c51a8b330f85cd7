"""The metrics of an evaluation and their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.values.tensor import Tensor

from .registry import Loss, Metric, get_metrics

__all__ = ["MetricCollection", "resolve_metrics"]


def resolve_metrics(metrics: Any) -> dict[str, Metric]:
    """Resolve the metrics argument: a name, names, or a dict of objects."""
    if not metrics and not isinstance(metrics, (int, float)):
        return {}
    if isinstance(metrics, str):
        metrics = {metrics}
    elif isinstance(metrics, (list, tuple)) and all(isinstance(each, str) for each in metrics):
        metrics = set(metrics)
    return get_metrics(metrics) or {}


class MetricCollection:
    """The metrics of one evaluation.

    `indexes` are the positions of loss, output and label; without them each metric gets all outputs.
    """

    def __init__(self, metrics: Mapping[str, Metric], indexes: list[int] | None, with_loss: bool) -> None:
        self._metrics, self._indexes = metrics, indexes
        self._loss = Loss() if with_loss and indexes is not None else None
        for metric in metrics.values():
            metric.clear()

    def update(self, outputs: Any) -> None:
        """Update the metrics with the outputs of a batch."""
        values = (outputs,) if isinstance(outputs, Tensor) else outputs
        indexes = self._indexes
        if indexes is None:
            for metric in self._metrics.values():
                metric.update(*values)
            return
        if len(values) < 3:
            raise ArgumentValueError(
                f"The length of 'outputs' must be >= 3, but got {len(values)}: 'eval_indexes' names three of them."
            )
        for metric in self._metrics.values():
            if isinstance(metric, Loss):
                metric.update(values[indexes[0]])
            else:
                metric.update(values[indexes[1]], values[indexes[2]])
        if self._loss is not None:
            self._loss.update(values[indexes[0]])

    def results(self) -> dict[str, Any]:
        """Results of the metrics by name."""
        return {name: _to_python_number(metric.eval()) for name, metric in self._metrics.items()}

    def loss(self) -> dict[str, Any]:
        """The loss of the evaluation, if it was computed."""
        return {} if self._loss is None else {"eval_loss": _to_python_number(self._loss.eval())}


def _to_python_number(result: Any) -> Any:
    """Convert a NumPy number to a Python number, which prints without its type."""
    return result.item() if isinstance(result, np.generic) else result
