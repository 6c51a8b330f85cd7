"""Primitives of parameter servers and operator sharding that raise an error here."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import OperationError
from millrace._src.core.public import public
from millrace._src.runtime.ops.declare.primitive import Primitive

__all__ = ["Pull", "Push", "Reshard"]


class _UnsupportedPrimitive(Primitive):
    """Refused: this way of splitting a training is not here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise OperationError(
            f"'{type(self).__name__}' belongs to parameter servers and to nets whose operations are cut over devices, "
            "which Millrace does not do. Use ParallelMode.DATA_PARALLEL, and millrace.parallel.ShardedEmbedding for "
            "tables larger than one device."
        )


@public("ops")
class Push(_UnsupportedPrimitive):
    """Refused: there are no parameter servers here."""

    def __init__(self, optim_type: str = "ApplyMomentum", only_shape_indices: Any = None) -> None:
        super().__init__()


@public("ops")
class Pull(_UnsupportedPrimitive):
    """Refused: there are no parameter servers here."""

    def __init__(self) -> None:
        super().__init__()


@public("ops")
class Reshard(_UnsupportedPrimitive):
    """Refused: operations are not cut over devices here."""

    def __init__(self, in_layout: Any, out_layout: Any, in_strategy: Any) -> None:
        super().__init__()
