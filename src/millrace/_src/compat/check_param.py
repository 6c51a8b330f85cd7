"""``mindspore._checkparam``: checks of arguments, which scripts call though the module's name begins with ``_``.

``Rel`` and ``Validator`` are the names that older scripts know for the same.
"""

from __future__ import annotations

import enum
import functools
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.dtype import DType


class Rel(enum.IntEnum):
    """Relations between a value and its bounds."""

    EQ = 1
    NE = 2
    LT = 3
    LE = 4
    GT = 5
    GE = 6
    INC_NEITHER = 7
    INC_LEFT = 8
    INC_RIGHT = 9
    INC_BOTH = 10
    IN = 11
    NOT_IN = 12


EQ, NE, LT, LE, GT, GE = Rel.EQ, Rel.NE, Rel.LT, Rel.LE, Rel.GT, Rel.GE
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = Rel.INC_NEITHER, Rel.INC_LEFT, Rel.INC_RIGHT, Rel.INC_BOTH
IN, NOT_IN = Rel.IN, Rel.NOT_IN

_SIGNS: dict[int, tuple[str, Callable[[Any, Any], Any]]] = {
    EQ: ("= {}", operator.eq),
    NE: ("!= {}", operator.ne),
    LT: ("< {}", operator.lt),
    LE: ("<= {}", operator.le),
    GT: ("> {}", operator.gt),
    GE: (">= {}", operator.ge),
    IN: ("in {}", lambda value, known: value in known),
    NOT_IN: ("not in {}", lambda value, known: value not in known),
}
_BRACKETS: dict[int, tuple[str, str]] = {
    INC_NEITHER: ("(", ")"),
    INC_LEFT: ("[", ")"),
    INC_RIGHT: ("(", "]"),
    INC_BOTH: ("[", "]"),
}


def _describe_argument(arg_name: Any, prim_name: Any) -> str:
    where = f"For '{prim_name}', the" if prim_name else "The"
    return f"{where} '{arg_name}'" if arg_name else f"{where} input value"


def check_is_number(arg_value: Any, arg_type: type, arg_name: Any = None, prim_name: Any = None) -> Any:
    """The value, if it is of this type of number."""
    if isinstance(arg_value, arg_type) and not isinstance(arg_value, bool):
        return arg_value
    where = f"For '{prim_name}', the" if prim_name else "The"
    raise ArgumentTypeError(
        f"{where} type of '{arg_name}' must be '{arg_type.__name__}', but got '{type(arg_value).__name__}'."
    )


def _check_relation(
    arg_value: Any, value: Any, rel: int, number_type: type, arg_name: Any, prim_name: Any
) -> Any:
    named = _describe_argument(arg_name, prim_name)
    sign, holds = _SIGNS[rel]
    text = (
        f"{named} must be {number_type.__name__} and must {sign.format(value)}, "
        f"but got '{arg_value}' with type '{type(arg_value).__name__}'."
    )
    if isinstance(arg_value, bool):
        raise ArgumentTypeError(text)
    if not isinstance(arg_value, number_type):
        raise ArgumentTypeError(
            f"{named} must be {number_type.__name__}, but got '{type(arg_value).__name__}'"
        )
    if not holds(arg_value, value):
        raise ArgumentValueError(text)
    return arg_value


def check_int(arg_value: Any, value: Any, rel: int, arg_name: Any = None, prim_name: Any = None) -> Any:
    """The value, if it is an int in this relation to another."""
    return _check_relation(arg_value, value, rel, int, arg_name, prim_name)


def check_float(arg_value: Any, value: Any, rel: int, arg_name: Any = None, prim_name: Any = None) -> Any:
    """The value, if it is a float in this relation to another."""
    return _check_relation(arg_value, value, rel, float, arg_name, prim_name)


def _bounded_check(number_type: type, rel: int, value: Any = 0) -> Callable[..., Any]:
    def check(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
        return _check_relation(arg_value, value, rel, number_type, arg_name, prim_name)

    check.__doc__ = f"The value, if it is {number_type.__name__} {_SIGNS[rel][0].format(value)}."
    return check


check_positive_int, check_negative_int = _bounded_check(int, GT), _bounded_check(int, LT)
check_non_negative_int, check_non_positive_int = _bounded_check(int, GE), _bounded_check(int, LE)
check_positive_float, check_negative_float = _bounded_check(float, GT), _bounded_check(float, LT)
check_non_negative_float, check_non_positive_float = _bounded_check(float, GE), _bounded_check(float, LE)


def check_equal_int(arg_value: Any, value: int, arg_name: Any = None, prim_name: Any = None) -> Any:
    """The value, if it is this int."""
    return check_int(arg_value, value, EQ, arg_name, prim_name)


def check_is_int(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
    """The value, if it is an int."""
    return check_is_number(arg_value, int, arg_name, prim_name)


def check_is_float(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
    """The value, if it is a float."""
    return check_is_number(arg_value, float, arg_name, prim_name)


def _check_each(check: Callable[..., Any]) -> Callable[..., Any]:
    def checked(sequence: Sequence[Any], arg_name: Any = None, prim_name: Any = None) -> Any:
        for number, value in enumerate(sequence):
            check(value, f"{arg_name or 'arg_name'}[{number}]", prim_name)
        return sequence

    checked.__doc__ = "The sequence, if each of its elements passes."
    return checked


check_positive_int_sequence = _check_each(check_positive_int)
check_non_negative_int_sequence = _check_each(check_non_negative_int)
check_positive_float_sequence = _check_each(check_positive_float)


def check_number(arg_name: Any, arg_value: Any, value: Any, rel: int, prim_name: Any) -> Any:
    """The value, if it is in this relation to another."""
    sign, holds = _SIGNS[rel]
    if not holds(arg_value, value):
        raise ArgumentValueError(
            f"For '{prim_name}', the argument '{arg_name}' must {sign.format(value)}, but got {arg_value}."
        )
    return arg_value


def check(
    arg_name: Any,
    arg_value: Any,
    value_name: Any,
    value: Any,
    rel: int = EQ,
    prim_name: Any = None,
    excp_cls: type[Exception] = ArgumentValueError,
) -> Any:
    """The value, if it is in this relation to another, which has a name too."""
    sign, holds = _SIGNS[rel]
    if not holds(arg_value, value):
        shown = sign.format(f"{value_name}: {value}")
        raise excp_cls(f"{_describe_argument(arg_name, prim_name)} should be {shown}, but got {arg_value}.")
    return arg_value


def check_number_range(
    arg_value: Any, lower_limit: Any, upper_limit: Any, rel: int, value_type: type, arg_name: Any = None,
    prim_name: Any = None,
) -> Any:  # fmt: skip
    """The value, if it is of this type and between two bounds."""
    named = _describe_argument(arg_name, prim_name)
    if not isinstance(arg_value, value_type) or isinstance(arg_value, bool):
        raise ArgumentTypeError(
            f"{named} must be '{value_type.__name__}',  but got '{type(arg_value).__name__}'."
        )
    first, last = _BRACKETS[rel]
    above = arg_value >= lower_limit if first == "[" else arg_value > lower_limit
    below = arg_value <= upper_limit if last == "]" else arg_value < upper_limit
    if not (above and below):
        raise ArgumentValueError(
            f"{named} must be in range of {first}{lower_limit}, {upper_limit}{last}, "
            f"but got {arg_value} with type '{type(arg_value).__name__}'."
        )
    return arg_value


def check_int_range(
    arg_value: Any, lower_limit: Any, upper_limit: Any, rel: int, arg_name: Any = None, prim_name: Any = None
) -> Any:
    """The value, if it is an int between two bounds."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(
    arg_value: Any, lower_limit: Any, upper_limit: Any, rel: int, arg_name: Any = None, prim_name: Any = None
) -> Any:
    """The value, if it is a float between two bounds."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


def check_bool(arg_value: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
    """The value, if it is a bool."""
    if not isinstance(arg_value, bool):
        raise ArgumentTypeError(
            f"{_describe_argument(arg_name, prim_name)} must be a bool, but got {type(arg_value).__name__}."
        )
    return arg_value


def check_string(arg_value: Any, valid_values: Any, arg_name: Any = None, prim_name: Any = None) -> Any:
    """The value, if it is one of these words."""
    if not isinstance(arg_value, str) or arg_value not in valid_values:
        raise ArgumentValueError(
            f"{_describe_argument(arg_name, prim_name)} must be str and must be in '{valid_values}', "
            f"but got '{arg_value}'."
        )
    return arg_value


def _as_tuple(valid_types: Any) -> tuple[Any, ...]:
    return tuple(valid_types) if isinstance(valid_types, (list, tuple, set)) else (valid_types,)


def check_value_type(arg_name: Any, arg_value: Any, valid_types: Any, prim_name: Any = None) -> Any:
    """The value, if it is of one of these types; a bool is no int."""
    types = _as_tuple(valid_types)
    if isinstance(arg_value, types) and not (isinstance(arg_value, bool) and bool not in types):
        return arg_value
    names = [valid_type.__name__ for valid_type in types]
    wanted = f"'{names[0]}'" if len(names) == 1 else f"one of '{names}'"
    where = f"For '{prim_name}', the" if prim_name else "The"
    raise ArgumentTypeError(
        f"{where} type of '{arg_name}' should be {wanted}, but got type '{type(arg_value).__name__}'."
    )


def check_isinstance(arg_name: Any, arg_value: Any, classes: Any) -> Any:
    """The value, if it is an instance of these classes."""
    if not isinstance(arg_value, classes):
        raise ArgumentValueError(
            f"The parameter '{arg_name}' must be isinstance of {classes}, but got {arg_value}."
        )
    return arg_value


def check_element_type_of_iterable(
    arg_name: Any, arg_value: Iterable[Any], valid_types: Any, prim_name: Any = None
) -> None:
    """Refuse an element of another type."""
    types = _as_tuple(valid_types)
    for element in arg_value:
        if not isinstance(element, types):
            where = f"For '{prim_name}', the" if prim_name else "The"
            wanted = ", ".join(valid_type.__name__ for valid_type in types)
            raise ArgumentTypeError(
                f"{where} type of '{arg_name}' should be {wanted}, but got '{element}' with type "
                f"'{type(element).__name__}'."
            )


def check_element_type_of_dict(
    arg_name: Any, arg_value: dict[Any, Any], key_types: Any, value_types: Any, prim_name: Any = None
) -> None:
    """Refuse a key or value of another type."""
    check_element_type_of_iterable(arg_name, arg_value.keys(), key_types, prim_name)
    check_element_type_of_iterable(arg_name, arg_value.values(), value_types, prim_name)


def check_size_and_element_type_of_tuple(
    arg_name: Any, arg_value: tuple[Any, ...], expect_size: int, expect_element_type: type, prim_name: Any = None
) -> None:  # fmt: skip
    """Refuse a tuple of another length, or with elements of another type."""
    check_equal_int(len(arg_value), expect_size, f"{arg_name} size", prim_name)
    check_element_type_of_iterable(arg_name, arg_value, [expect_element_type], prim_name)


def check_subclass(
    arg_name: Any, type_: Any, template_types: Any, prim_name: Any, addition_error_info: Any = None
) -> None:
    """Refuse an element type, or a class, that is none of these."""
    for template in _as_tuple(template_types):
        both = isinstance(type_, type) and isinstance(template, type)
        if type_ is template or (both and issubclass(type_, template)):
            return
    wanted = ", ".join(map(str, _as_tuple(template_types)))
    suffix = f" {addition_error_info}" if addition_error_info else ""
    raise ArgumentTypeError(
        f"For '{prim_name}', the element of '{arg_name}' must be {wanted}, but got {type_}.{suffix}"
    )


def check_type_name(arg_name: Any, arg_type: Any, valid_types: Any, prim_name: Any) -> Any:
    """The element type, if it is one of these."""
    if arg_type not in _as_tuple(valid_types):
        where = f"For '{prim_name}', the" if prim_name else "The"
        raise ArgumentTypeError(
            f"{where} '{arg_name}' should be one of {list(_as_tuple(valid_types))}, but got '{arg_type!r}'."
        )
    return arg_type


def check_tensor_dtype_valid(arg_name: Any, arg_type: DType, valid_dtypes: Any, prim_name: Any) -> None:
    """Refuse a tensor whose element type is none of these."""
    if arg_type not in _as_tuple(valid_dtypes):
        wanted = ", ".join(f"Tensor[{dtype}]" for dtype in _as_tuple(valid_dtypes))
        raise ArgumentTypeError(
            f"For '{prim_name}', the element of '{arg_name}' must be {wanted}, but got {arg_type}."
        )


def check_valid_input(arg_name: Any, arg_value: Any, prim_name: Any) -> Any:
    """The value, if it is not None."""
    if arg_value is None:
        raise ArgumentValueError(
            f"For '{prim_name}', the argument '{arg_name}' can not be None, but got None."
        )
    return arg_value


def check_str_by_regular(target: Any, reg: Any = None, flag: Any = re.ASCII, prim_name: Any = None) -> bool:
    """True, if a word has only letters, digits, ``_`` and dots, or matches another pattern."""
    pattern = reg or r"^\w+[0-9a-zA-Z\_\.]*$"
    if re.match(pattern, target, flag) is None:
        where = f"For '{prim_name}', the" if prim_name else "The"
        raise ArgumentValueError(
            f"{where} '{target}' is illegal, it must be match regular'{pattern}' by flags'{flag}.'"
        )
    return True


def check_axis_in_range(axis: int, ndim: int) -> int:
    """The axis counted from the front."""
    if not isinstance(axis, int):
        raise ArgumentTypeError(f"The type of 'axis' must be int, but got {type(axis).__name__}.")
    if not -ndim <= axis < ndim:
        raise ArgumentValueError(f"The 'axis' must be in the range of [{-ndim}, {ndim}), but got {axis}.")
    return axis % ndim


def check_axis_valid(axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes counted from the front; all of them for None."""
    if axes is None:
        return tuple(range(ndim))
    normalized = tuple(check_axis_in_range(axis, ndim) for axis in _as_tuple(axes))
    if len(set(normalized)) != len(normalized):
        raise ArgumentValueError(f"The element of parameter 'axis' can not be duplicate, but got {axes}.")
    return normalized


def _expand(count: int) -> Callable[[Any], tuple[Any, ...]]:
    def expand(value: Any) -> tuple[Any, ...]:
        if isinstance(value, (tuple, list)):
            if len(value) != count:
                raise ArgumentTypeError(
                    f"When expanding an int number to tuple, input tuple dimension must be {count}, but got {value}"
                )
            return tuple(value)
        return (value,) * count

    expand.__doc__ = f"A number {count} times, or a tuple of {count} as it is."
    return expand


once, twice, triple = _expand(1), _expand(2), _expand(3)
once_sequence, twice_sequence, triple_sequence = once, twice, triple


def args_type_check(
    *type_args: Any, **type_kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: arguments must be of these types, or None."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        import inspect

        signature = inspect.signature(function)
        wanted = signature.bind_partial(*type_args, **type_kwargs).arguments

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if name in wanted and value is not None and not isinstance(value, wanted[name]):
                    raise ArgumentTypeError(f"The parameter '{name}' must be {wanted[name]}, but got {value}")
            return function(*args, **kwargs)

        return call

    return decorate


class Validator:
    """The same checks as methods, as scripts before MindSpore 2.0 call them."""


for _name, _value in list(globals().items()):
    if _name.startswith(("check", "once", "twice", "triple")) and callable(_value):
        setattr(Validator, _name, staticmethod(_value))
__all__ = [
    *(name for name in vars() if name.startswith(("check", "once", "twice", "triple"))),
    *Rel.__members__,
    "Rel",
    "Validator",
    "args_type_check",
]
