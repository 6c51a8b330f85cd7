"""Base classes and input checks of metrics."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor

__all__ = [
    "ClassMetric",
    "Metric",
    "as_array",
    "check_input_count",
    "no_samples_error",
    "not_updated_error",
    "rearrange_inputs",
]

F = TypeVar("F", bound=Callable[..., Any])
EVAL_TYPES = ("classification", "multilabel")


@public("nn", "train", "millrace")
def rearrange_inputs(func: F) -> F:
    """Decorator of ``update`` that passes the inputs chosen by ``set_indexes``, in that order.

    >>> class Largest(Metric):
    ...     def clear(self):
    ...         self.found = 0.0
    ...
    ...     @rearrange_inputs
    ...     def update(self, *inputs):
    ...         self.found = max(self.found, inputs[0].max())
    ...
    ...     def eval(self):
    ...         return float(self.found)
    >>> Largest().set_indexes([1])(np.zeros(2), np.ones(2))
    1.0
    """

    @functools.wraps(func)
    def chosen(self: Metric, *inputs: Any) -> Any:
        indexes = self.indexes
        if not indexes:
            return func(self, *inputs)
        if max(indexes) >= len(inputs) or min(indexes) < -len(inputs):
            raise IndexError(
                f"For '{type(self).__name__}.update', 'set_indexes' chose {indexes}, but there are {len(inputs)} "
                f"inputs. Give indexes below {len(inputs)}."
            )
        return func(self, *(inputs[i] for i in indexes))

    return chosen  # type: ignore[return-value]


@public("nn", "train", "millrace")
class Metric(ABC):
    """Base class of metrics: ``clear``, ``update`` with each batch, ``eval`` at the end.

    A custom metric implements these three methods; decorate ``update`` with ``rearrange_inputs`` to support
    ``set_indexes``.

    >>> from millrace.train import MAE
    >>> metric = MAE().set_indexes([2, 0])
    >>> metric.update([1.0, 2.0], None, [1.5, 2.0])
    >>> float(metric.eval())
    0.25
    """

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """Indexes of the inputs for ``update``; None for all in order."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Set the indexes of the inputs for ``update``."""
        if not isinstance(indexes, list) or not all(isinstance(i, int) for i in indexes):
            raise ArgumentValueError(
                "For 'set_indexes', the argument 'indexes' must be a list and all its elements must be int, "
                f"but got {indexes!r}."
            )
        self._indexes = indexes
        return self

    def __call__(self, *inputs: Any) -> Any:
        """Compute the metric of one batch."""
        self.clear()
        self.update(*inputs)
        return self.eval()

    @staticmethod
    def _convert_data(data: Any) -> np.ndarray:
        """Convert an input to an array; custom metrics call it by this name."""
        return as_array(data)

    @abstractmethod
    def clear(self) -> Any:
        """Reset the metric."""

    @abstractmethod
    def eval(self) -> Any:
        """Compute the metric of all batches since the last ``clear``."""

    @abstractmethod
    def update(self, *inputs: Any) -> Any:
        """Update the metric with a batch."""


class ClassMetric(Metric):
    """Base class of classification metrics; labels are class indexes, one-hot, or multilabel."""

    def __init__(self, eval_type: str | None = "classification") -> None:
        super().__init__()
        if eval_type is not None and eval_type not in EVAL_TYPES:
            raise ArgumentTypeError(
                f"The argument 'eval_type' must be in {set(EVAL_TYPES)}, but got {eval_type}"
            )
        self._type = eval_type
        self._class_num = 0

    def _batch(self, inputs: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Predictions and labels as arrays; one-hot labels become class indexes."""
        owner = type(self).__name__
        y_pred, y = map(as_array, check_input_count(2, inputs, owner, "predicted value, true value"))
        if self._type != "multilabel" and y_pred.ndim == y.ndim and is_onehot(y):
            y = y.argmax(axis=1)
        if self._type is not None:
            check_shapes(self._type, y_pred, y)
        elif y_pred.ndim < 2 or y_pred.size // max(y_pred.shape[1], 1) != y.size:
            raise ArgumentValueError(
                f"For '{owner}.update', there must be a label for each row of the predicted value, but got predicted "
                f"value shape {y_pred.shape} and true value shape {y.shape}."
            )
        if y_pred.ndim < 2:
            raise IndexError(
                f"For '{owner}.update', the predicted value (input[0]) must have an axis of classes, axis 1, but got "
                f"shape {y_pred.shape}."
            )
        if self._type == "multilabel" and not (is_binary(y_pred) and is_binary(y)):
            raise ArgumentValueError(
                "In multilabel case, all elements in y_pred (predicted value) and y (true value) should be 0 or 1. "
                "Please check whether your inputs y_pred and y are correct."
            )
        if self._class_num not in (0, y_pred.shape[1]):
            raise ArgumentValueError(
                f"For '{owner}.update', class number not match, last input predicted data contain {self._class_num} "
                f"classes, but current predicted data contain {y_pred.shape[1]} classes, please check your predicted "
                "value(inputs[0])."
            )
        self._class_num = y_pred.shape[1]
        return y_pred, y

    def _hits(self, y_pred: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predictions and labels as binary matrices; columns are classes, or samples for multilabel."""
        count = self._class_num
        if self._type == "multilabel":
            return y_pred.swapaxes(1, 0).reshape(count, -1), y.swapaxes(1, 0).reshape(count, -1)
        labels = y.reshape(-1).astype(np.int64)
        if labels.size and not (labels.min() >= 0 and labels.max() < count):
            raise ArgumentValueError(
                f"For '{type(self).__name__}.update', predicted value (input[0]) should have the same classes number "
                f"as true value (input[1]), but got predicted value classes {count}, true value classes "
                f"{labels.max() + 1}; labels are from {labels.min()} to {labels.max()}."
            )
        predicted_classes = y_pred.argmax(axis=1).reshape(-1)
        return np.eye(count)[predicted_classes], np.eye(count)[labels]


def as_array(data: Any) -> np.ndarray:
    """Convert a tensor, list or array to an array."""
    if isinstance(data, Tensor):
        array = data.asnumpy()
        return array if array.dtype.kind in "biufc" else array.astype(np.float32)  # bfloat16
    if isinstance(data, list):
        return np.array(data)
    if isinstance(data, np.ndarray):
        return data
    raise ArgumentTypeError(
        "For 'Metric' and its derived classes, the input data type must be tensor, list or numpy.ndarray, "
        f"but got {type(data)}."
    )


def check_input_count(count: int, inputs: tuple[Any, ...], owner: str, what: str) -> tuple[Any, ...]:
    """Check the number of inputs of ``update``."""
    if len(inputs) != count:
        plural = "input" if count == 1 else "inputs"
        raise ArgumentValueError(
            f"For '{owner}.update', it needs {count} {plural} ({what}), but got {len(inputs)}. If the network has "
            "more outputs, choose some with 'set_indexes'."
        )
    return inputs


def no_samples_error(owner: str) -> OperationError:
    """Error of ``eval`` without samples."""
    return OperationError(
        f"The '{owner}' can not be calculated, because the number of samples is 0, please check whether your "
        "inputs(predicted value, true value) are empty, or has called update method before calling eval method."
    )


def not_updated_error() -> OperationError:
    """Error of ``eval`` before the first ``update``."""
    return OperationError("Please call the 'update' method before calling 'eval' method.")


def is_binary(array: np.ndarray) -> bool:
    """Whether all elements are 0 or 1."""
    return bool(np.equal(array**2, array).all())


def is_onehot(array: np.ndarray) -> bool:
    """Whether axis 1 is one-hot everywhere."""
    return array.ndim > 1 and is_binary(array) and bool((array.sum(axis=1) == 1).all())


def check_shapes(eval_type: str, y_pred: np.ndarray, y: np.ndarray) -> None:
    """Check that labels have the shape of the predictions, without axis 1 for single-label classification."""
    if eval_type == "multilabel":
        if y_pred.shape != y.shape:
            raise ArgumentValueError(
                "In multilabel case, the shape of y_pred (predicted value) should equal to the shape of y (true "
                f"value), but got y_pred shape: {y_pred.shape} and y shape: {y.shape}."
            )
        return
    if y_pred.ndim != y.ndim + 1:
        raise ArgumentValueError(
            "In classification case, the dimension of y_pred (predicted value) should equal to the dimension of y "
            f"(true value) add 1, but got y_pred dimension: {y_pred.ndim} and y dimension: {y.ndim}."
        )
    if y.shape != (y_pred.shape[0], *y_pred.shape[2:]):
        raise ArgumentValueError(
            "In classification case, y_pred (predicted value) shape and y (true value) shape can not match: y has the "
            f"shape of y_pred without axis 1. But got y_pred shape {y_pred.shape} and y shape {y.shape}"
        )
