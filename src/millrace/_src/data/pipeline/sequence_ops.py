"""Ops for sequences of tokens: pack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from millrace._src.core.args import INT32_MAX, Columns, Range, as_column_list, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.data.plan.node import call_site
from millrace._src.data.plan.nodes import order_ops as ops

from .base import DatasetBase

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["SequenceOps"]


class SequenceOps(DatasetBase):
    @checked
    def pack(
        self,
        length: Annotated[int, Range(1, INT32_MAX)],
        columns: Columns | None = None,
        *,
        split: bool = False,
        too_long: Literal["error", "cut", "drop", "split"] = "error",
        bins: Annotated[int, Range(1, 4096)] = 16,
        end_token: Any = None,
        pad_token: Any = 0,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Pack documents into sequences of ``length`` tokens with little or no padding.

        A document is a row; ``columns`` (by default all) hold one-dimensional arrays of equal length in each
        row, and are packed alike. Other columns are dropped. Three columns are added, each of ``length`` values:

        - ``segment_ids``: 1 for the first document of the sequence, 2 for the second ..., 0 for padding.
        - ``positions``: 0, 1, 2 ... within the document, or within the part of it that is in this sequence.
        - ``mask``: True for tokens of documents, False for padding.

        A document is not divided; it is added to the fullest of up to ``bins`` open sequences with enough space. If
        there is none, the fullest sequence is emitted and a new one starts. More bins need less padding and more
        memory. ``too_long`` defines what happens to a document longer than ``length``: an error, ``"cut"`` to that
        length, ``"drop"``, or ``"split"`` into separate full sequences and a rest. ``split=True`` instead continues
        every document in the next sequence: only the last sequence of an epoch is padded, and order is preserved.

        ``end_token`` is appended to each document and counts as a part of it; a document that was cut has none.
        ``pad_token`` is the padding value. Each is a number, or a dict with one for each column. ``drop_remainder``
        drops the sequences that are still open when the epoch ends.

        >>> import numpy as np
        >>> import millrace.dataset as ds
        >>> documents = [np.full(n, n) for n in (3, 4, 2, 1)]
        >>> data = ds.GeneratorDataset(documents, "ids", shuffle=False).pack(6)
        >>> for row in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        ...     print(row["ids"], row["segment_ids"], row["positions"])
        [4 4 4 4 2 2] [1 1 1 1 2 2] [0 1 2 3 0 1]
        [3 3 3 1 0 0] [1 1 1 2 0 0] [0 1 2 0 0 0]
        """
        names = as_column_list(columns)
        if split and too_long != "error":
            raise ArgumentValueError(
                f"with split=True no document is too long, so too_long={too_long!r} has no meaning; omit one of them."
            )
        _check_token("end_token", end_token, names, optional=True)
        _check_token("pad_token", pad_token, names)
        return self._with_node(
            ops.Pack(
                inputs=(self._node,),
                call_site=call_site(),
                length=length,
                input_columns=None if names is None else tuple(names),
                split=split,
                too_long=too_long,
                bins=bins,
                end_token=end_token,
                pad_token=pad_token,
                drop_remainder=drop_remainder,
            )
        )


def _check_token(name: str, value: Any, columns: list[str] | None, *, optional: bool = False) -> None:
    """A number, or a dict with a number for each column that is packed."""
    if value is None and optional:
        return
    for one in value.values() if isinstance(value, dict) else (value,):
        if isinstance(one, complex) or not isinstance(one, (int, float)):
            raise ArgumentTypeError(
                f"{name} should be a number, or a dict with a number for each column, but got {value!r}."
            )
    if isinstance(value, dict) and columns is not None and set(value) != set(columns):
        raise ArgumentValueError(
            f"{name} should have a value for each packed column, {columns}, but has {list(value)}."
        )
