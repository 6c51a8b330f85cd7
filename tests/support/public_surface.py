"""The public surface of Millrace, as data, and how it compares with MindSpore 2.7.0's.

`tests/contracts/public_api/test_public_names.py` checks what is computed here against the files in tests/unit/data;
`python -m tests.contracts.public_api.update_names` writes them.
"""

from __future__ import annotations

import enum
import fnmatch
import importlib
import inspect
import json
import pkgutil
import types
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "contracts" / "public_api"
FACES = ("millrace.common", "millrace.dataset", "millrace.mindrecord")

# In MindSpore's list, and not ours to have. Patterns over "module.Name" and "module.Class.method".
NOT_PUBLIC = {
    # Leaked by modules without __all__: argument checkers, decorators, tables, helpers.
    "*_transforms.check_*": "an argument checker",
    "*.deprecated_*": "a decorator",
    "*.DE_*": "a table of C++ enumerators",
    "*.absolute_import": "a __future__ import",
    "*.FLOAT_MAX_INTEGER": "a constant of the argument checkers",
    "*.mstype_to_detype": "a conversion to a C++ type",
    "*.is_pil": "a helper",
    "*.parse_padding": "a helper",
    "*.py_transforms.ANTIALIAS": "Pillow's own constant",
    "*.py_transforms.CUBIC": "Pillow's own constant",
    "*.py_transforms.LINEAR": "Pillow's own constant",
    "*.py_transforms.NEAREST": "Pillow's own constant",
    "*._*": "private",
    # Methods that build or feed C++ objects: there are none here.
    "*.create_ir_tree": "builds the C++ tree",
    "*.create_runtime_obj": "builds a C++ object",
    "*.iterator_bootstrap": "starts the C++ runtime",
    "*.parse": "builds a C++ node",
    "*.parse_*": "builds a C++ node",
    "*.pre_parse": "builds a C++ node",
    "*.post_parse": "builds a C++ node",
    "*.pre_process": "prepares the C++ tree",
    "*.prepare_multiprocessing": "starts workers; the engine does",
    "*.copy_batch_size": "copies a number between mutable nodes; ours are frozen",
}
# ... except these, which the patterns above would catch.
PUBLIC_AFTER_ALL = ("dataset.Schema.parse_columns",)


def load(name: str) -> Any:
    return json.loads((DATA / name).read_text())


def mindspore() -> dict[str, dict[str, Any]]:
    """Return MindSpore's list, less what is not public: module -> name -> entry."""
    found = {}
    for module, names in load("api_mindspore_2.7.0.json").items():
        found[module] = {name: entry for name, entry in names.items() if is_public(f"{module}.{name}")}
    return found


def is_public(path: str) -> bool:
    return path in PUBLIC_AFTER_ALL or not any(fnmatch.fnmatchcase(path, pattern) for pattern in NOT_PUBLIC)


def is_enum(entry: Any) -> bool:
    """Say whether an entry is an Enum: its recorded parameters and methods are Enum's, int's or str's own."""
    return isinstance(entry, dict) and (entry["init"] or [])[:2] == ["value", "names"]


def face(module: str) -> types.ModuleType | None:
    """Import a module of ours; None where it does not exist (yet), an error where it is broken."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            return None
        raise


def names_of(module: types.ModuleType) -> list[str]:
    """Return a module's public names: `__all__`, or what has no underscore and is not a module."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(
        name
        for name, value in vars(module).items()
        if name[0] != "_" and not isinstance(value, types.ModuleType)
    )


def public_names() -> dict[str, list[str]]:
    """Return every public module of ours with its public names."""
    found = {}
    for root in ("millrace", *FACES):
        package = face(root)
        if package is None:
            continue
        found[root] = names_of(package)
        if root == "millrace":
            continue
        for info in pkgutil.walk_packages(package.__path__, root + "."):
            if not any(part.startswith("_") for part in info.name.split(".")):
                found[info.name] = names_of(importlib.import_module(info.name))
    return dict(sorted(found.items()))


def missing_names() -> dict[str, list[str]]:
    """Return what MindSpore's list has and we do not: names, and methods as Class.method."""
    found = {}
    for module, names in mindspore().items():
        ours = face(f"millrace.{module}")
        missing = []
        for name, entry in names.items():
            if not hasattr(ours, name):
                missing.append(name)
            elif isinstance(entry, dict) and not is_enum(entry):
                methods = [m for m in entry.get("methods", ()) if is_public(f"{module}.{name}.{m}")]
                missing += [f"{name}.{m}" for m in methods if not hasattr(getattr(ours, name), m)]
        if missing:
            found[module] = sorted(missing)
    return found


def parameters() -> list[tuple[str, list[str] | None, Any]]:
    """Return (path, MindSpore's parameters, our object) for each function and class that both have."""
    found = []
    for module, names in mindspore().items():
        ours = face(f"millrace.{module}")
        for name, entry in names.items():
            if isinstance(entry, str) or is_enum(entry) or not hasattr(ours, name):
                continue  # a constant, an Enum, or a name that is not there yet
            theirs = entry["init"] if isinstance(entry, dict) else entry
            if theirs == ["args", "kwargs"]:
                theirs = None  # a wrapper of MindSpore's old modules hides what it takes
            found.append((f"{module}.{name}", theirs, getattr(ours, name)))
    return found


def enums() -> list[tuple[str, Any]]:
    return [
        (f"{module}.{name}", getattr(face(f"millrace.{module}"), name))
        for module, names in mindspore().items()
        for name, entry in names.items()
        if is_enum(entry) and hasattr(face(f"millrace.{module}"), name)
    ]


def is_our_enum(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, enum.Enum)


def split_parameters(thing: Any) -> tuple[list[str], list[str]]:
    """Return a callable's own parameters: those that may be given by position, and the keyword-only ones."""
    own = inspect.signature(thing).parameters.values()
    return (
        [p.name for p in own if p.kind is not p.KEYWORD_ONLY],
        [p.name for p in own if p.kind is p.KEYWORD_ONLY],
    )


def extra_parameters() -> dict[str, list[str]]:
    """Return our keyword-only additions to MindSpore's signatures."""
    found = {}
    for path, theirs, thing in parameters():
        extra = [name for name in split_parameters(thing)[1] if name not in (theirs or ())]
        if extra:
            found[path] = extra
    return found
