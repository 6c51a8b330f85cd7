"""For the reference pages: tables of operations and layers, made from what a module lists.

A page says ``<!-- names of millrace.ops -->``. Names are grouped by the file that holds them, whose first line is the
heading. docs/hooks.py puts the tables in; tests/e2e/docs/test_reference.py checks that nothing is left out.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

from millrace._src.core.public import definition_module

MARK = re.compile(r"<!-- names of (?P<module>[\w.]+)(?P<whole> with examples)? -->")


def filled(markdown: str, fenced: Callable[[str], str]) -> str:
    """A page with its marks replaced; `fenced` puts examples of docstrings between code fences."""
    return MARK.sub(
        lambda mark: whole(mark["module"], fenced) if mark["whole"] else tables(mark["module"]), markdown
    )


def tables(module: str) -> str:
    """A table for each family: the call, and what it does in a sentence."""
    parts = []
    for heading, names in families(module):
        rows = [f"| `{name}{signature(thing)}` | {sentence(thing)} |" for name, thing in names]
        parts.append("\n".join([f"## {heading}", "", "| Name | What it does |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def whole(module: str, fenced: Callable[[str], str]) -> str:
    """A section for each name, with its docstring."""
    parts = []
    for heading, names in families(module):
        parts.append(f"## {heading}")
        for name, thing in names:
            text = fenced(inspect.getdoc(thing) or "")
            parts.append(f"### {name}\n\n```python\n{name}{signature(thing)}\n```\n\n{text}")
    return "\n\n".join(parts)


def families(module: str) -> list[tuple[str, list[tuple[str, Any]]]]:
    """What a module lists, by the file it is written in."""
    face = importlib.import_module(module)
    found: dict[str, list[tuple[str, Any]]] = {}
    for name in sorted(face.__all__, key=str.lower):
        thing = getattr(face, name)
        if not inspect.ismodule(thing):
            home = definition_module(thing if hasattr(thing, "__module__") else type(thing))
            found.setdefault(home, []).append((name, thing))
    titled = [(title(home), names) for home, names in found.items()]
    return sorted(titled)


def title(home: str) -> str:
    """The first sentence of a file, without its full stop; a colon ends it too."""
    first = (inspect.getdoc(importlib.import_module(home)) or home).split("\n\n")[0].replace("\n", " ")
    return re.split(r"[.:](?:\s|$)", first)[0].replace("``", "`")


def signature(thing: Any) -> str:
    """The parameters of a call, without their types."""
    if not callable(thing):
        return ""
    try:
        known = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    plain = [each.replace(annotation=each.empty) for each in known.parameters.values()]
    text = str(known.replace(parameters=plain, return_annotation=known.empty))
    return re.sub(r"<[^<>]*>", "...", text).replace("|", "\\|")


def sentence(thing: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    if not callable(thing):
        return f"`{thing!r}`".replace("|", "\\|")
    text = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
    return text.replace("|", "\\|").replace("``", "`")
