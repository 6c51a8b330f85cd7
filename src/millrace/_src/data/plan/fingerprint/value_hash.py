"""What a value is, from its fields: the same in another process and on another day.

A value is taken apart into *leaves*: paths such as ``operations[1].function``, each with a hash of what is there.
Equal values have equal leaves; where two differ, the leaf says which part it is. Nothing here is taken from printed
text, from addresses or from the place of a line in a file.

- Plain data (numbers, text, bytes, arrays, types, enums, and containers of them) counts by its value and type. Of an
  array above 16 MiB, evenly spread blocks are looked at (of one that a source uses, above 64 KiB).
- A function counts by its bytecode, constants, names and defaults, and by what it closes over and the globals it names,
  as far as it uses them: for ``args.scale`` the attribute alone, for ``table.get(x)`` the table. A variable that it
  assigns itself, and a list that it only appends to, are running state.
- An object counts by its class and its fields, or what ``__getstate__`` gives. A user's class counts by its code too.
- The standard library and installed packages count by name, so does Millrace itself.
- A generator of random numbers counts by its class, since it moves with every call; so do loggers, locks and pools, and
  what shows no fields.
"""

from __future__ import annotations

import collections
import copyreg
import dataclasses
import enum
import functools
import hashlib
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from millrace._src.core.random.rng import is_generator
from millrace._src.core.stable_ids import Definition, is_ours, stored_name
from millrace._src.core.user_code import is_installed
from millrace._src.data.transforms.base import Transform

from .canonical_bytes import MAX_BYTES, NotCanonical, canonical_bytes, module_of, path_of
from .code_hash import code_bytes, outer_variables

__all__ = ["LeafHash", "is_library", "hash_leaves"]

# Deeper than this, a value counts by its class: nobody writes such a thing by hand.
MAX_DEPTH = 40
# Calls that write something down and read nothing, and what they are made on.
APPEND_METHODS = frozenset(("add", "append", "appendleft", "extend", "extendleft", "insert", "update"))
APPEND_TYPES = (list, set, dict, collections.deque)
# Where objects of the standard library are from that hold no data of the user's.
MACHINERY = {"_queue", "_thread", "_weakrefset", "asyncio", "concurrent", "contextvars", "logging"}
MACHINERY |= {"multiprocessing", "queue", "socket", "subprocess", "tempfile", "threading", "weakref"}
# What a source uses is mostly its data, which a state takes on trust as it takes the bytes of files.
SOURCE_BYTES = 1 << 16


@dataclasses.dataclass(frozen=True)
class LeafHash:
    """One part of a value: where it is, what it is in words, a hash of it, and its value where that is short."""

    path: str
    description: str
    digest: bytes
    shown: str = ""

    def __str__(self) -> str:
        text = f"{self.path} differs" if self.path else "it differs"
        text += f": {self.description}" if self.description else ""
        return text + (f" is {self.shown} now" if self.shown else "")


def hash_leaves(path: str, value: Any, *, shallow: bool = False, whole: bool = False) -> list[LeafHash]:
    """The leaves of a value; ``shallow`` takes objects inside its fields by their class, ``whole`` all of an array."""
    taker = _ValueHasher(shallow, None if whole else SOURCE_BYTES if shallow else MAX_BYTES)
    taker.take(path, value)
    return taker.leaves


def _digest(*parts: bytes) -> bytes:
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
    return hasher.digest()


class _ValueHasher:
    """Takes one value apart. What was seen before counts by its number, so circles end."""

    def __init__(self, shallow: bool, most: int | None, classes: tuple[type, ...] = ()) -> None:
        self.leaves: list[LeafHash] = []
        self.shallow, self.most = shallow, most
        # those whose code is being looked at: a class may hold an object of its own kind
        self._classes = classes
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # an address means something only while its object lives
        self._depth = 0

    def add(self, path: str, description: str, *parts: bytes, shown: str = "") -> None:
        self.leaves.append(LeafHash(path, description, _digest(*parts), shown))

    def take(self, path: str, value: Any, description: str = "") -> None:
        try:
            self.add(path, description, canonical_bytes(value, self.most), shown=_short(value))
        except NotCanonical:
            self._hash_parts(path, value, description)

    def _hash_parts(self, path: str, value: Any, description: str) -> None:
        number = self._seen.get(id(value))
        if number is not None:
            self.add(path, description, b"seen", number.to_bytes(8, "little"))
        elif self._depth >= MAX_DEPTH or is_generator(value) or _is_machinery(value):
            self._by_class(path, value, description)
        else:
            self._seen[id(value)] = len(self._seen)
            self._alive.append(value)
            self._depth += 1
            handler = next(
                (handler for classes, handler in _HANDLERS if isinstance(value, classes)),
                _ValueHasher._object,
            )
            handler(self, path, value, description)
            self._depth -= 1

    # --- containers and classes ---------------------------------------------------------------------

    def _sequence(self, path: str, value: Any, description: str) -> None:
        self.add(path, description, path_of(type(value)), len(value).to_bytes(8, "little"))
        for number, item in enumerate(value):
            self.take(f"{path}[{number}]", item, description)
        self._hash_extra_state(path, value, description)

    def _mapping(self, path: str, value: Mapping[Any, Any], description: str) -> None:
        self.add(path, description, path_of(type(value)), len(value).to_bytes(8, "little"))
        for number, (key, item) in enumerate(value.items()):
            if type(key) in (str, int):
                self.take(f"{path}[{key!r}]", item, description)
            else:
                self.take(f"{path}: key {number}", key, description)
                self.take(f"{path}: value {number}", item, description)
        self._hash_extra_state(path, value, description)

    def _hash_extra_state(self, path: str, value: Any, description: str) -> None:
        """What a user's kind of list or dict is beside its items."""
        value_class = type(value)
        if not is_library(module_of(value_class)):
            self._class_code(path, value_class)
        for name, field in sorted(getattr(value, "__dict__", {}).items()):
            self.take(f"{path}.{name}", field, description)
        if isinstance(value, collections.defaultdict):
            self.take(f"{path}.default_factory", value.default_factory, description)

    def _set(self, path: str, value: Any, description: str) -> None:
        inner = sorted(_all_of(hash_leaves("", item)) for item in value)
        self.add(path, description, path_of(type(value)), *inner)

    def _class(self, path: str, value: type, description: str) -> None:
        self.add(path, description, path_of(value))
        self._class_code(path, value)

    def _class_code(self, path: str, cls: type) -> None:
        """The methods and attributes of a user's class and of the user's classes above it."""
        if cls in self._classes:
            return
        parts: list[bytes] = []
        for part in cls.__mro__:
            if is_library(module_of(part)):
                continue
            for name, member in sorted(vars(part).items()):
                member = _unwrap_member(member)
                if name.startswith("__") and not isinstance(member, types.FunctionType):
                    continue
                # the class itself may be inside (super() closes over it): it is known from here on
                inner = _ValueHasher(self.shallow, self.most, (*self._classes, cls))
                inner._seen = {id(k): n for n, k in enumerate(cls.__mro__)}
                inner.take("", member)
                parts += [name.encode(), _all_of(inner.leaves)]
        if parts:
            self.add(path, f"the code of class {cls.__name__}, or a global that it names", *parts)

    # --- functions ----------------------------------------------------------------------------------

    def _function(self, path: str, value: types.FunctionType, description: str) -> None:
        module_name = str(value.__globals__.get("__name__", ""))
        from_library = is_library(module_name)
        name = value.__name__
        if from_library:
            stored = stored_name(value) if is_ours(value) else Definition(module_name, value.__qualname__)
            self.add(path, description, stored.module.encode(), stored.name.encode())
        else:
            self.add(path, description or f"the code of {name}", code_bytes(value.__code__, value.__doc__))
        for number, default in enumerate(value.__defaults__ or ()):
            self.take(path, default, f"default {number} of {name}")
        for key, default in (value.__kwdefaults__ or {}).items():
            self.take(path, default, f"the default of {key!r}")
        for key, kept in sorted(vars(value).items()):
            if key != "__wrapped__":
                self.take(path, kept, f"the attribute {key!r} of {name}")
        cells = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
        bound = {key: cell.cell_contents for key, cell in cells.items() if _is_filled(cell)}
        for use in outer_variables(value.__code__):
            if use.name in cells:
                if use.name in bound:
                    self._hash_use(path, bound[use.name], use.steps, f"the closure variable {use.text!r}")
            elif not from_library and use.name in value.__globals__:
                self._hash_use(path, value.__globals__[use.name], use.steps, f"the global {use.text!r}")

    def _hash_use(self, path: str, value: Any, steps: tuple[tuple[str, Any], ...], description: str) -> None:
        """A variable as far as the function uses it: a module's attribute, a namespace's field, an item."""
        for access, key in steps:
            if access == "attribute" and key in APPEND_METHODS and isinstance(value, APPEND_TYPES):
                self.add(
                    path, description, path_of(type(value))
                )  # what it writes down; what it reads is a use of its own
                return
            member = _item(value, key) if access == "item" else _attribute(value, key)
            if member is _MISSING:
                break  # a method or something computed: the whole counts
            if member is _BY_NAME:
                owner = (
                    value.__name__.encode() if isinstance(value, types.ModuleType) else path_of(type(value))
                )
                self.add(path, description, owner, str(key).encode())
                return
            value = member
        if isinstance(value, types.ModuleType):
            self.add(path, description, b"module", value.__name__.encode())
        elif isinstance(value, type):
            self.add(path, description, path_of(value))
        else:
            self.take(path, value, description)

    def _builtin(self, path: str, value: Any, description: str) -> None:
        self.add(path, description, path_of(value))
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.take(path, owner, f"the object of {value.__name__}")

    def _method(self, path: str, value: types.MethodType, description: str) -> None:
        self.take(path, value.__func__, description)
        self.take(path, value.__self__, description or f"the object of {value.__func__.__name__}")

    def _partial(self, path: str, value: functools.partial[Any], description: str) -> None:
        self.take(f"{path}.func", value.func, description)
        for number, item in enumerate(value.args):
            self.take(f"{path}.args[{number}]", item, description)
        for key, item in sorted(value.keywords.items()):
            self.take(f"{path}.keywords[{key!r}]", item, description)

    def _by_class(self, path: str, value: Any, description: str) -> None:
        self.add(path, description, path_of(type(value)))

    # --- objects ------------------------------------------------------------------------------------

    def _object(self, path: str, value: Any, description: str) -> None:
        value_class = type(value)
        shown = stored_name(value_class).name.rpartition(".")[2]
        self.add(path, description or f"its class is {shown}", path_of(value_class))
        from_library = is_library(module_of(value_class))
        if not from_library:
            self._class_code(path, value_class)
        if self.shallow and self._depth > 1:
            return
        for name, field in sorted(_fields(value, from_library).items(), key=lambda pair: str(pair[0])):
            self.take(f"{path}.{name}", field, description)


_MISSING = object()
_BY_NAME = object()
_Handler = Callable[[_ValueHasher, str, Any, str], None]
_HANDLERS: tuple[tuple[Any, _Handler], ...] = (
    (types.FunctionType, _ValueHasher._function),
    (types.MethodType, _ValueHasher._method),
    (functools.partial, _ValueHasher._partial),
    ((types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType), _ValueHasher._builtin),
    (type, _ValueHasher._class),
    ((types.ModuleType, types.GeneratorType, types.CoroutineType), _ValueHasher._by_class),
    ((list, tuple, collections.deque), _ValueHasher._sequence),
    ((dict, types.MappingProxyType), _ValueHasher._mapping),
    ((set, frozenset), _ValueHasher._set),
)


def _unwrap_member(member: Any) -> Any:
    """What a class was given to make an attribute of: the function of a property or a class method, say."""
    if isinstance(member, functools.partialmethod):
        return functools.partial(member.func, *member.args, **member.keywords)
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    elif isinstance(member, property):
        member = member.fget
    elif isinstance(member, functools.cached_property):
        member = member.func
    return member


def _item(value: Any, key: Any) -> Any:
    if isinstance(value, dict):
        return dict.get(value, key, _MISSING)  # asked in the usual way, some dicts would get a new item
    try:
        return value[key] if isinstance(value, (list, tuple)) else _MISSING
    except LookupError:
        return _MISSING


def _attribute(value: Any, key: str) -> Any:
    """What ``value.key`` is where it is stored; a method of a logger and its like counts by its name."""
    if isinstance(value, types.ModuleType):
        attribute = vars(value).get(key, _MISSING)
        return (
            attribute
            if isinstance(attribute, types.ModuleType) or not is_library(value.__name__)
            else _BY_NAME
        )
    if isinstance(value, type):
        return getattr(value, key, _MISSING)
    fields = getattr(value, "__dict__", {})
    if key in fields:
        return fields[key]
    if isinstance(value, dict) and key in value and not hasattr(type(value), key):
        return value[key]  # a dict whose items are attributes too
    member = inspect.getattr_static(type(value), key, _MISSING)
    if isinstance(member, types.MemberDescriptorType):
        return getattr(value, key, _MISSING)
    # methods, properties, fields of C code and of named tuples: what they give is part of the object
    if member is _MISSING or callable(member) or hasattr(type(member), "__get__"):
        return _BY_NAME if member is not _MISSING and _is_machinery(value) else _MISSING
    return member


def _is_machinery(value: Any) -> bool:
    """A logger, a lock, a pool: an object of the standard library that moves while a program runs, and is no data."""
    return module_of(type(value)).partition(".")[0] in MACHINERY


def _fields(value: Any, from_library: bool) -> dict[Any, Any]:
    """An object's fields: what it says itself, what it would pickle, or what it holds."""
    value_class = type(value)
    identity = getattr(value_class, "_identity", None)
    try:
        if callable(identity):
            return dict(identity(value))
        has_getstate = any("__getstate__" in vars(part) for part in value_class.__mro__[:-1])
        has_fields = hasattr(value, "__dict__") or any(
            "__slots__" in vars(part) for part in value_class.__mro__
        )
        if not has_getstate and not has_fields:
            return _reduced_state(value)
        state: Any = value.__getstate__()
    except Exception:  # a user's __getstate__ may do anything; then its class is all that is known
        return {}
    if isinstance(state, tuple) and len(state) == 2 and all(isinstance(s, dict | None) for s in state):
        state = {**(state[0] or {}), **(state[1] or {})}
    fields = state if isinstance(state, dict) else {} if state is None else {"state": state}
    if from_library and isinstance(
        value, Transform
    ):  # ours keep what they gather while rows run behind an underscore
        fields = {name: field for name, field in fields.items() if not str(name).startswith("_")}
    return fields


def _reduced_state(value: Any) -> dict[Any, Any]:
    """What an object of C code gives to be pickled, where that is plain."""
    reduce = copyreg.dispatch_table.get(type(value))
    reduced = value.__reduce_ex__(2) if reduce is None else reduce(value)
    parts = [reduced] if isinstance(reduced, str) else [part for part in reduced[1:3] if part is not None]
    try:
        for part in parts:
            canonical_bytes(part)
    except NotCanonical:
        return {}
    return dict(enumerate(parts))


def _all_of(leaves: list[LeafHash]) -> bytes:
    return _digest(
        *(part for leaf in leaves for part in (leaf.path.encode(), leaf.description.encode(), leaf.digest))
    )


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # named before it is given a value
        return False
    return True


def _short(value: Any) -> str:
    """The value for a message, where it is one short thing."""
    if isinstance(value, (bool, int, float, str)) and not isinstance(value, enum.Enum):
        text = repr(value)
        return text if len(text) <= 40 else ""
    return ""


@functools.lru_cache(maxsize=4096)
def is_library(module: str) -> bool:
    """Whether a module is Python's, an installed package's or Millrace's: its code is named, not looked into."""
    root = module.partition(".")[0]
    if root in ("__main__", "__mp_main__"):
        return False  # the user's script, be it that a profiler or a notebook runs it
    file = getattr(sys.modules.get(module) or sys.modules.get(root), "__file__", None)
    return is_installed(file) if file else root in sys.stdlib_module_names
