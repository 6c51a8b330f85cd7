"""Work that a card can do behind the batch: what of it there is, said in words that both wings know.

A transform says its form for a card (``Transform.on_card``), a pass of the data wing decides which of them move there,
and the sink has a kernel for each. The random numbers are always drawn on the host, from the row, the epoch and the
operation, and travel with the batch: rows are the same wherever they are made.
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

# the shape and the type of a value
ValueSpec = tuple[tuple[int, ...], np.dtype[Any]]

# In which form a row travels: encoded, as pixels of its own size, as pixels that need only what keeps sizes, or as the
# result itself, where the card would not do the same (a Pillow image, five dimensions) and the host did it.
ENCODED, PIXELS, READY, STAGE_FINISHED = 0, 1, 2, 3

# Kernels that take images of different sizes.
SIZED = ("decode", "part", "resized")


# Dimensions that a packed value may have.
_MOST_DIMENSIONS = 6


def pack_value(value: Any, size: tuple[int, ...] = ()) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A value as bytes, and what it was: its shape, longer by ``size`` for an encoded picture, and its type.

    >>> data, what = pack_value(np.ones((2, 3), np.float32))
    >>> len(data), unpack_shape_and_dtype(what)
    (24, ((2, 3), dtype('float32')))
    """
    array = np.ascontiguousarray(value)
    if array.ndim > _MOST_DIMENSIONS or array.dtype.kind not in "biuf":
        raise DataError(f"a card takes no value of shape {array.shape} and type {array.dtype}")
    what = np.zeros(_MOST_DIMENSIONS + 2, np.int32)
    shape = (*array.shape, *size)
    what[0], what[1] = array.dtype.num, len(shape)
    what[2 : 2 + len(shape)] = shape
    return array.reshape(-1).view(np.uint8), what


def unpack_shape_and_dtype(what: Any) -> ValueSpec:
    """The shape and the type that `pack_value` wrote down."""
    number, dimensions, *shape = (int(one) for one in what)
    return tuple(shape[:dimensions]), _TYPES[number]


_TYPES: dict[int, np.dtype[Any]] = {np.dtype(code).num: np.dtype(code) for code in "?bBhHiIlLqQefd"}


@dataclasses.dataclass(frozen=True)
class OffloadStep:
    """A transform in the form that a card does.

    ``accepts`` tells the kind of the result for a kind of value, None for one that only the host does the same.
    ``place`` is called on the host with the height and width of an image and what was drawn for it. Without ``bound``
    the results are the host's bit for bit; else it says in words how far they may be apart.
    """

    op: str
    kernel: str
    accepts: Callable[[ValueSpec], ValueSpec | None]
    args: dict[str, Any] = dataclasses.field(default_factory=dict)
    row_params: Callable[..., Any] | None = None
    tolerance_text: str = ""
    # it makes rows larger, or is work that the host is spared: worth to move where nobody asked
    is_profitable: bool = False
    # rows get no smaller, so that nothing is sent in vain when it moves
    never_shrinks: bool = True

    @property
    def exact(self) -> bool:
        """Whether the bits are the host's."""
        return not self.tolerance_text


class OffloadedColumn(NamedTuple):
    """What a card does to one column, and in which columns the forms and the random numbers of its rows travel."""

    name: str
    steps: tuple[OffloadStep, ...]
    random_columns: tuple[tuple[str, ...], ...]
    form: str
    # where rows travel packed: the column with the shapes of their pixels, and the steps that take different sizes
    shapes: str = ""
    sized: int = 0
    # the share of rows that the host decodes: anything with `set(share)`
    share: Any = None


class OffloadPlan(NamedTuple):
    """All of it: the columns as they come from the pipeline, those that leave, and what is done between."""

    input_columns: tuple[str, ...]
    columns: tuple[str, ...]
    work: tuple[OffloadedColumn, ...]

    def __str__(self) -> str:
        return "; ".join(
            f"{column.name}: {', '.join(step.op for step in column.steps)}" for column in self.work
        )
