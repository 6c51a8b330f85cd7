"""Transfer of the globals of user modules to worker processes that import these modules afresh.

A script changes its config module (``config.size = 64``, an argparse namespace, a class attribute) and then iterates. A
forked process would see the change; a fresh interpreter sees the file on disk. Therefore the parent saves the data of
the user's modules, and a worker that imports one of them sets the values that differ. No module is imported for this: a
module that a worker never needs is not loaded.

Values that can be pickled are transferred. Functions and classes come with the import, unless a module holds those of
another module. A value above ``MAX_VALUE_BYTES`` is not transferred, with a warning. Modules that neither the pipeline
nor its imported sources name may still be imported by a name computed at run time: of these only values that plain
pickle supports are transferred, without warnings; lambdas and values from ``__main__`` are not, because cloudpickle
takes seconds in a large program.
"""

from __future__ import annotations

import dataclasses
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle

from millrace._src.core.log import get_logger, warn_once
from millrace._src.core.user_code import is_installed

from .imported_modules import ImportedModules

__all__ = ["collect_module_state", "apply_deferred_state", "install_module_state"]

log = get_logger(__name__)

# Limits in bytes of one value and of all values that are sent to every worker.
MAX_VALUE_BYTES, MAX_TOTAL_BYTES = 8 << 20, 64 << 20

_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


@dataclasses.dataclass
class _ModuleState:
    """The state of one module: plain values as they are, others by their index in the table of pickles."""

    file: str
    search: list[str] | None
    atoms: dict[str, Any]
    objects: dict[str, int]


@dataclasses.dataclass
class _Snapshot:
    modules: dict[str, _ModuleState]
    # pickles; True: it refers to user functions or classes, so that loading it imports their modules
    table: list[tuple[bytes, bool]]


# (value, limit in bytes) -> see `_dumps`
_Dumps = Callable[[Any, int], tuple[bytes, bool, set[str]]]


# --- in the parent ----------------------------------------------------------------------------------------


def collect_module_state(pipeline: bytes) -> bytes:
    """The pickled globals of every loaded user module, for a pickled pipeline; see :func:`install_module_state`."""
    loaded = dict(sys.modules)
    files = {name: file for name, module in loaded.items() if (file := _user_module_file(name, module))}
    imported = ImportedModules(files)
    collector = _StateCollector(_Snapshot({}, []))
    waiting = imported.named_in(pipeline)
    while waiting:
        name = waiting.pop()
        named = collector.take(name, loaded[name], files[name], _dumps, _warn_too_large)
        waiting |= (named & files.keys() | imported.named_by(name)) - collector.snapshot.modules.keys()
    for name in files.keys() - collector.snapshot.modules.keys():
        collector.take(name, loaded[name], files[name], _dumps_plain, lambda what, most: None)
    return pickle.dumps(collector.snapshot, protocol=5)


class _StateCollector:
    """The state collected so far. An object held by several modules is stored once; the total is at most
    ``MAX_TOTAL_BYTES``.
    """

    def __init__(self, snapshot: _Snapshot) -> None:
        self.snapshot = snapshot
        self._numbers: dict[int, int] = {}
        self._left = MAX_TOTAL_BYTES

    def take(
        self,
        name: str,
        module: types.ModuleType,
        file: str,
        dumps: _Dumps,
        too_large: Callable[[str, int], None],
    ) -> set[str]:
        """Add the state of a module. Returns the modules that its values name."""
        search = vars(module).get("__path__")  # not getattr: a module may define __getattr__
        state = _ModuleState(file, None if search is None else [str(entry) for entry in search], {}, {})
        named: set[str] = set()
        for key, value in _iter_data(module):
            if type(value).__module__ == "itertools":
                continue  # not picklable in Python 3.14, deprecated before
            if type(value) in _ATOMS and (not isinstance(value, (str, bytes)) or len(value) < 4096):
                state.atoms[key] = value
                continue
            number = self._numbers.get(id(value))
            if number is None:
                number = self._numbers[id(value)] = self._add(value, f"{name}.{key}", dumps, too_large, named)
            if number >= 0:
                state.objects[key] = number
        self.snapshot.modules[name] = state
        return named

    def _add(
        self, value: Any, what: str, dumps: _Dumps, too_large: Callable[[str, int], None], named: set[str]
    ) -> int:
        most = min(MAX_VALUE_BYTES, self._left)
        try:
            data, names_code, modules = dumps(value, most)
        except _TooLargeError:
            too_large(what, most)
            return -1
        except Exception as error:  # any error of a user object's pickling code
            log.debug("%s is not carried to worker processes: %s: %s", what, type(error).__name__, error)
            return -1
        named |= modules
        self._left -= len(data)
        self.snapshot.table.append((data, names_code))
        return len(self.snapshot.table) - 1


def _iter_data(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Dotted names and values: the module's globals, then the attributes of classes that it defines."""
    for key, value in list(vars(module).items()):
        if key.startswith("__") or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, _CODE):
            if getattr(value, "__module__", None) != module.__name__:
                yield key, value
            elif isinstance(value, type) and value.__qualname__ == key:
                yield from _attributes(value)
        else:
            yield key, value


def _attributes(cls: type) -> Iterator[tuple[str, Any]]:
    if hasattr(cls, "__members__"):
        return  # the members of an enumeration are fixed by its class
    for key, value in list(vars(cls).items()):
        if key.startswith(("__", "_abc_")):
            continue
        if isinstance(value, type):
            if value.__qualname__ == f"{cls.__qualname__}.{key}":
                yield from _attributes(value)
        elif not isinstance(value, _CODE) and not hasattr(type(value), "__get__"):
            yield f"{cls.__qualname__}.{key}", value


def _warn_too_large(what: str, most: int) -> None:
    warn_once(
        f"left-behind-{what}",
        f"{what} takes more than {most} bytes and is not carried to worker processes: they have it as importing "
        "the module makes it. Store it in your dataset object instead if it was changed since (reported once)",
    )


def _dumps(value: Any, most: int = MAX_VALUE_BYTES) -> tuple[bytes, bool, set[str]]:
    """The pickle, whether loading it imports user modules, and the modules that it names."""
    out = _BoundedBuffer(most)
    pickler = _CodeTrackingPickler(out, protocol=5)
    pickler.dump(value)
    return out.getvalue(), pickler.names_code, pickler.modules


def _dumps_plain(value: Any, most: int) -> tuple[bytes, bool, set[str]]:
    out = _BoundedBuffer(most)
    pickle.Pickler(out, protocol=5).dump(value)
    return out.getvalue(), True, set()


class _TooLargeError(Exception):
    pass


class _BoundedBuffer(io.BytesIO):
    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def write(self, data: Any, /) -> int:
        if self.tell() + memoryview(data).nbytes > self._most:
            raise _TooLargeError
        return super().write(data)


class _CodeTrackingPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Records whether user functions or classes occur as values, not only as the types of values."""

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self.names_code = False
        self.modules: set[str] = set()
        self._types: set[type] = set()

    def reducer_override(self, obj: Any) -> Any:
        code = isinstance(obj, _CODE)
        if not code:
            self._types.add(type(obj))
        name = getattr(obj if code else type(obj), "__module__", None)
        if isinstance(name, str):
            self.modules.add(name)
            if code and not self.names_code and not (isinstance(obj, type) and obj in self._types):
                self.names_code = _user_module_file(name, sys.modules.get(name)) is not None
        return super().reducer_override(obj)


def _user_module_file(name: str, module: Any) -> str | None:
    """The file of a user module; None for the standard library, installed packages, Millrace and ``__main__``."""
    # Ray imports the script under a second name
    if name in ("__main__", "__mp_main__") or not isinstance(module, types.ModuleType):
        return None
    file = vars(module).get("__file__")
    if not isinstance(file, str):
        return None
    return None if is_installed(file) else os.path.abspath(file)


# --- in a worker ------------------------------------------------------------------------------------------


def install_module_state(data: Any) -> None:
    """Install an import hook that sets the parent's values in user modules as they are imported here."""
    finder = _StateFinder(pickle.loads(data))
    sys.meta_path.insert(0, finder)
    for name in list(sys.modules):
        if name in finder.snapshot.modules:
            finder.fill(sys.modules[name])


def apply_deferred_state() -> None:
    """After the pipeline is loaded, set the values that could not be loaded while modules were being imported."""
    for finder in sys.meta_path:
        if isinstance(finder, _StateFinder):
            finder.fill_deferred()


class _StateFinder(importlib.abc.MetaPathFinder):
    """Import hook: delegates to the other finders, or uses the parent's file, and sets the module's state after it has
    run.
    """

    def __init__(self, snapshot: _Snapshot) -> None:
        self.snapshot = snapshot
        self._loaded: dict[int, Any] = {}
        self._deferred: list[tuple[types.ModuleType, str, int]] = []
        self._runner_loaded = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        state = self.snapshot.modules.get(fullname)
        if state is None:
            return None
        spec = None
        for finder in sys.meta_path:
            if finder is not self and spec is None and hasattr(finder, "find_spec"):
                spec = finder.find_spec(fullname, path, target)
        if spec is None:  # loaded by its path, or from a folder that is no longer on sys.path
            spec = importlib.util.spec_from_file_location(
                fullname, state.file, submodule_search_locations=state.search
            )
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _StateLoader(spec.loader, self)
        return spec

    def fill(self, module: types.ModuleType) -> None:
        state = self.snapshot.modules[module.__name__]
        for key, value in state.atoms.items():
            owner, name = _owner(module, key)
            if owner is not None and (name not in vars(owner) or not _same_atom(vars(owner)[name], value)):
                setattr(owner, name, value)
        for key, number in state.objects.items():
            if self.snapshot.table[number][1] and not self._runner_loaded:
                self._deferred.append((module, key, number))
            else:
                self._put(module, key, number)

    def fill_deferred(self) -> None:
        later, self._deferred, self._runner_loaded = self._deferred, [], True
        for module, key, number in later:
            self._put(module, key, number)

    def _put(self, module: types.ModuleType, key: str, number: int) -> None:
        owner, name = _owner(module, key)
        if owner is None:
            return
        try:
            if number not in self._loaded:
                pickled = self.snapshot.table[number][0]
                if name in vars(owner) and _dumps(vars(owner)[name])[0] == pickled:
                    return  # unchanged by the import
                self._loaded[number] = pickle.loads(pickled)
            setattr(owner, name, self._loaded[number])
        except Exception as error:
            log.debug("%s.%s stays as imported: %s: %s", module.__name__, key, type(error).__name__, error)


def _same_atom(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)


def _owner(module: types.ModuleType, key: str) -> tuple[Any, str]:
    """The module, or the class in it, that owns a dotted name; None if there is none here."""
    *path, name = key.split(".")
    owner: Any = module
    for part in path:
        owner = vars(owner).get(part)
        if not isinstance(owner, type):
            return None, name
    return owner, name


class _StateLoader(importlib.abc.Loader):
    """A loader that sets the module's state after it has run; otherwise delegates to the original loader."""

    def __init__(self, loader: Any, finder: _StateFinder) -> None:
        self._loader, self._finder = loader, finder

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        module: types.ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        # the module keeps its original loader: code that reads its source or data files needs it
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._finder.fill(module)
