"""Names that only other hardware can give a meaning: they refuse, and say why."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.optim.optimizer import Optimizer

__all__ = ["OptTFTWrapper"]


@public("nn")
class OptTFTWrapper:
    """An optimizer that saves the state of Ascend devices as they fail. There are none here: it refuses.

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
