"""Read monitored values of a training: loss, learning rate, metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.log import warn_once
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["improvement_test", "loss_of", "monitored_value", "learning_rate_parameter", "set_learning_rate"]


# Name parts of values that should fall.
LOWER_IS_BETTER = ("loss", "mae", "mse", "err", "perplexity", "distance")


def loss_of(outputs: Any) -> Any:
    """The loss of a step's outputs for printing: a float, or an array if a step has several outputs.

    Reading it synchronizes the device.
    """
    if isinstance(outputs, (tuple, list)):
        first = outputs[0] if outputs else None
        return first.asnumpy() if isinstance(first, Tensor) else first
    return float(np.mean(outputs.asnumpy())) if isinstance(outputs, Tensor) else outputs


def monitored_value(params: Any, name: str, owner: str) -> float | None:
    """The monitored value: ``loss`` is the training loss, other names are evaluation results."""
    if name == "loss":
        value = loss_of(params.get("net_outputs"))
        return None if value is None else float(np.mean(value))
    results = params.get("eval_results") or {}
    if name not in results:
        warn_once(
            f"{owner}-{name}",
            f"[{owner}] monitors '{name}', which is not there: an evaluation by Model.fit gives "
            f"{', '.join(sorted(results)) or 'nothing yet'}, and 'loss' is that of the training.",
        )
        return None
    value = results[name]
    return float(np.mean(value.asnumpy() if isinstance(value, Tensor) else value))


def improvement_test(mode: str, name: str, delta: float) -> tuple[Any, float]:
    """Comparison function for improvements, and the initial worst value.

    "auto": values named like a loss, an error or a distance should fall, others should rise.
    """
    if mode not in ("auto", "min", "max"):
        raise ArgumentValueError(f"mode should be 'auto', 'min' or 'max', but got {mode}.")
    falls = mode == "min" or (mode == "auto" and any(term in name.lower() for term in LOWER_IS_BETTER))
    if falls:
        return (lambda value, best: value < best - delta), float("inf")
    return (lambda value, best: value > best + delta), float("-inf")


def learning_rate_parameter(optimizer: Any) -> Parameter:
    """The learning-rate parameter of an optimizer; raises an error for schedules."""
    rate = getattr(optimizer, "learning_rate", None)
    if not isinstance(rate, Parameter) or rate.ndim:
        raise ArgumentValueError(
            "The learning rate of this optimizer cannot be set: it follows a schedule, or differs between groups. "
            "Make the optimizer with one number for 'learning_rate'."
        )
    return rate


def set_learning_rate(rate: Parameter, value: float) -> None:
    """Set a learning rate in place, so that a captured step uses it."""
    rate.set_data(Tensor(value, rate.dtype))
