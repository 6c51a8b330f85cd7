"""Error attribution for pickling: finds the attribute of an object that cannot be pickled."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import cloudpickle

from millrace._src.core.errors import PlanError

__all__ = ["pickling_error"]

# Each step pickles parts of a failing object again; a few hundred small attempts suffice in practice.
_TRIES = 400


def pickling_error(thing: Any, error: BaseException, what: str) -> PlanError:
    """The error for a runner that cloudpickle cannot pickle, naming attribute and type if they can be determined."""
    path, culprit = _find_unpicklable(thing)
    where = ""
    if culprit is not thing:
        where = f" The part that cannot be sent is {path}, of type {_type_name(culprit)}."
    return PlanError(
        f"{what} cannot be sent to worker processes: {type(error).__name__}: {error}.{where} Open files, "
        "locks, connections and the like inside each worker (lazily, at first use), define functions and "
        "classes at module level, or run in threads with python_multiprocessing=False."
    )


def _type_name(value: Any) -> str:
    cls = type(value)
    return f"{cls.__module__}.{cls.__qualname__}"


def _find_unpicklable(thing: Any) -> tuple[str, Any]:
    """Descend into parts that fail to pickle by themselves; return the path and the innermost one."""
    path, culprit = "", thing
    tries, seen = _TRIES, {id(thing)}
    while True:
        for step, part in _iter_parts(culprit):
            if id(part) in seen or not _is_candidate(part):
                continue
            tries -= 1
            if tries < 0:
                return path.lstrip("."), culprit
            if not _can_pickle(part):
                seen.add(id(part))
                path, culprit = path + step, part
                break
        else:
            return path.lstrip("."), culprit


def _is_candidate(part: Any) -> bool:
    return not isinstance(part, (int, float, str, bytes, bool, type(None), types.ModuleType))


def _can_pickle(part: Any) -> bool:
    try:
        cloudpickle.dumps(part, protocol=5, buffer_callback=lambda buffer: None)  # big arrays are not copied
    except Exception:
        return False
    return True


def _iter_parts(thing: Any) -> Iterator[tuple[str, Any]]:
    """The parts of an object, each with its path step."""
    if isinstance(thing, dict):
        for key, value in thing.items():
            yield f"[{key!r}]", value
        return
    if isinstance(thing, (list, tuple, set, frozenset)):
        for i, value in enumerate(thing):
            yield f"[{i}]", value
        return
    if isinstance(thing, types.MethodType):
        yield ".__self__", thing.__self__
        yield "", thing.__func__
        return
    if isinstance(thing, types.FunctionType):
        code = thing.__code__
        for name, cell in zip(code.co_freevars, thing.__closure__ or ()):
            try:
                yield f" -> variable {name!r} of {thing.__qualname__}", cell.cell_contents
            except ValueError:
                continue  # not assigned yet
        for name in code.co_names:
            if name in thing.__globals__:
                yield f" -> global {name!r} used by {thing.__qualname__}", thing.__globals__[name]
        for value in thing.__defaults__ or ():
            yield f" -> default of {thing.__qualname__}", value
        return
    if isinstance(thing, type):
        for name, value in vars(thing).items():
            yield f".{name}", value
        return
    yield from ((f".{name}", value) for name, value in getattr(thing, "__dict__", {}).items())
    for cls in type(thing).__mro__:
        for name in getattr(cls, "__slots__", ()):
            if hasattr(thing, name):
                yield f".{name}", getattr(thing, name)
    if "<locals>" in type(thing).__qualname__ or type(thing).__module__ == "__main__":
        yield f" -> class {type(thing).__qualname__}", type(thing)
