"""Offload plan: transforms that run on the device after batching.

A transform declares its form for a device (``Transform.device_step``), a pass of the data pipeline decides which
transforms are offloaded, and the transfer layer has a kernel for each. Random numbers are always generated on the host,
from the row, the epoch and the operation, and are transferred with the batch: the rows are the same on host and device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from millrace._src.core.errors import DataError

__all__ = [
    "STAGE_FINISHED",
    "ENCODED",
    "PIXELS",
    "READY",
    "SIZED",
    "OffloadedColumn",
    "OffloadStep",
    "OffloadPlan",
    "ValueSpec",
    "unpack_shape_and_dtype",
    "pack_value",
]

# the shape and the dtype of a value
ValueSpec = tuple[tuple[int, ...], np.dtype[Any]]

# The form of a transferred row: encoded, pixels with the size of the row, pixels that only need steps that keep the
# size, or the result, where the device would differ (a Pillow image, five dimensions) and the host did the work.
ENCODED, PIXELS, READY, STAGE_FINISHED = 0, 1, 2, 3

# Kernels that take images of different sizes.
SIZED = ("decode", "part", "resized")


# Dimensions that a packed value may have.
_MOST_DIMENSIONS = 6


def pack_value(value: Any, size: tuple[int, ...] = ()) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Pack a value as bytes with its shape and dtype; ``size`` is appended to the shape of an encoded image.

    >>> data, what = pack_value(np.ones((2, 3), np.float32))
    >>> len(data), unpack_shape_and_dtype(what)
    (24, ((2, 3), dtype('float32')))
    """
    array = np.ascontiguousarray(value)
    if array.ndim > _MOST_DIMENSIONS or array.dtype.kind not in "biuf":
        raise DataError(f"a GPU takes no value of shape {array.shape} and type {array.dtype}")
    what = np.zeros(_MOST_DIMENSIONS + 2, np.int32)
    shape = (*array.shape, *size)
    what[0], what[1] = array.dtype.num, len(shape)
    what[2 : 2 + len(shape)] = shape
    return array.reshape(-1).view(np.uint8), what


def unpack_shape_and_dtype(what: Any) -> ValueSpec:
    """The shape and the dtype that `pack_value` stored."""
    number, dimensions, *shape = (int(one) for one in what)
    return tuple(shape[:dimensions]), _TYPES[number]


_TYPES: dict[int, np.dtype[Any]] = {np.dtype(code).num: np.dtype(code) for code in "?bBhHiIlLqQefd"}


@dataclasses.dataclass(frozen=True)
class OffloadStep:
    """The device form of a transform.

    ``accepts`` returns the shape and dtype of the result for those of a value, None where only the host gives the same
    result. ``place`` is called on the host with the height and width of an image and its random numbers. Without
    ``bound`` the results are bit for bit those of the host; else it describes the tolerance.
    """

    op: str
    kernel: str
    accepts: Callable[[ValueSpec], ValueSpec | None]
    args: dict[str, Any] = dataclasses.field(default_factory=dict)
    row_params: Callable[..., Any] | None = None
    tolerance_text: str = ""
    # it makes rows larger, or saves work on the host: worth to offload by default
    is_profitable: bool = False
    # rows get no smaller, so that offloading transfers no unnecessary bytes
    never_shrinks: bool = True

    @property
    def exact(self) -> bool:
        """Whether the results are bit for bit those of the host."""
        return not self.tolerance_text


class OffloadedColumn(NamedTuple):
    """The device work on one column, and the columns that hold the forms and the random numbers of its rows."""

    name: str
    steps: tuple[OffloadStep, ...]
    random_columns: tuple[tuple[str, ...], ...]
    form: str
    # for packed rows: the column with the shapes of their pixels, and the steps that accept different sizes
    shapes: str = ""
    sized: int = 0
    # the fraction of rows that the host decodes: an object with `set(fraction)`
    share: Any = None


class OffloadPlan(NamedTuple):
    """The columns from the pipeline, the columns of the result, and the device work between."""

    input_columns: tuple[str, ...]
    columns: tuple[str, ...]
    work: tuple[OffloadedColumn, ...]

    def __str__(self) -> str:
        return "; ".join(
            f"{column.name}: {', '.join(step.op for step in column.steps)}" for column in self.work
        )
