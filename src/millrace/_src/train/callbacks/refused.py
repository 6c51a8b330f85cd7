"""Callbacks of MindSpore that need what is not here; each says what to use in its place."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import OperationError
from millrace._src.core.public import public

from .callback import Callback

__all__ = ["TrainFaultTolerance"]


@public("train", "millrace")
class TrainFaultTolerance(Callback):
    """Refused: it repairs a running training through MindIO on Ascend clusters, neither of which is here.

    A training that must survive the death of its process saves checkpoints, and goes on from the last one.

    >>> TrainFaultTolerance()
    Traceback (most recent call last):
    ...
    millrace.errors.OperationError: 'TrainFaultTolerance' needs MindIO on Ascend hardware, which is not here. ...
    """

    def __init__(self, ckpt_save_path: str | None = None, **kwargs: Any) -> None:
        raise OperationError(
            "'TrainFaultTolerance' needs MindIO on Ascend hardware, which is not here. Save checkpoints with "
            "ModelCheckpoint; a training that died goes on from the last one."
        )
