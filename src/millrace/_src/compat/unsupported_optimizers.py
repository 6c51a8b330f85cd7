"""Optimizers for other hardware: they raise an error with the reason."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.optim.optimizer import Optimizer

__all__ = ["OptTFTWrapper"]


@public("nn")
class OptTFTWrapper:
    """An optimizer that saves the state of failing Ascend devices; not supported.

    >>> OptTFTWrapper(None)
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentTypeError: For 'OptTFTWrapper', the 'opt' must be an Optimizer, but got NoneType.
    """

    def __init__(self, opt: Any, **kwargs: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ArgumentTypeError(
                f"For 'OptTFTWrapper', the 'opt' must be an Optimizer, but got {type(opt).__name__}."
            )
        raise ArgumentValueError(
            "For 'OptTFTWrapper', MindIO TFT saves what Ascend devices hold as they fail, and there are none here. "
            "Train with the optimizer itself; a ModelCheckpoint with resuming brings a killed run back."
        )
