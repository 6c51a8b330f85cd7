"""Safe reader for the pickled Python version of CIFAR-10 and CIFAR-100.

No code of the pickle runs. Only the opcodes for dicts, lists, numbers, text and byte arrays are interpreted; a
pickle with any other opcode is refused.
"""

from __future__ import annotations

import os
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError

__all__ = ["read_batch", "read_cifar"]

_MARK = object()
_MAX_BYTES = 1 << 30


class _Name(str):
    """Name of a function or class in a pickle; it is never imported."""

    __slots__ = ()


class _Array:
    """An ndarray or dtype under construction."""

    def __init__(self, type_name: str, code: Any = None) -> None:
        self.type_name, self.code = type_name, code
        self.value: Any = None

    def build(self, state: Any) -> None:
        if self.type_name == "dtype":
            return
        shape, dtype, fortran, data = state[1], state[2], state[3], state[4]
        code = _text(dtype.code)
        if code not in ("u1", "i1", "i4", "i8", "f4", "f8") or fortran or not isinstance(data, bytes):
            raise ValueError(f"an array of {code}")
        self.value = np.frombuffer(data, code).reshape(shape)


def _text(value: Any) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else str(value)


def read_batch(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the dict of one batch file, with str keys.

    >>> import pickle
    >>> with open("batch", "wb") as file:
    ...     _ = file.write(pickle.dumps({b"labels": [1, 2], b"data": np.zeros((2, 3), np.uint8)}, protocol=2))
    >>> batch = read_batch("batch")
    >>> batch["labels"], batch["data"].shape
    ([1, 2], (2, 3))
    """
    name = str(path)
    if os.path.getsize(path) > _MAX_BYTES:
        raise FormatError(f"the file has more than {_MAX_BYTES} bytes", file=name)
    try:
        batch = _interpret_pickle(Path(path).read_bytes())
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        UnicodeError,
        RecursionError,
    ) as error:
        raise FormatError(f"not a valid CIFAR file: {error}", file=name) from None
    if not isinstance(batch, dict):
        raise FormatError("not a valid CIFAR file: it holds no dict", file=name)
    return {_text(key): _unwrap_array(value) for key, value in batch.items()}


def _unwrap_array(value: Any) -> Any:
    return value.value if isinstance(value, _Array) else value


def _interpret_pickle(data: bytes) -> Any:
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    # text that may become bytes: every byte is in the file once, so this bounds the total
    bytes_left = len(data)

    def back_to_mark() -> list[Any]:
        index = len(stack) - 1
        while stack[index] is not _MARK:
            index -= 1
        items = stack[index + 1 :]
        del stack[index:]
        return items

    argument: Any
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name in ("PROTO", "FRAME"):
            continue
        if name == "STOP":
            return stack.pop()
        if name in _VALUES:
            stack.append(_VALUES[name](argument))
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(memo[int(argument)])
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            if name == "STACK_GLOBAL":
                attribute, module = stack.pop(), stack.pop()
                argument = f"{module} {attribute}"
            stack.append(_Name(argument))
        elif name == "TUPLE":
            stack.append(tuple(back_to_mark()))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            items = tuple(stack[-count:])
            del stack[-count:]
            stack.append(items)
        elif name == "APPEND":
            item = stack.pop()
            stack[-1].append(item)
        elif name == "APPENDS":
            items_ = back_to_mark()
            stack[-1].extend(items_)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            stack[-1][_check_key(key)] = value
        elif name == "SETITEMS":
            pairs = back_to_mark()
            stack[-1].update(zip(map(_check_key, pairs[0::2]), pairs[1::2]))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(_call_function(function, arguments))
            bytes_left -= len(stack[-1]) if isinstance(stack[-1], bytes) else 0
            if bytes_left < 0:
                raise ValueError("it makes more bytes than it has")
        elif name == "BUILD":
            state = stack.pop()
            stack[-1].build(state)
        else:
            raise ValueError(f"it uses {name}, which a data file has no need of")
    raise ValueError("it does not end")


def _check_key(value: Any) -> str | bytes:
    """Allow only text as a key: hashing deeply nested tuples takes exponential time."""
    if not isinstance(value, (str, bytes)):
        raise ValueError(f"a key of the type {type(value).__name__}")
    return value


def _latin1_bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode("latin-1")


_VALUES: dict[str, Any] = {
    "EMPTY_DICT": lambda _: {}, "EMPTY_LIST": lambda _: [], "EMPTY_TUPLE": lambda _: (),
    "NONE": lambda _: None, "NEWTRUE": lambda _: True, "NEWFALSE": lambda _: False,
    "STRING": _latin1_bytes, "BINSTRING": _latin1_bytes, "SHORT_BINSTRING": _latin1_bytes,
    "BINBYTES": bytes, "SHORT_BINBYTES": bytes, "BINBYTES8": bytes,
    "UNICODE": str, "BINUNICODE": str, "SHORT_BINUNICODE": str, "BINUNICODE8": str,
    "INT": int, "BININT": int, "BININT1": int, "BININT2": int, "LONG": int, "LONG1": int,
    "FLOAT": float, "BINFLOAT": float,
}  # fmt: skip


def _call_function(function: Any, arguments: Any) -> Any:
    if not isinstance(function, _Name):
        raise ValueError("it calls something that is not a name")
    module, _, attribute = function.partition(" ")
    if module in ("numpy.core.multiarray", "numpy._core.multiarray") and attribute == "_reconstruct":
        return _Array("ndarray")
    if (module, attribute) == ("numpy", "dtype"):
        return _Array("dtype", arguments[0])
    if (module, attribute) == ("_codecs", "encode") and arguments[1] == "latin1":
        return _latin1_bytes(arguments[0])
    raise ValueError(f"it calls {module}.{attribute}, which a data file has no need of")


def read_cifar(
    paths: list[str | os.PathLike[str]], labels: list[str]
) -> tuple[npt.NDArray[np.uint8], dict[str, npt.NDArray[np.int64]]]:
    """Images (n, 32, 32, 3) in RGB and the named labels of batch files, concatenated."""
    images, label_values = [], {name: list[Any]() for name in labels}
    for path in paths:
        batch = read_batch(path)
        data = batch.get("data")
        if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.size % 3072 or not data.size:
            raise FormatError("not a valid CIFAR file: no images of 3 x 32 x 32 bytes", file=str(path))
        images.append(data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        for name in labels:
            values = batch.get(name)
            if not isinstance(values, (list, np.ndarray)) or len(values) != len(images[-1]):
                raise FormatError(f"not a valid CIFAR file: no '{name}' for each image", file=str(path))
            label_values[name] += list(values)
    try:
        columns = {name: np.array(values, np.int64) for name, values in label_values.items()}
    except (TypeError, ValueError, OverflowError):
        raise FormatError("not a valid CIFAR file: its labels are not numbers", file=str(paths[0])) from None
    return np.concatenate(images), columns
