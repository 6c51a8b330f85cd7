"""Transforms from JSON. A file selects a transform of ``json_names`` and its arguments, nothing else.

Nothing is imported or looked up by a name from the file. A transform is built by its constructor, so that its arguments
are checked like those of any call.
"""

from __future__ import annotations

import base64
import enum
import inspect
import typing
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, MissingExtra
from millrace._src.core.io.json_input import check_depth, parse_json
from millrace._src.core.stable_ids import is_module_of
from millrace._src.core.values import dtype as mstype
from millrace._src.data.kernels.text.sentence_piece import SentencePieceVocab
from millrace._src.data.kernels.text.vocab import Vocab
from millrace._src.data.kernels.text.word_vectors import CharNGram, FastText, GloVe, Vectors

from .json_names import REFUSED, TRANSFORMS
from .tensor_operation import TAG, TensorOperation, plain_value

__all__ = ["construct", "convert_arguments", "from_json_text", "transform_from_json"]

MAX_DEPTH = 64
MAX_ARRAY_BYTES = 1 << 30
# prefixes of the modules of transforms in JSON; the second is that of version 0.2.0
_OF_TRANSFORMS = ("millrace.dataset.", "millrace.data.transforms.")

Classes = Mapping[str, type[TensorOperation]]

_ARGUMENT_TYPES: dict[str, Any] = {
    known.__name__: known for known in (CharNGram, FastText, GloVe, SentencePieceVocab, Vectors, Vocab)
}
_DTYPES = {known.name: known for known in vars(mstype).values() if isinstance(known, mstype.DType)}


def transform_from_json(saved: Any, extra: Iterable[type[TensorOperation]] = ()) -> TensorOperation:
    """Build the transform that ``to_json()`` described.

    Args:
        saved (dict): what ``to_json()`` wrote, parsed.
        extra (Iterable): transforms that may be named in addition to those of ``json_names.TRANSFORMS``.

    Raises:
        ArgumentValueError: if `saved` is damaged, or names anything but a transform of these.

    Examples:
        >>> transform_from_json({"tensor_op_name": "HWC2CHW", "python_module": "millrace.dataset.vision"})
        HWC2CHW()
    """
    check_depth(saved, _refuse, MAX_DEPTH)
    classes = dict(TRANSFORMS)
    classes.update({listed.__name__: listed for listed in extra})
    return _build_operation(saved, classes)


def from_json_text(cls: type[TensorOperation], json_string: Any) -> TensorOperation:
    """Build a transform of this class from the JSON text of its arguments."""
    if not isinstance(json_string, str):
        raise ArgumentTypeError(f"{cls.__name__}.from_json: expected a str, got {type(json_string)}.")
    return _construct(cls, parse_json(json_string, _refuse, MAX_DEPTH), TRANSFORMS)


def _refuse(text: str) -> ArgumentValueError:
    return ArgumentValueError(f"transform from JSON: {text}.")


def _build_operation(saved: Any, classes: Classes) -> TensorOperation:
    if not isinstance(saved, dict):
        raise _refuse(f"expected a dict, got {type(saved).__name__}")
    name, module = saved.get("tensor_op_name"), saved.get("python_module")
    listed = classes.get(name) if isinstance(name, str) else None
    if listed is None or not is_module_of(listed, module):
        raise _refuse(_unknown(name, module))
    return _construct(listed, saved.get("tensor_op_params", {}), classes)


def _unknown(name: Any, module: Any) -> str:
    shown = f"{_shorten(name)} of {_shorten(module)} cannot be rebuilt"
    if isinstance(name, str) and name in REFUSED:
        return f"{shown}: {REFUSED[name]}, and a file may not choose code. Build the pipeline in Python"
    if isinstance(module, str) and module.startswith(_OF_TRANSFORMS):
        return f"{shown}: there are no transforms in {_shorten(module)} under this name"
    return f"{shown}: it is a Python function or unknown. Build the pipeline in Python"


def _shorten(value: Any) -> str:
    shown = ascii(value) if isinstance(value, str) else type(value).__name__
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _construct(cls: type[TensorOperation], fields: Any, classes: Classes) -> TensorOperation:
    if not isinstance(fields, dict):
        raise _refuse(f"expected the arguments of {cls.__name__} as a dict, got {type(fields).__name__}")
    try:
        return cls.from_fields({name: _restore_value(value, classes) for name, value in fields.items()})
    except MissingExtra:
        raise
    except ArgumentValueError as error:
        if str(error).startswith("transform from JSON: "):
            raise
        raise _refuse(f"{cls.__name__}: {_first_line(error)}") from error
    except Exception as error:  # constructors check arguments of any type
        raise _refuse(f"{cls.__name__}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:300].rstrip(".")


def construct(cls: type[TensorOperation], fields: Mapping[str, Any]) -> TensorOperation:
    """Call the constructor with restored values; fields without an argument must equal the saved ones."""
    parameters = _parameters(cls)
    positional: tuple[Any, ...] = ()
    arguments: dict[str, Any] = {}
    for name, value in fields.items():
        argument = cls.json_arguments.get(name, name)
        parameter = parameters.get(argument)
        if parameter is None:
            continue
        if parameter.variadic:
            positional = value
        else:
            arguments[argument] = parameter.convert(value)
    transform = cls(*positional, **arguments)
    for name, value in fields.items():
        if cls.json_arguments.get(name, name) in parameters:
            continue
        if name not in vars(transform) or plain_value(vars(transform)[name]) != plain_value(value):
            raise _refuse(f"{cls.__name__} has no argument {_shorten(name)}")
    return transform


def convert_arguments(cls: type[TensorOperation], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert arguments of a transform nested in those of another: enumeration values become members."""
    parameters = _parameters(cls)
    if not set(arguments) <= set(parameters):
        raise _refuse(f"expected arguments of {cls.__name__}, got {_shorten(str(sorted(arguments)))}")
    return {name: parameters[name].convert(value) for name, value in arguments.items()}


class _ConstructorParameter:
    """Enumerations and lists that a constructor's parameter takes, as JSON cannot express them."""

    def __init__(self, cls: type[TensorOperation], parameter: inspect.Parameter, annotation: Any) -> None:
        self.variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        types = set(_types_in(annotation))
        if parameter.name in cls.json_enums:
            types.add(cls.json_enums[parameter.name])
        if isinstance(parameter.default, enum.Enum):
            types.add(type(parameter.default))
        self.enums = [named for named in types if isinstance(named, type) and issubclass(named, enum.Enum)]
        self.as_list = parameter.name in cls.json_lists or (list in types and tuple not in types)
        self.accepts_any_value = not self.enums or bool(types - set(self.enums) - {type(None)})

    def convert(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return list(value) if self.as_list else value
        if value is None or not self.enums or isinstance(value, (bool, dict)):
            return value
        for named in self.enums:
            for member in named:
                if type(member.value) is type(value) and member.value == value:
                    return member
        if self.accepts_any_value:
            return value
        raise _refuse(f"expected a value of {self.enums[0].__name__}, got {_shorten(value)}")


def _types_in(annotation: Any) -> Iterable[Any]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        yield from _types_in(typing.get_args(annotation)[0])
    elif origin is typing.Union or type(annotation).__name__ == "UnionType":
        for part in typing.get_args(annotation):
            yield from _types_in(part)
    elif annotation is not Any:
        yield origin or annotation


_PARAMETERS: dict[type[TensorOperation], dict[str, _ConstructorParameter]] = {}


def _parameters(cls: type[TensorOperation]) -> dict[str, _ConstructorParameter]:
    known = _PARAMETERS.get(cls)
    if known is None:
        function = inspect.unwrap(cls.__init__)
        hints = typing.get_type_hints(function, include_extras=True) if hasattr(function, "__code__") else {}
        known = _PARAMETERS[cls] = {
            name: _ConstructorParameter(cls, parameter, hints.get(name, Any))
            for name, parameter in inspect.signature(cls).parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        }
    return known


def _restore_value(value: Any, classes: Classes) -> Any:
    """Restore an argument from its plain value; lists become tuples."""
    if isinstance(value, list):
        return tuple([_restore_value(item, classes) for item in value])
    if not isinstance(value, dict):
        return value
    if TAG in value:
        return _restore_tagged(value[TAG], value.get("value"), value.get("dtype"))
    if "tensor_op_name" in value:
        return _build_operation(value, classes)
    return {name: _restore_value(item, classes) for name, item in value.items()}


def _restore_tagged(tag: Any, value: Any, dtype: Any) -> Any:
    if tag == "slice":
        if not (isinstance(value, list) and len(value) == 3 and all(map(_is_index, value))):
            raise _refuse("expected three integers or null for a slice")
        return slice(*value)
    if tag == "ellipsis":
        return Ellipsis
    if tag == "bytes" and isinstance(value, str):
        return base64.b64decode(value, validate=True)
    if tag == "type" and isinstance(value, str) and value in _DTYPES:
        return _DTYPES[value]
    if tag == "dtype":
        return _dtype(value)
    if tag == "array":
        return _array(value, _dtype(dtype))
    if isinstance(tag, str) and tag in _ARGUMENT_TYPES:
        return _ARGUMENT_TYPES[tag].from_plain(value)
    raise _refuse(f"expected a value of a known type, got {_shorten(tag)} with {_shorten(value)}")


def _is_index(value: Any) -> bool:
    return value is None or type(value) is int


def _dtype(name: Any) -> np.dtype[Any]:
    """A dtype from its ``dtype.str``: numbers, text and bytes; no objects, no records."""
    if isinstance(name, str) and len(name) < 20:
        try:
            dtype = np.dtype(name)
        except (TypeError, ValueError):
            dtype = np.dtype(object)
        if dtype.kind in "biufcSU" and dtype.names is None and dtype.subdtype is None:
            return dtype
    raise _refuse(f"expected the name of a numpy dtype of numbers or text, got {_shorten(name)}")


def _array(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    leaves = 1
    level = [value]
    while any(isinstance(item, list) for item in level):
        level = [item for part in level for item in (part if isinstance(part, list) else [part])]
        leaves = len(level)
    if leaves * dtype.itemsize > MAX_ARRAY_BYTES:
        raise _refuse(f"expected an array of at most {MAX_ARRAY_BYTES} bytes, got {leaves * dtype.itemsize}")
    return np.array(value, dtype)
