"""Cache node: the output rows of the op below it are computed once and stored.

If every row below keeps its number in the source, rows are stored by that number: any order, shard and shuffle may be
above and below. Otherwise (after a batch, a filter, a stream) they are stored by their index in the sequence,
which then must be the same in every epoch.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Iterator
from typing import Any, Protocol

from millrace._src.core.errors import PlanError
from millrace._src.core.random.rng import is_generator
from millrace._src.core.stable_ids import stable_id
from millrace._src.data.plan.fingerprint.code_hash import outer_variables
from millrace._src.data.plan.fingerprint.value_hash import is_library
from millrace._src.data.plan.node import INFINITE, Node, internal_field, size_of, walk
from millrace._src.data.transforms.base import nested_transforms

from .read import Read

__all__ = [
    "Cache",
    "CacheProtocol",
    "check_cacheable",
    "check_cacheable_inner",
    "find_random_call",
    "user_functions",
]


class CacheProtocol(Protocol):
    """The interface of caches for the engine. The classes are in ``data/cache``, which the plan does not import."""

    # whether it has been opened in this process before
    used: bool

    def resolve(self) -> None:
        """Called in the main process before workers start."""

    def open(self, key: str, rows: int | None) -> Any:
        """Open the store of the rows with a key."""

    def to_dict(self) -> dict[str, Any]:
        """The arguments for JSON."""


@stable_id("node.Cached")
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cache(Node):
    """Stores the rows of its input in ``cache``; ``subject`` is the tree below as the user wrote it."""

    cache: CacheProtocol
    logical_input: Node | None = internal_field(None)

    preserves_rows = True
    preserves_order = True

    @property
    def label(self) -> str:
        return "Cache"

    @property
    def is_keyed_by_row(self) -> bool:
        """Whether each input row has its number in a source with random access."""
        node = self.inputs[0]
        while not isinstance(node, Read):
            if (
                not (node.row_wise and node.preserves_rows and node.preserves_order)
                or node.is_sequential
                or not node.inputs
            ):
                return False
            node = node.inputs[0]
        return node.random_access

    @property
    def row_wise(self) -> bool:
        return self.is_keyed_by_row

    def details(self) -> dict[str, Any]:
        return {"cache": repr(self.cache)}


def check_cacheable(node: Cache) -> None:
    """Raise for ops whose effect a cache would freeze or skip; the error names the line to move."""
    for below in walk(node.inputs[0]):
        why = below.nondeterminism_reason
        if why:
            raise PlanError(
                f"{below.label}Node containing random operation is not supported as a descendant of cache: {why} in "
                f"every epoch, and the cache{_location(node)} would return the values of the first epoch in all of "
                f"them. Move the {_op_text(below)}{_location(below)} behind the cache."
            )
        epochs = next((name for name, code in user_functions(below) if "get_epoch_num" in _names(code)), None)
        if epochs is not None:
            raise PlanError(
                f"the {epochs} of the {_op_text(below)}{_location(below)} uses the number of the epoch "
                f"(get_epoch_num), and the cache{_location(node)} would return the values of the first epoch in all "
                f"of them. Move the {_op_text(below)} behind the cache."
            )
        if getattr(below, "callbacks", ()) or below.is_synchronized:
            raise PlanError(
                f"{below.label}Node is not supported as a descendant of cache: cached rows do not pass "
                f"the {_op_text(below)}{_location(below)} again. Move it behind the cache{_location(node)}."
            )
    if not node.is_keyed_by_row:
        _check_sequence(node)


def check_cacheable_inner(node: Node, inner: Node) -> None:
    """Check the dataset that the function of a flat_map below a cache returns: it is known only at run time."""
    for below in walk(inner):
        if below.nondeterminism_reason or below.reorders_each_epoch:
            raise PlanError(
                f"the dataset that the {_op_text(node)}{_location(node)} makes of a row differs in every "
                f"epoch ({_op_text(below)}{_location(below)}), and the cache at {getattr(node, 'cache_call_site', '')} "
                "would return the rows of the first epoch in all of them. Pass shuffle=False to the source inside, or "
                f"put the cache below the {_op_text(node)}."
            )


def _check_sequence(node: Cache) -> None:
    if any(below.reorders_each_epoch for below in walk(node.inputs[0])):
        # first the tree as the user wrote it, in which no shuffle has been moved into the source yet
        trees = [tree for tree in (node.logical_input, node.inputs[0]) if tree is not None]
        tree, below = next((tree, op) for tree in trees for op in walk(tree) if op.reorders_each_epoch)
        between = next(
            (op for op in _upwards(tree, below) if not (op.row_wise or op.reorders_each_epoch)), None
        )
        reason = (
            f"the {_op_text(between)}{_location(between)} depends on the order of rows"
            if between
            else "it is read in one pass"
        )
        lower = f"the {_op_text(between)}{_location(between)}" if between else "the shuffle"
        raise PlanError(
            f"the rows below the cache{_location(node)} come in another order each epoch "
            f"({_op_text(below)}{_location(below)}), and {reason}: the cache would return the order of the "
            f"first epoch in all of them. Put the cache below {lower}, or shuffle behind the cache."
        )
    if size_of(node.inputs[0]) == INFINITE:
        raise PlanError(
            f"the rows below the cache{_location(node)} have no end; put repeat() behind the cache"
        )


def _upwards(tree: Node, below: Node) -> Iterator[Node]:
    """The ancestors of a node in its tree, from the lowest to the root."""
    chain: list[Node] = []

    def find(node: Node) -> bool:
        if node is below:
            return True
        if any(find(child) for child in node.inputs):
            chain.append(node)
            return True
        return False

    find(tree)
    return iter(chain)


def _op_text(node: Node | None) -> str:
    if node is None:
        return ""
    return node.label if isinstance(node, Read) else f"{node.label.lower()}()"


def _location(node: Node | None) -> str:
    return f" at {node.call_site}" if node is not None and node.call_site else ""


def user_functions(node: Node) -> Iterator[tuple[str, types.FunctionType]]:
    """The user functions that compute the rows of a node, with their names in the node."""
    named: list[tuple[str, Any]] = [
        (field.name, getattr(node, field.name)) for field in dataclasses.fields(node)
    ]
    operations = getattr(node, "operations", ())
    named += [
        ("function", getattr(part, "function", None))
        for whole in operations
        for part in nested_transforms(whole)
    ]
    source = getattr(getattr(node, "source", None), "source", None)
    named += [(name, getattr(type(source), name, None)) for name in ("__getitem__", "__iter__", "__next__")]
    named.append(("source", source))
    for name, value in named:
        function = _function(value)
        if function is not None and not is_library(str(function.__globals__.get("__name__", ""))):
            yield name, function


def _function(value: Any) -> types.FunctionType | None:
    while isinstance(value, functools.partial):
        value = value.func
    if not callable(value) or isinstance(value, type):
        return None
    value = getattr(value, "__func__", value)
    if not isinstance(value, types.FunctionType):
        value = getattr(type(value), "__call__", None)  # noqa: B004
    return value if isinstance(value, types.FunctionType) else None


def _names(function: types.FunctionType) -> set[str]:
    """All names used in the code of a function and of its nested functions."""
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return names


def find_random_call(function: types.FunctionType) -> str | None:
    """The name of a random number generator that a user function uses, if its code contains one."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for use in outer_variables(function.__code__):
        if use.name in cells:
            try:
                value = cells[use.name].cell_contents
            except ValueError:  # the variable is not assigned yet
                continue
        else:
            value = function.__globals__.get(use.name)
        steps = [key for access, key in use.steps if access == "attribute"]
        module = value.__name__ if isinstance(value, types.ModuleType) else ""
        if (
            module in ("random", "numpy.random")
            or (module == "numpy" and steps[:1] == ["random"])
            or is_generator(value)
            or is_generator(getattr(value, "__self__", None))
        ):
            return use.text
    return None
