"""Regression metrics: mean loss, absolute and squared errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public

from .metric import Metric, as_array, check_input_count, no_samples_error, rearrange_inputs

__all__ = ["Loss", "MAE", "MSE"]


@public("nn", "train", "millrace")
class Loss(Metric):
    """The mean of the losses of all batches.

    >>> metric = Loss()
    >>> metric.update(np.array(0.5))
    >>> metric.update(np.array([1.0, 2.0]))
    >>> float(metric.eval())
    1.0
    """

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum_loss = np.float64(0)
        self._total_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        loss = np.atleast_1d(as_array(check_input_count(1, inputs, "Loss", "loss")[0]))
        if loss.ndim != 1:
            raise ArgumentValueError(
                f"For 'Loss.update', the dimension of your input (loss) must be 1, but got {loss.ndim}."
            )
        self._sum_loss += loss.mean(-1)
        self._total_num += 1

    def eval(self) -> Any:
        if self._total_num == 0:
            raise no_samples_error("Loss")
        return self._sum_loss / self._total_num


class _Error(Metric):
    """A sum over all elements, divided by the number of samples."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum = np.float64(0)
        self._samples_num = 0

    @staticmethod
    def _cost(difference: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        owner = type(self).__name__
        y_pred, y = map(as_array, check_input_count(2, inputs, owner, "predicted value, true value"))
        if y_pred.size != y.size or y.ndim == 0:
            raise ArgumentValueError(
                f"For '{owner}.update', predicted value (input[0]) and true value (input[1]) must have as many "
                f"elements and at least one axis, but got shapes {y_pred.shape} and {y.shape}."
            )
        self._sum += self._cost(y.reshape(y_pred.shape) - y_pred).sum()
        self._samples_num += y.shape[0]

    def eval(self) -> Any:
        if self._samples_num == 0:
            raise no_samples_error(type(self).__name__)
        return self._sum / self._samples_num


@public("nn", "train", "millrace")
class MAE(_Error):
    """The sum of absolute errors, divided by the number of samples.

    >>> metric = MAE()
    >>> metric.update([0.1, 0.5], [0.1, 1.0])
    >>> float(metric.eval())
    0.25
    """

    @staticmethod
    def _cost(difference: np.ndarray) -> np.ndarray:
        return np.abs(difference)


@public("nn", "train", "millrace")
class MSE(_Error):
    """The sum of squared errors, divided by the number of samples.

    >>> metric = MSE()
    >>> metric.update([0.1, 0.5], [0.1, 1.5])
    >>> float(metric.eval())
    0.5
    """

    @staticmethod
    def _cost(difference: np.ndarray) -> np.ndarray:
        return np.power(difference, 2)
