"""Which of the user's modules a worker is going to import, as far as the pipeline and the sources show.

A program may have a thousand modules and a pipeline that needs three of them. Guessing too many costs a little time,
so words decide: a module can be imported where an import statement has all the parts of its name.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Mapping

__all__ = ["ImportedModules"]

_WORD = re.compile(r"[^\W\d]\w*")
# wherever a line may begin one, over the lines that parentheses or a backslash join
_IMPORT = re.compile(r"(?:^|[;:])[ \t]*(?:from|import)\b(?:[^\n(\\]|\\\n)*(?:\([^)]*\))?", re.MULTILINE)


class ImportedModules:
    """Modules by name and file; asked which of them a pickle or another module names."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._parts = {name: tuple(name.split(".")) for name in files}

    def named_in(self, data: bytes) -> set[str]:
        """The modules that a pickle names: in full, or part by part in the code of a function that it holds."""
        words = {part for parts in self._parts.values() for part in parts}
        found = {word for word in words if word.encode() in data}
        return self._with_parents(name for name, parts in self._parts.items() if found.issuperset(parts))

    def named_by(self, module: str) -> set[str]:
        """The modules that the source of another imports; all of them where there is no source to read."""
        words = _words(self._files[module], _changed(self._files[module]))
        if words is None:
            return set(self._files)
        here, found = self._parts[module], []
        for name, parts in self._parts.items():
            # a relative import leaves out the packages that both lie in
            spared = 0
            while spared < min(len(here), len(parts) - 1) and here[spared] == parts[spared]:
                spared += 1
            if words.issuperset(parts[spared:]):
                found.append(name)
        return self._with_parents(found)

    def _with_parents(self, names: Iterable[str]) -> set[str]:
        found = set()
        for name in names:
            parts = self._parts[name]
            found |= {".".join(parts[: count + 1]) for count in range(len(parts))}
        return found & self._files.keys()


def _changed(file: str) -> int | None:
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return None


@functools.lru_cache(maxsize=4096)
def _words(file: str, changed: int | None) -> frozenset[str] | None:
    if changed is None or not file.endswith(".py"):
        return None
    try:
        with open(file, encoding="utf-8", errors="replace") as source:
            return frozenset(_WORD.findall("\n".join(_IMPORT.findall(source.read()))))
    except OSError:
        return None
