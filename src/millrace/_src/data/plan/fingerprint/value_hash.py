"""Stable hashes of values from their fields: the same in every process and on every day.

A value is decomposed into *leaves*: paths such as ``operations[1].function``, each with a hash of the value there.
Equal values have equal leaves; where two values differ, the leaf names the part. Printed text, addresses and line
numbers are never used.

- Plain data (numbers, text, bytes, arrays, types, enums, and containers of them) is hashed by value and type. Of an
  array above 16 MiB, evenly spread blocks are hashed (for an array of a source, above 64 KiB).
- A function is hashed by its bytecode, constants, names and defaults, and by the closure variables and globals that it
  uses, as far as it uses them: for ``args.scale`` only the attribute, for ``table.get(x)`` the table. A variable that
  it assigns, and a list that it only appends to, are state of the run and are ignored.
- An object is hashed by its class and its fields, or the result of ``__getstate__``. A class of the user is also hashed
  by its code.
- The standard library, installed packages and Millrace are hashed by name.
- A random number generator is hashed by its class, since its state changes with every call; so are loggers, locks,
  pools, and objects without fields.
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

# Below this depth, a value is hashed by its class: such nesting is not written manually.
MAX_DEPTH = 40
# Methods that only add values and read nothing, and the types that have them.
APPEND_METHODS = frozenset(("add", "append", "appendleft", "extend", "extendleft", "insert", "update"))
APPEND_TYPES = (list, set, dict, collections.deque)
# Modules of the standard library whose objects hold no data of the user.
MACHINERY = {"_queue", "_thread", "_weakrefset", "asyncio", "concurrent", "contextvars", "logging"}
MACHINERY |= {"multiprocessing", "queue", "socket", "subprocess", "tempfile", "threading", "weakref"}
# The arrays of a source are mostly its data, which a state does not verify, as it does not verify the bytes of files.
SOURCE_BYTES = 1 << 16


@dataclasses.dataclass(frozen=True)
class LeafHash:
    """One part of a value: its path, a description, its hash, and its text if that is short."""

    path: str
    description: str
    digest: bytes
    shown: str = ""

    def __str__(self) -> str:
        text = f"{self.path} differs" if self.path else "it differs"
        text += f": {self.description}" if self.description else ""
        return text + (f" is {self.shown} now" if self.shown else "")


def hash_leaves(path: str, value: Any, *, shallow: bool = False, whole: bool = False) -> list[LeafHash]:
    """The leaves of a value; ``shallow`` hashes objects inside its fields by class, ``whole`` all bytes of arrays."""
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
    """Decomposes one value. An object that was visited before is hashed by its number, so circular references end."""

    def __init__(self, shallow: bool, most: int | None, classes: tuple[type, ...] = ()) -> None:
        self.leaves: list[LeafHash] = []
        self.shallow, self.most = shallow, most
        # the classes whose code is being hashed: a class may hold an instance of itself
        self._classes = classes
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # keep objects alive, so that their addresses stay unique
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
        """Hash the state of a user's subclass of list or dict other than its items."""
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
        """Hash the methods and attributes of a user's class and of its base classes in user code."""
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
                # a member may refer to the class itself (super() closes over it): mark it as visited
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
        """Hash a variable as far as the function uses it: an attribute of a module or namespace, or an item."""
        for access, key in steps:
            if access == "attribute" and key in APPEND_METHODS and isinstance(value, APPEND_TYPES):
                self.add(
                    path, description, path_of(type(value))
                )  # the call only adds values; reading the variable is a separate use
                return
            member = _item(value, key) if access == "item" else _attribute(value, key)
            if member is _MISSING:
                break  # a method or a computed attribute: hash the whole value
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
    """Unwrap a class attribute: for example the function of a property or of a class method."""
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
        return dict.get(value, key, _MISSING)  # value[key] would add an item to a defaultdict
    try:
        return value[key] if isinstance(value, (list, tuple)) else _MISSING
    except LookupError:
        return _MISSING


def _attribute(value: Any, key: str) -> Any:
    """The stored value of ``value.key``; a method of a logger, lock or pool is hashed by name."""
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
        return value[key]  # a dict with its items as attributes
    member = inspect.getattr_static(type(value), key, _MISSING)
    if isinstance(member, types.MemberDescriptorType):
        return getattr(value, key, _MISSING)
    # methods, properties, fields of C types and of named tuples: their values are part of the object
    if member is _MISSING or callable(member) or hasattr(type(member), "__get__"):
        return _BY_NAME if member is not _MISSING and _is_machinery(value) else _MISSING
    return member


def _is_machinery(value: Any) -> bool:
    """Whether an object is a logger, a lock, a pool or similar: its state changes at run time, and it holds no data."""
    return module_of(type(value)).partition(".")[0] in MACHINERY


def _fields(value: Any, from_library: bool) -> dict[Any, Any]:
    """The fields of an object: from its ``_identity``, from its pickled state, or its attributes."""
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
    except Exception:  # a user's __getstate__ may fail; then only its class is hashed
        return {}
    if isinstance(state, tuple) and len(state) == 2 and all(isinstance(s, dict | None) for s in state):
        state = {**(state[0] or {}), **(state[1] or {})}
    fields = state if isinstance(state, dict) else {} if state is None else {"state": state}
    if from_library and isinstance(
        value, Transform
    ):  # transforms of Millrace keep run-time state in attributes with an underscore
        fields = {name: field for name, field in fields.items() if not str(name).startswith("_")}
    return fields


def _reduced_state(value: Any) -> dict[Any, Any]:
    """The pickled state of an object of a C type, if that is plain data."""
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
    except ValueError:  # the variable is not assigned yet
        return False
    return True


def _short(value: Any) -> str:
    """The value as text for a message, if it is short."""
    if isinstance(value, (bool, int, float, str)) and not isinstance(value, enum.Enum):
        text = repr(value)
        return text if len(text) <= 40 else ""
    return ""


@functools.lru_cache(maxsize=4096)
def is_library(module: str) -> bool:
    """Whether a module belongs to Python, an installed package or Millrace: its code is hashed by name."""
    root = module.partition(".")[0]
    if root in ("__main__", "__mp_main__"):
        return False  # the user's script, also under a profiler or in a notebook
    file = getattr(sys.modules.get(module) or sys.modules.get(root), "__file__", None)
    return is_installed(file) if file else root in sys.stdlib_module_names
