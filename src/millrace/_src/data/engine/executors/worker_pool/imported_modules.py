"""Imported modules: which user modules a pickled pipeline can import, found by scanning names and import statements.

A program may have a thousand modules and a pipeline that needs three of them. A false positive costs only a little
time, so names decide: a module counts as imported where an import statement contains all components of its name.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping

__all__ = ["ImportedModules"]

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
# import statements, including lines continued by parentheses or a backslash
_IMPORT = re.compile(r"(?:^|[;:])[ \t]*(?:from|import)\b(?:[^\n(\\]|\\\n)*(?:\([^)]*\))?", re.MULTILINE)


class ImportedModules:
    """Modules by name and file, and which of them a pickle or another module names."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._parts = {name: tuple(name.split(".")) for name in files}

    def named_in(self, data: bytes) -> set[str]:
        """The modules that a pickle names: in full, or component by component in the code of a pickled function."""
        components = {part for parts in self._parts.values() for part in parts}
        present = {component for component in components if component.encode() in data}
        return self._with_parents(name for name, parts in self._parts.items() if present.issuperset(parts))

    def named_by(self, module: str) -> set[str]:
        """The modules that the source of a module imports; all modules if the source cannot be read."""
        identifiers = _imported_identifiers(self._files[module], _modification_time(self._files[module]))
        if identifiers is None:
            return set(self._files)
        here, modules = self._parts[module], []
        for name, parts in self._parts.items():
            # a relative import omits the packages that both modules are in
            shared = 0
            while shared < min(len(here), len(parts) - 1) and here[shared] == parts[shared]:
                shared += 1
            if identifiers.issuperset(parts[shared:]):
                modules.append(name)
        return self._with_parents(modules)

    def _with_parents(self, names: Iterable[str]) -> set[str]:
        expanded = set()
        for name in names:
            parts = self._parts[name]
            expanded |= {".".join(parts[: count + 1]) for count in range(len(parts))}
        return expanded & self._files.keys()


def _modification_time(file: str) -> int | None:
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return None


@functools.lru_cache(maxsize=4096)
def _imported_identifiers(file: str, changed: int | None) -> frozenset[str] | None:
    if changed is None or not file.endswith(".py"):
        return None
    try:
        with open(file, encoding="utf-8", errors="replace") as source:
            return frozenset(_IDENTIFIER.findall("\n".join(_IMPORT.findall(source.read()))))
    except OSError:
        return None
