"""Debugging inside of networks: Print, Assert, TensorDump."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.io.protobuf import field, varint
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.declare.primitive import Primitive
from millrace._src.runtime.tensor.backend.context import get_context
from millrace._src.runtime.tensor.storage import host_read_listeners

__all__ = ["Assert", "Print", "TensorDump", "print_", "tensordump"]


@public("ops")
class Print(Primitive):
    """Print values, one per line, tensors with their shape and dtype; also in every replay in Graph mode. With
    ``set_context(print_file_path=...)`` values are written to that file instead of the screen;
    ``millrace.parse_print`` reads it.

    >>> Print()("loss", 3)
    loss
    3
    """

    def __init__(self) -> None:
        super().__init__("Print")

    def __call__(self, *args: Any) -> None:
        for listener in host_read_listeners:
            listener("a printed value")
        path = get_context("print_file_path")
        if path:
            with open(path, "ab") as file:
                file.write(b"".join(map(_format_message, args)))
            return
        sys.stdout.write(
            "".join(f"{arg!r}\n" if isinstance(arg, (Tensor, tuple)) else f"{arg}\n" for arg in args)
        )


def _format_message(value: Any) -> bytes:
    """Value in MindSpore's format of print files: a text, or shape, dtype and elements."""
    if isinstance(value, (bool, int, float)):
        value = Tensor(value)
    if not isinstance(value, Tensor):
        return field(1, field(1, str(value).encode()))
    array = np.ascontiguousarray(value.asnumpy())
    shape = b"".join(b"\x08" + varint(length) for length in value.shape)
    tensor = shape + field(2, str(value.dtype).encode()) + field(3, array.tobytes())
    return field(1, field(2, tensor))


@public("ops")
def print_(*input_x: Any) -> None:
    """Print values, one per line."""
    Print()(*input_x)


@public("ops")
class Assert(Primitive):
    """Raise an error with the given values if a condition is false.

    >>> Assert()(True, [Tensor([1.0])])
    """

    def __init__(self, summarize: int = 3) -> None:
        super().__init__("Assert")
        self.summarize = summarize

    def __call__(self, condition: Any, input_data: Any) -> None:
        if not condition:
            shown = "; ".join(str(value.asnumpy().ravel()[: self.summarize]) for value in input_data)
            raise OperationError(f"For 'Assert' condition is false. Input data: {shown}")


_dumped = iter(range(2**62))


@public("ops")
def tensordump(file_name: str, tensor: Tensor, mode: str = "out") -> None:
    """Save a tensor as a NumPy file, with its dtype and a running number in the name: "x.npy" becomes
    "x_float32_0.npy". With ``mode="in"`` MindSpore saves the result of a redistribution between devices; here both
    modes are the same.

    >>> import glob
    >>> tensordump("features.npy", Tensor([1.0]))
    >>> len(glob.glob("features_float32_*.npy"))
    1
    """
    if not isinstance(file_name, str):
        raise ArgumentTypeError(f"For 'tensordump', 'file_name' must be a str, but got {file_name!r}.")
    if not file_name:
        raise ArgumentValueError("For 'tensordump', 'file_name' must not be empty.")
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(f"For 'tensordump', 'tensor' must be a Tensor, but got {tensor!r}.")
    if mode not in ("in", "out", "all"):
        raise ArgumentValueError(f"For 'tensordump', 'mode' must be in, out or all, but got {mode!r}.")
    stem = file_name.removesuffix(".npy")
    values = tensor.asnumpy()
    if values.dtype.name == "bfloat16":
        values = values.astype(np.float32)
    path = Path(f"{stem}_{str(tensor.dtype).lower()}_{next(_dumped)}.npy")
    np.save(path, values, allow_pickle=False)


@public("ops")
class TensorDump(Primitive):
    """Class form of `tensordump`: ``TensorDump()(file_name, tensor)``.

    >>> TensorDump()("features.npy", Tensor([1.0]))
    """

    def __init__(self, input_output: str = "out") -> None:
        super().__init__("TensorDump")
        if input_output not in ("in", "out", "all"):
            raise ArgumentValueError(
                f"For 'TensorDump', 'input_output' must be in, out or all, but got {input_output!r}."
            )
        self.input_output = input_output

    def __call__(self, file: str, input_x: Tensor) -> None:
        tensordump(file, input_x, self.input_output)
