"""Unsupported callbacks of MindSpore; each error names an alternative."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import OperationError
from millrace._src.core.public import public

from .callback import Callback

__all__ = ["TrainFaultTolerance"]


@public("train", "millrace")
class TrainFaultTolerance(Callback):
    """Not supported: it repairs a running training with MindIO on Ascend clusters.

    Save checkpoints instead, and resume from the last one after a failure.

    >>> TrainFaultTolerance()
    Traceback (most recent call last):
    ...
    millrace.errors.OperationError: 'TrainFaultTolerance' needs MindIO on Ascend hardware, which is not here. ...
    """

    def __init__(self, ckpt_save_path: str | None = None, **kwargs: Any) -> None:
        raise OperationError(
            "'TrainFaultTolerance' needs MindIO on Ascend hardware, which is not here. Save checkpoints with "
            "ModelCheckpoint; resume a failed training from the last one."
        )
