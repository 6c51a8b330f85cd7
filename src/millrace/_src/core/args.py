"""Argument checks from type annotations, with MindSpore's error messages.

A public function declares its arguments and nothing else::

    @checked
    def shuffle(self, buffer_size: Annotated[int, Range(2, INT32_MAX)]): ...

The annotation gives the types (``bool`` is never an ``int``). The extras inside ``Annotated`` restrict the
values. Rules that involve several arguments stay in the body of the function.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import reprlib
import types
import typing
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, TypeVar, Union

import numpy as np

from .errors import ArgumentTypeError, ArgumentValueError
from .tracebacks import hide_internal_frames

__all__ = [
    "INT32_MAX",
    "INT64_MAX",
    "UINT32_MAX",
    "Checker",
    "ColumnNames",
    "Columns",
    "ElementType",
    "OneOf",
    "Range",
    "check_columns",
    "check_type",
    "checked",
    "checks_names_only",
    "resolve_annotations",
]

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
UINT32_MAX = 2**32 - 1

F = TypeVar("F", bound=Callable[..., Any])

_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 60


class Range:
    """A closed interval (or half-open) that a number must lie in.

    >>> Range(1, 8).check("num", 9)
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentValueError: Input num is not within the required interval of [1, 8].
    """

    def __init__(self, low: float, high: float, *, left_open: bool = False, right_open: bool = False) -> None:
        self.low, self.high, self.left_open, self.right_open = low, high, left_open, right_open

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
            return  # another alternative of a union, checked by type
        low_ok = value > self.low if self.left_open else value >= self.low
        high_ok = value < self.high if self.right_open else value <= self.high
        if not (low_ok and high_ok):
            left, right = "(" if self.left_open else "[", ")" if self.right_open else "]"
            raise ArgumentValueError(
                f"Input {name} is not within the required interval of {left}{self.low}, {self.high}{right}."
            )


class OneOf:
    """A fixed set of values, where the annotation cannot be a Literal."""

    def __init__(self, *values: Any) -> None:
        self.values = list(values)

    def check(self, name: str, value: Any) -> None:
        if value is not None and value not in self.values:
            raise ArgumentValueError(f"Input {name} is not within the valid set of {self.values}.")


class ElementType:
    """Every element of a list or tuple has one of these types."""

    def __init__(self, *element_types: type) -> None:
        self.element_types = element_types

    def check(self, name: str, value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                check_type(item, self.element_types, f"{name}[{i}]")


class ColumnNames:
    """One column name or a list of different, non-empty ones."""

    def check(self, name: str, value: Any) -> None:
        check_columns(value, name)


Columns = Annotated[list[str] | str, ColumnNames()]


def check_columns(columns: Any, name: str) -> None:
    """Raise for empty and repeated column names.

    >>> check_columns(["a", "a"], "column_names")
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentValueError: Every column name should not be same with others in column_names.
    """
    if columns is None:
        return
    check_type(columns, (list, str), name)
    if isinstance(columns, str):
        if not columns:
            raise ArgumentValueError(f"{name} should not be an empty str.")
        return
    if not columns:
        raise ArgumentValueError(f"{name} should not be empty.")
    for i, column in enumerate(columns):
        if not column:
            raise ArgumentValueError(f"{name}[{i}] should not be empty.")
    for i, column in enumerate(columns):
        check_type(column, (str,), f"{name}[{i}]")
    if len(set(columns)) != len(columns):
        raise ArgumentValueError("Every column name should not be same with others in column_names.")


def check_type(value: Any, types: Sequence[type], name: str) -> None:
    """Raise unless the value is of one of the types; True and False are not numbers here.

    >>> check_type("8", (int,), "num_shards")
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentTypeError: Argument num_shards with value 8 is not of type [<class 'int'>], \
but got <class 'str'>.
    """
    types = tuple(types)
    shown = '""' if isinstance(value, str) and value == "" else value
    if isinstance(value, bool) and int in types and bool not in types:
        raise ArgumentTypeError(
            f"Argument {name} with value {shown} is not of type {types}, but got {type(value)}."
        )
    if not isinstance(value, types):
        raise ArgumentTypeError(
            f"Argument {name} with value {shown} is not of type {list(types)}, but got {type(value)}."
        )


class _Parameter:
    """The parsed annotation of one parameter."""

    def __init__(self, name: str, annotation: Any, default: Any) -> None:
        self.name = name
        self.default = default
        self.element_types: list[type] = []
        self.callable_ok = False
        self.optional = default is None
        self.choices: list[Any] = []
        self.rules: list[Any] = []
        self._parse(annotation)

    def _parse(self, annotation: Any) -> None:
        origin = typing.get_origin(annotation)
        if annotation is Any:
            return
        if origin is Annotated:
            inner, *rules = typing.get_args(annotation)
            self.rules += [rule for rule in rules if hasattr(rule, "check")]
            self._parse(inner)
        elif origin in (Union, types.UnionType):
            for part in typing.get_args(annotation):
                self._parse(part)
        elif origin is Literal:
            self.choices += typing.get_args(annotation)
            for choice in self.choices:
                if type(choice) not in self.element_types:
                    self.element_types.append(type(choice))
        elif annotation is type(None):
            self.optional = True
        elif origin is collections.abc.Callable or annotation is collections.abc.Callable:
            self.callable_ok = True
        elif isinstance(origin, type):
            self.element_types.append(origin)
        elif isinstance(annotation, type) and annotation is not inspect.Parameter.empty:
            self.element_types.append(annotation)
        # Any, TypeVar and the like: nothing to check

    @property
    def has_checks(self) -> bool:
        return bool(self.element_types or self.rules or self.callable_ok)

    def check(self, value: Any) -> None:
        if value is None and self.optional:
            return
        if self.callable_ok and callable(value):
            return
        if self.element_types:
            check_type(value, self.element_types, self.name)
        elif self.callable_ok:
            raise ArgumentTypeError(
                f"Argument {self.name} with value {value} is not callable, but got {type(value)}."
            )
        if self.choices and value not in self.choices:
            raise ArgumentValueError(f"Input {self.name} is not within the valid set of {self.choices}.")
        for rule in self.rules:
            rule.check(self.name, value)


class Checker:
    """The checks of one function; annotations are resolved on the first call, not at import.

    Args:
        function: The function to check.
        signature: Its signature, where the parameters are assembled from several declarations.
        inherited: A class whose annotations declare the other parameters.
        display_name: The name in error messages, where users know the function by another name.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: inspect.Signature | None = None,
        inherited: type | None = None,
        display_name: str | None = None,
    ) -> None:
        self.function = typing.cast(types.FunctionType, function)
        self.signature = signature or inspect.signature(function)
        self.inherited, self.display_name = inherited, display_name
        self.parameters: dict[str, _Parameter] | None = None

    def _resolve(self) -> dict[str, _Parameter]:
        # the return type may name a class that only type checkers import
        annotations = self.function.__annotations__
        parameter_annotations = {n: annotations[n] for n in self.signature.parameters if n in annotations}
        holder = types.SimpleNamespace(__annotations__=parameter_annotations)
        hints = typing.get_type_hints(holder, globalns=self.function.__globals__, include_extras=True)
        if self.inherited is not None:
            hints = typing.get_type_hints(self.inherited, include_extras=True) | hints
        parameters = {
            name: _Parameter(name, hints[name], parameter.default)
            for name, parameter in self.signature.parameters.items()
            if name in hints and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        }
        return {name: parameter for name, parameter in parameters.items() if parameter.has_checks}

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Bind arguments to parameter names; raise an error that names the function where that fails."""
        try:
            return self.signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise ArgumentTypeError(self._mismatch_message(args, kwargs, error)) from None

    def resolve(self) -> dict[str, _Parameter]:
        if self.parameters is None:
            self.parameters = self._resolve()
        return self.parameters

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        parameters = self.resolve()
        for name, value in self.bind(args, kwargs).items():
            parameter = parameters.get(name)
            if parameter is not None:
                parameter.check(value)

    def add_call_note(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Add a note with the arguments of the call to an error: MindSpore's messages seldom contain them."""
        if hasattr(error, "__notes__"):
            return  # a nested call has added its arguments already
        try:
            arguments = self.signature.bind(*args, **kwargs).arguments
        except TypeError:
            return  # the error is about their names
        parts = [f"{name}={_SHORT.repr(value)}" for name, value in arguments.items() if name != "self"]
        error.add_note(f"  got: {self._call_name(args)}({', '.join(parts)})")

    def wrap(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap ``run``: check the arguments first, and add them to argument errors."""

        @functools.wraps(self.function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            try:
                self.check(args, kwargs)
                return run(*args, **kwargs)
            except (ArgumentTypeError, ArgumentValueError) as error:
                self.add_call_note(error, args, kwargs)
                hide_internal_frames(error)
                raise

        return wrapper

    def _call_name(self, args: tuple[Any, ...]) -> str:
        # a constructor may be inherited: the class is the one that was called
        name = self.display_name or self.function.__name__
        return type(args[0]).__name__ if name == "__init__" and args else name

    def _mismatch_message(self, args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError) -> str:
        """The message for arguments that do not match the signature; suggests a similar parameter name."""
        import difflib

        call_name = self._call_name(args)
        names = [name for name in self.signature.parameters if name != "self"]
        for keyword in kwargs:
            if keyword not in names:
                matches = difflib.get_close_matches(keyword, names, 1)
                hint = f"; did you mean {matches[0]!r}?" if matches else f"; it takes {', '.join(names)}"
                return f"{call_name}() got an unexpected keyword argument {keyword!r}{hint}"
        return f"{call_name}(): {error}"


def checked(function: F) -> F:
    r"""Check arguments against the annotations before the function runs.

    >>> @checked
    ... def take(count: Annotated[int, Range(1, 9)] = 1):
    ...     return count
    >>> take(3)
    3
    >>> try:
    ...     take(True)
    ... except TypeError as error:
    ...     print(error, *error.__notes__, sep="\n")
    Argument count with value True is not of type (<class 'int'>,), but got <class 'bool'>.
      got: take(count=True)
    """
    checker = Checker(function)
    wrapper = checker.wrap(function)
    _checkers[wrapper] = checker
    return typing.cast(F, wrapper)


_checkers: weakref.WeakKeyDictionary[Callable[..., Any], Checker] = weakref.WeakKeyDictionary()


def resolve_annotations(*functions: Callable[..., Any]) -> None:
    """Resolve the annotations of checked functions at import: for functions that nearly every script calls.

    Each takes 0.2 ms, which would otherwise delay the first batch.
    """
    for function in functions:
        _checkers[function].resolve()


def checks_names_only(function: F, display_name: str | None = None) -> F:
    """Check only the names of arguments, for a function that checks their values itself.

    >>> @checks_names_only
    ... def take(count=1):
    ...     return count
    >>> take(cuont=3)
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentTypeError: take() got an unexpected keyword argument 'cuont'; did you mean 'count'?
    """
    checker = Checker(function, display_name=display_name)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        checker.bind(args, kwargs)
        return function(*args, **kwargs)

    return typing.cast(F, wrapper)


def as_column_list(columns: str | Iterable[str] | None) -> list[str] | None:
    """A single name as a list of one; None stays None."""
    if columns is None:
        return None
    return [columns] if isinstance(columns, str) else list(columns)
