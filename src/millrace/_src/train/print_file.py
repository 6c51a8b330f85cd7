"""``parse_print``: read files of ``ops.Print``."""

from __future__ import annotations

import mmap
import os
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.tensor.storage import wrap

from .checkpoint import ckpt_format as ckpt
from .checkpoint import ckpt_protobuf as wire

__all__ = ["parse_print"]


@public("train", "millrace")
def parse_print(print_file_name: str) -> list[Any]:
    """Read the values of a print file (``set_context(print_file_path=...)``) in order: strings and tensors.

    The format is MindSpore's: both can read each other's files.

    >>> import millrace as ms
    >>> from millrace import Tensor, ops
    >>> ms.set_context(print_file_path="log.data")
    >>> ops.Print()("sum", Tensor([1.0, 2.0]))
    >>> ms.set_context(print_file_path="")
    >>> words, numbers = parse_print("log.data")
    >>> words, numbers.asnumpy().tolist()
    ('sum', [1.0, 2.0])
    """
    path = os.path.realpath(print_file_name)
    if not os.path.getsize(path):
        raise ArgumentValueError(
            "For 'parse_print', the print file may be empty, please make sure enter the correct 'print_file_name'."
        )
    with open(path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    try:
        return [_to_tensor(view, each) for each in wire.parse_print_records(view)]
    except wire.CorruptCheckpointError as damage:
        raise ArgumentValueError(
            f"{damage}\nFailed to read the print file {print_file_name}, please check whether the file is correct."
        ) from None


def _to_tensor(view: memoryview, value: str | wire.Record) -> Any:
    if isinstance(value, str):
        return value
    ckpt.check(value)
    return wrap(ckpt.to_torch(view, value))
