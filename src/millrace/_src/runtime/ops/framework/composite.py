"""Higher-order functions: MultitypeFuncGraph, HyperMap, Map, Partial, Depend."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import export_names, public
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.declare.primitive import Primitive

__all__ = [
    "Depend",
    "HyperMap",
    "Map",
    "MultitypeFuncGraph",
    "Partial",
    "add_flags",
    "constexpr",
    "depend",
    "hyper_add",
    "mixed_precision_cast",
    "partial",
]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# Type name of MultitypeFuncGraph.register -> predicate for values.
_TYPE_PREDICATES: dict[str, Callable[[Any], bool]] = {
    "tensor": lambda value: isinstance(value, Tensor),
    "number": lambda value: isinstance(value, (int, float)),
    "bool": lambda value: isinstance(value, bool),
    "int": _is_int,
    "int32": _is_int,
    "int64": _is_int,
    "float": lambda value: isinstance(value, float),
    "float32": lambda value: isinstance(value, float),
    "float64": lambda value: isinstance(value, float),
    "string": lambda value: isinstance(value, str),
    "str": lambda value: isinstance(value, str),
    "tuple": lambda value: isinstance(value, tuple),
    "list": lambda value: isinstance(value, list),
    "dictionary": lambda value: isinstance(value, dict),
    "dict": lambda value: isinstance(value, dict),
    "function": callable,
    "none": lambda value: value is None,
    "nonetype": lambda value: value is None,
    "ellipsis": lambda value: value is Ellipsis,
    "slice": lambda value: isinstance(value, slice),
    # sparse tensors are separate classes
    "rowtensor": lambda value: type(value).__name__ == "RowTensor",
    "rowtensorinner": lambda value: type(value).__name__ == "RowTensor",
    "cootensor": lambda value: type(value).__name__ == "COOTensor",
    "csrtensor": lambda value: type(value).__name__ == "CSRTensor",
    "maptensor": lambda value: False,
    "environ": lambda value: False,
    "problem": lambda value: False,
    "undeterminedtype": lambda value: False,
}


def _parse_type_name(name: Any, owner: str) -> str:
    text = str(name).rpartition(".")[2].lower().rstrip("_")
    if text not in _TYPE_PREDICATES:
        raise ArgumentTypeError(
            f"For 'MultitypeFuncGraph' {owner!r}, {name!r} is no type to register a function for; "
            f"use one of {sorted(_TYPE_PREDICATES)}."
        )
    return text


@public("ops")
class MultitypeFuncGraph:
    """Function overloaded by the types of its arguments.

    >>> add = MultitypeFuncGraph("add")
    >>> @add.register("Number", "Number")
    ... def add_numbers(x, y):
    ...     return x + y
    >>> @add.register("Tuple", "Tuple")
    ... def add_tuples(x, y):
    ...     return (*x, *y)
    >>> add(1, 2), add((1,), (2,))
    (3, (1, 2))
    """

    def __init__(
        self, name: str, read_value: bool = False, doc_url: str = "", need_raise: bool = False
    ) -> None:
        self.name = name
        self.entries: list[tuple[tuple[str, ...], Callable[..., Any]]] = []

    def register(self, *type_names: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the decorated function for values of these types, one name per argument."""
        types = tuple(_parse_type_name(name, self.name) for name in type_names)

        def keep(fn: Callable[..., Any]) -> Callable[..., Any]:
            self.entries.append((types, fn))
            return fn

        return keep

    def __call__(self, *args: Any) -> Any:
        if len(self.entries) == 1 and len(self.entries[0][0]) == len(args):
            types, fn = self.entries[0]
            if all(_TYPE_PREDICATES[type_name](arg) for type_name, arg in zip(types, args, strict=True)):
                return fn(*args)
        for types, fn in self.entries:
            if len(types) == len(args) and all(
                _TYPE_PREDICATES[type_name](arg) for type_name, arg in zip(types, args, strict=True)
            ):
                return fn(*args)
        known = [(types, fn.__name__) for types, fn in self.entries]
        raise ArgumentValueError(
            f"For 'MultitypeFuncGraph' {self.name!r}, cannot find fn match given args. Got (sigs, fn): {known}, and "
            f"(dtype, args): {tuple(type(arg).__name__ for arg in args)}. Add a function with "
            f"@{self.name}.register(...)."
        )

    def __repr__(self) -> str:
        return f"MultitypeFuncGraph({self.name!r})"


class _MapBase:
    """Common base of HyperMap and Map: the function is given in the constructor or with each call."""

    def __init__(self, ops: Any = None, reverse: bool = False) -> None:
        if ops is not None and not callable(ops):
            raise ArgumentTypeError(
                f"For '{type(self).__name__}', 'ops' must be a MultitypeFuncGraph, a function or None, but got {ops!r}."
            )
        if not isinstance(reverse, bool):
            raise ArgumentTypeError(
                f"For '{type(self).__name__}', 'reverse' must be bool, but got {reverse!r}."
            )
        self.ops, self.reverse = ops, reverse

    def _function(self, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.ops is not None:
            return self.ops, args
        if not args or not callable(args[0]):
            raise ArgumentTypeError(
                f"For '{type(self).__name__}' without 'ops', the first argument of the call is the function."
            )
        return args[0], args[1:]

    def _in_order(self, fn: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        if not self.reverse:
            return tuple(fn(*row) for row in rows)
        return tuple([fn(*row) for row in reversed(rows)][::-1])


@public("ops")
class HyperMap(_MapBase):
    """Apply a function to each leaf of nested tuples and lists of the same structure.

    >>> HyperMap(lambda x, y: x + y)((1, (2, 3)), (4, (5, 6)))
    (5, (7, 9))
    """

    def __call__(self, *args: Any) -> Any:
        fn, trees = self._function(args)
        return self._walk(fn, trees)

    def _walk(self, fn: Callable[..., Any], trees: tuple[Any, ...]) -> Any:
        if not any(isinstance(tree, (tuple, list)) for tree in trees):
            return fn(*trees)
        if not all(isinstance(tree, (tuple, list)) for tree in trees):
            raise ArgumentTypeError(
                "For 'HyperMap', all arguments must be sequences of one shape, but got "
                f"{[type(tree).__name__ for tree in trees]}."
            )
        return self._in_order(lambda *parts: self._walk(fn, parts), list(zip(*trees, strict=False)))


@public("ops")
class Map(_MapBase):
    """Apply a function to each element of sequences; nested elements are passed unchanged.

    >>> Map(lambda x, y: x + y)((1, 2), (4, 5))
    (5, 7)
    """

    def __call__(self, *args: Any) -> Any:
        fn, rows = self._function(args)
        if not rows or not all(isinstance(row, (tuple, list)) for row in rows):
            return fn(*rows)
        return self._in_order(fn, list(zip(*rows, strict=False)))


@public("ops")
class Partial(Primitive):
    """Function with its first arguments fixed.

    >>> Partial()(pow, 2)(5)
    32
    """

    def __init__(self) -> None:
        super().__init__("Partial")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not args or not callable(args[0]):
            raise ArgumentTypeError("For 'Partial', the first argument must be a function.")
        return functools.partial(args[0], *args[1:], **kwargs)


@public("ops")
class Depend(Primitive):
    """Return the first argument. The second was computed before, since Python computes in order.

    >>> Depend()(1, 2)
    1
    """

    def __init__(self) -> None:
        super().__init__("Depend")

    def __call__(self, value: Any, expr: Any) -> Any:
        return value


@public("ops")
def constexpr(
    fn: Callable[..., Any] | None = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Any:
    """Decorate a function that Python computes while a graph is compiled. Here Python computes everything, so the
    function is returned unchanged.
    """
    if fn is None:
        return functools.partial(constexpr, get_instance=get_instance, name=name)
    return fn if get_instance else (lambda: fn)


@public("ops")
def add_flags(fn: Callable[..., Any] | None = None, **flags: Any) -> Any:
    """Store flags on a function or Cell."""

    def keep(target: Any) -> Any:
        if hasattr(target, "add_flags"):
            return target.add_flags(**flags)
        target._func_graph_flags = {**getattr(target, "_func_graph_flags", {}), **flags}
        return target

    return keep if fn is None else keep(fn)


@public("ops")
def mixed_precision_cast(dst_dtype: DType, x: Any) -> Any:
    """Cast the floating tensors of a nested structure to another floating dtype; other values are unchanged."""
    if isinstance(x, Tensor):
        return x.astype(dst_dtype) if x.dtype.python is float else x
    if isinstance(x, (tuple, list)):
        return type(x)(mixed_precision_cast(dst_dtype, part) for part in x)
    if isinstance(x, dict):
        return {name: mixed_precision_cast(dst_dtype, part) for name, part in x.items()}
    return x


partial = Partial()
depend = Depend()
hyper_add = HyperMap(lambda x, y: x + y)
export_names(__name__, "ops", "partial", "depend", "hyper_add")
