"""Arguments of a serialized call: read from JSON and checked against the operator's schema, and written as
JSON.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import torch

from millrace._src.core import limits
from millrace._src.core.errors import OperationError

from .allowed_operators import Argument, Operator
from .capture import Slot

__all__ = ["DTYPES", "Rows", "parse_arguments", "parse_slot", "slots_in", "write_value"]

# Dtypes of dense tensors. Quantized dtypes are not allowed in a file.
DTYPES: dict[str, torch.dtype] = {
    str(dtype): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32,
        torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex32, torch.complex64,
        torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2,
    )
}  # fmt: skip
_LAYOUTS = {str(torch.strided): torch.strided}
_MEMORY_FORMATS = {
    str(value): value
    for value in (
        torch.contiguous_format,
        torch.channels_last,
        torch.channels_last_3d,
        torch.preserve_format,
    )
}
_NAMED: dict[str, dict[str, Any]] = {
    "dtype": DTYPES,
    "layout": _LAYOUTS,
    "memory_format": _MEMORY_FORMATS,
}
_OF_TYPE = {"ScalarType": "dtype", "Layout": "layout", "MemoryFormat": "memory_format"}
_LIST = re.compile(r"(.*)\[(\d*)\]")
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_. \-]*")
# Integers that encode an option. For an unknown option a kernel returns uninitialized memory.
_ENUMERATIONS = ("reduction", "interpolation_mode", "padding_mode")
_LARGEST_SIZE = 1 << 40
_END_OF_AXIS = (1 << 63) - 1


class Rows(NamedTuple):
    """A length that depends on the batch size: ``times * rows + offset``."""

    times: int
    offset: int


def parse_slot(value: Any) -> Slot:
    """Parse a slot from JSON, ``["temp", 3]``."""
    if (
        not isinstance(value, list)
        or len(value) != 2
        or value[0] not in ("in", "temp", "out")
        or type(value[1]) is not int
        or not 0 <= value[1] < limits.ARCHIVE.tensors
    ):
        raise ValueError(f"expected the number of a tensor, got {_format_value(value)}")
    return Slot(value[0], value[1])


def parse_arguments(operator: Operator, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """Parse and check the arguments of a call: number, names and types. Raises ValueError if they are wrong."""
    named = _single(kwargs, "dict") if isinstance(kwargs, dict) else None
    if not isinstance(args, list) or not isinstance(named, dict):
        raise ValueError("expected a list and a dictionary of arguments")
    positional = [argument for argument in operator.arguments if not argument.keyword_only]
    if len(args) > len(positional):
        raise ValueError(f"expected at most {len(positional)} arguments, got {len(args)}")
    by_name = {argument.name: argument for argument in operator.arguments[len(args) :]}
    unknown = [name for name in named if name not in by_name]
    if unknown:
        raise ValueError(f"there is no argument {_format_value(unknown[0])}, or it is passed twice")
    missing = [name for name, argument in by_name.items() if argument.required and name not in named]
    if missing:
        raise ValueError(f"the argument {missing[0]!r} is missing")
    return (
        [_parse(value, argument) for value, argument in zip(args, positional, strict=False)],
        {name: _parse(value, by_name[name]) for name, value in named.items()},
    )


def _parse(value: Any, argument: Argument) -> Any:
    if value is None and argument.optional:
        return None
    if argument.type == "Tensor" and argument.name == "other" and not _is_slot(value):
        declared = "Scalar"  # PyTorch converts the number to a tensor
    else:
        declared = argument.type
    try:
        parsed = _parse_type(value, declared)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(
            f"the argument {argument.name!r}: expected {argument.type}, got {_format_value(value)} ({error})"
        ) from None
    if argument.name == "pin_memory" and parsed:
        raise ValueError("the argument 'pin_memory' must be false")
    if argument.name in _ENUMERATIONS and parsed not in (0, 1, 2):
        raise ValueError(f"the argument {argument.name!r} must be 0, 1 or 2")
    if argument.name.startswith("scale") and not _is_moderate(parsed):
        raise ValueError(f"the argument {argument.name!r} is no scale between 1/65536 and 65536")
    return parsed


def _is_slot(value: Any) -> bool:
    return isinstance(value, dict) and "slot" in value


def _is_moderate(value: Any) -> bool:
    """Whether interpolation scales allow a kernel to compute positions as integers."""
    if isinstance(value, list):
        return all(_is_moderate(item) for item in value)
    return not isinstance(value, float) or 2**-16 <= value <= 2**16


def _parse_type(value: Any, declared: str) -> Any:
    items = _LIST.fullmatch(declared)
    if items is not None:
        if not isinstance(value, list) or len(value) > limits.ARCHIVE.list_items:
            raise ValueError("expected a list")
        inner = items[1].removesuffix("?")
        return [
            None if item is None and items[1].endswith("?") else _parse_type(item, inner) for item in value
        ]
    if declared == "Tensor":
        return parse_slot(_single(value, "slot"))
    if declared in ("int", "SymInt"):
        return _parse_size(value)
    if declared == "bool":
        if not isinstance(value, bool):
            raise ValueError("expected a truth value")
        return value
    if declared == "float":
        return float.fromhex(_text(_single(value, "float")))
    if declared == "Scalar":
        return _parse_scalar(value)
    if declared == "str":
        if not _PLAIN_TEXT.fullmatch(_text(value)):
            raise ValueError("expected plain characters")
        return value
    if declared == "Device":
        if _single(value, "device") != "cpu":
            raise ValueError("expected the device cpu")
        return torch.device("cpu")
    if declared in _OF_TYPE:
        json_key = _OF_TYPE[declared]
        return _NAMED[json_key][_text(_single(value, json_key))]
    raise ValueError("only None is accepted")


def _parse_size(value: Any) -> int | Rows:
    if isinstance(value, dict):
        return _parse_rows(value)
    if type(value) is not int or not (-_LARGEST_SIZE <= value <= _LARGEST_SIZE or value == _END_OF_AXIS):
        raise ValueError("expected an integer of at most 40 bits")
    return value


def _parse_scalar(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise ValueError("expected an integer of 64 bits")
        return value
    return _parse_rows(value) if "rows" in value else float.fromhex(_text(_single(value, "float")))


def _parse_rows(value: Any) -> Rows:
    numbers = _single(value, "rows")
    if (
        not isinstance(numbers, list)
        or len(numbers) != 2
        or any(type(number) is not int or abs(number) > _LARGEST_SIZE for number in numbers)
    ):
        raise ValueError("expected two integers of at most 40 bits")
    return Rows(*numbers)


def _single(value: Any, key: str) -> Any:
    """The value of a dictionary with this one key."""
    if not isinstance(value, dict) or list(value) != [key]:
        raise ValueError(f"expected {{{key!r}: ...}}")
    return value[key]


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > limits.ARCHIVE.text:
        raise ValueError(f"expected a text of at most {limits.ARCHIVE.text} characters")
    return value


def _format_value(value: Any) -> str:
    """A value from a file for a message: short, and without control characters."""
    shown = ascii(value) if not isinstance(value, int) or abs(value) < 1 << 70 else "a huge integer"
    return shown if len(shown) <= 80 else shown[:77] + "..."


def slots_in(value: Any) -> list[Slot]:
    """The slots of parsed arguments."""
    if isinstance(value, Slot):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [slot for item in value for slot in slots_in(item)] if isinstance(value, list) else []


def write_value(value: Any) -> Any:
    """A value as JSON. Types that JSON lacks are dictionaries with one key."""
    if isinstance(value, Slot):
        return {"slot": list(value)}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, (list, tuple)):
        return [write_value(item) for item in value]
    if isinstance(value, dict):
        return {"dict": {key: write_value(item) for key, item in value.items()}}
    if isinstance(value, torch.device):
        return {"device": "cpu"}
    for json_key, known in _NAMED.items():
        if str(value) in known:
            return {json_key: str(value)}
    raise OperationError(f"the network cannot be exported: it uses {value!r}, which a file cannot hold")
