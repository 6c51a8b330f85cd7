"""Stable ids: the names of Millrace's classes and functions in files.

Fingerprints, cursors, cache keys, JSON plans and archives hold ids such as ``vision.Resize`` or ``enum.Inter``,
never the module in which something is defined. An id is a family and a name. A base class gives its family to the
classes derived from it; the name is that of the class, unless ``stable_id`` sets another. A renamed class keeps its old
id with ``stable_id``. Public functions and other public classes are identified by their public module: ``ops.add``.

Classes and functions of the user have no id: they are identified by their module and qualified name.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "Definition",
    "find_id",
    "is_module_of",
    "is_ours",
    "naming_of_0_2_0",
    "public_module",
    "register",
    "stable_id",
    "stored_name",
    "unregistered",
]

_ROOT = __name__.partition(".")[0]
# Public modules in the order in which they are searched for objects without a separate id.
_PUBLIC = (
    *("dataset", "dataset.vision", "dataset.transforms", "dataset.text", "dataset.audio", "dataset.config"),
    *(
        "dataset.utils",
        "dataset.debug",
        "mindrecord",
        "ops",
        "nn",
        "train",
        "amp",
        "mint",
        "mint.nn.functional",
    ),
    *(
        "mint.nn",
        "mint.linalg",
        "mint.special",
        "mint.distributed",
        "numpy",
        "numpy.fft",
        "scipy.linalg",
        "scipy.fft",
    ),
    *(
        "scipy.optimize",
        "common.initializer",
        "common.dtype",
        "communication",
        "parallel",
        "serve",
        "experimental",
    ),
    *("experimental.optim", "experimental.optim.lr_scheduler", "mint.optim"),
    # the root, which also has many names of the last ones
    *("", "runtime", "hal", "context", "log", "profiler", "boost"),
)
# Families that are public modules of the package `dataset`.
_OF_DATASET = ("audio", "text", "transforms", "vision")
_FROZEN = Path(__file__).with_name("paths_0_2_0.json")

Thing = TypeVar("Thing")


class Definition(NamedTuple):
    """Where a class or function is defined: identifies it in a fingerprint if it has no id."""

    module: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


_ids: dict[Any, str] = {}
_things: dict[str, Any] = {}
# objects without an id, stored by their bare name: a test fails if there is any
unregistered: set[str] = set()
_old_names: ContextVar[dict[str, Definition] | None] = ContextVar("old_names", default=None)


def definition_of(thing: Any) -> Definition:
    """The module and the qualified name of an object; empty where it has none."""
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", "")
    return Definition(getattr(thing, "__module__", None) or "", name or "")


def is_ours(thing: Any) -> bool:
    """Whether a class or function is Millrace's own."""
    return definition_of(thing).module.partition(".")[0] == _ROOT


def register(thing: Any, family: str, name: str | None = None) -> None:
    """Register the id of a class of Millrace; classes of the user have none.

    Raises:
        TypeError: if another class has this id.
    """
    if not is_ours(thing):
        return
    text = f"{family}.{name or thing.__name__}"
    existing = _things.get(text)
    if existing is not None and definition_of(existing) != definition_of(thing):
        raise TypeError(
            f"stable id: expected an id that no other class has, got {text!r} for {definition_of(thing).path} and for "
            f"{definition_of(existing).path}. State another id: stable_id(...)."
        )
    if thing in _ids and _ids[thing] != text:  # an explicit id replaces that of the base class
        _things.pop(_ids[thing], None)
    _ids[thing] = text
    _things[text] = thing


def stable_id(text: str) -> Callable[[Thing], Thing]:
    """Set the id of a class or function that has no family, or that was renamed.

    >>> @stable_id("enum.OldName")
    ... class NewName: ...
    >>> find_id(NewName)
    'enum.OldName'
    """
    family, _, name = text.rpartition(".")

    def state(thing: Thing) -> Thing:
        register(thing, family, name)
        return thing

    return state


def find_id(thing: Any) -> str | None:
    """The id of a class or function; None if it is the user's, or neither registered nor exported.

    >>> from millrace._src.core.random.shuffle import Shuffle
    >>> find_id(Shuffle), find_id(int)
    ('enum.Shuffle', None)
    """
    if not is_ours(thing):
        return None
    return _ids.get(thing) if thing in _ids else _exported_id(thing)


def _exported_id(thing: Any) -> str | None:
    """The id from the public module and name, or from the enclosing class."""
    definition = definition_of(thing)
    outer, _, rest = definition.name.partition(".")
    if rest:
        owner = getattr(sys.modules.get(definition.module), outer, None)
        owner_id = None if owner is None else find_id(owner)
        return None if owner_id is None else f"{owner_id}.{rest}"
    loaded = [(name, sys.modules.get(f"{_ROOT}.{name}".rstrip("."))) for name in _PUBLIC]
    for name, module in loaded:
        with contextlib.suppress(ImportError):  # a lazy name that needs an extra
            if module is not None and getattr(module, outer, None) is thing:
                return f"{name}.{outer}".lstrip(".")
    for name, module in loaded:  # exported under another name
        for known, value in vars(module).items() if module is not None else ():
            if value is thing and known[0] != "_":
                return f"{name}.{known}".lstrip(".")
    return None


def stored_name(thing: Any) -> Definition:
    """The name of a class or function in a fingerprint: its id as ("", id), or the definition if it is the user's."""
    definition = definition_of(thing)
    if not is_ours(thing):
        return definition
    text = find_id(thing)
    if text is None:
        unregistered.add(definition.path)
        text = f"{_ROOT}:{definition.name}"
    old = _old_names.get()
    return Definition("", text) if old is None else old.get(text, Definition("", text))


def public_module(thing: Any) -> str:
    """The module of a class or function in JSON: for Millrace a public one, wherever it is defined.

    >>> public_module(json.dumps)
    'json'
    """
    text = find_id(thing)
    if text is None:
        return definition_of(thing).module or definition_of(type(thing)).module
    family = text.rpartition(".")[0]
    return f"{_ROOT}.dataset.{family}" if family in _OF_DATASET else f"{_ROOT}.{family}".rstrip(".")


def is_module_of(thing: Any, module: Any) -> bool:
    """Whether a module in JSON is that of a class of Millrace: the public one, or that of version 0.2.0."""
    old = paths_of_0_2_0().get(find_id(thing) or "")
    return module == public_module(thing) or (old is not None and module == old.module)


@contextlib.contextmanager
def naming_of_0_2_0() -> Iterator[None]:
    """Let ``stored_name`` return the module paths that version 0.2.0 stored."""
    token = _old_names.set(paths_of_0_2_0())
    try:
        yield
    finally:
        _old_names.reset(token)


@functools.cache
def paths_of_0_2_0() -> dict[str, Definition]:
    """The definitions of version 0.2.0 by id. The table is frozen."""
    table = json.loads(_FROZEN.read_text(encoding="utf-8"))
    return {text: Definition(module, name) for module, names in table.items() for text, name in names.items()}
