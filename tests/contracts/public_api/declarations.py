"""Reads the declarations of public names from the syntax tree of ``millrace._src``; imports nothing of it.

Four forms declare a name: the decorators ``@public(...)`` and ``@op(...)``, the statement ``export_names(...)``, and an
assignment ``Name = primitive(...)`` or ``Name = define_update_primitive(...)``, which is public in ``millrace.ops``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = ["METHODS", "ROOT", "DuplicateName", "Name", "Source", "all_names", "full_path", "read_sources"]

ROOT = Path(__file__).resolve().parents[3] / "src" / "millrace"
METHODS = "Tensor"
# Functions whose result is a class of `millrace.ops` when it is assigned to a name.
CLASS_FACTORIES = ("primitive", "define_update_primitive")
_FORMS = ("@op(", "@public(", "export_names(", "primitive(", "define_update_primitive(")


class DuplicateName(ValueError):
    """Two definitions are declared public under one name."""


@dataclass(frozen=True)
class Name:
    """One public name: ``path`` is the public module, ``canonical`` whether it is the first path of the definition."""

    path: str
    name: str
    module: str
    attribute: str
    listed: bool = True
    canonical: bool = False


@dataclass(frozen=True)
class Source:
    """A module below ``_src`` with its syntax tree."""

    module: str
    file: Path
    tree: ast.Module


def read_sources(root: Path = ROOT) -> dict[str, Source]:
    """Every module below ``_src`` that may declare a public name."""
    sources = {}
    for file in sorted((root / "_src").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if any(form in text for form in _FORMS):
            parts = file.relative_to(root.parent).with_suffix("").parts
            module = ".".join(part for part in parts if part != "__init__")
            sources[module] = Source(module, file, ast.parse(text))
    return sources


def full_path(path: str) -> str:
    """The full name of a public module."""
    return "millrace" if path == "millrace" else f"millrace.{path}"


def all_names(sources: dict[str, Source]) -> list[Name]:
    """Every declared name.

    Raises:
        DuplicateName: if two definitions have one public name.
    """
    names = [name for source in sources.values() for name in _with_one_canonical(_names_of(source))]
    known: dict[tuple[str, str], Name] = {}
    for name in names:
        other = known.setdefault((name.path, name.name), name)
        if (other.module, other.attribute) != (name.module, name.attribute):
            raise DuplicateName(
                f"{name.path}.{name.name}: expected one definition, got {other.module}.{other.attribute} and "
                f"{name.module}.{name.attribute}. Give one of them another name."
            )
    return list(known.values())


def _with_one_canonical(names: Iterator[Name]) -> Iterator[Name]:
    """The same names; of each definition, the first canonical path counts."""
    seen: set[str] = set()
    for name in names:
        yield replace(name, canonical=name.canonical and name.attribute not in seen)
        if name.canonical:
            seen.add(name.attribute)


def _names_of(source: Source) -> Iterator[Name]:
    for node in source.tree.body:
        match node:
            case ast.ClassDef() | ast.FunctionDef():
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name):
                        yield from _decorated(source.module, node.name, decorator)
            case ast.Expr(value=ast.Call(func=ast.Name(id="export_names")) as call):
                yield from _exposed(source, call)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=function))):
                if function in CLASS_FACTORIES:
                    yield Name("ops", name, source.module, name, canonical=True)


def _decorated(module: str, attribute: str, decorator: ast.Call) -> Iterator[Name]:
    assert isinstance(decorator.func, ast.Name)
    if decorator.func.id not in ("public", "op"):
        return
    paths = [(_text(argument), True) for argument in decorator.args]
    for keyword in decorator.keywords:
        if keyword.arg == "unlisted" and isinstance(keyword.value, ast.Tuple):
            paths += [(_text(element), False) for element in keyword.value.elts]
    canonical = True
    for text, listed in paths:
        path, _, name = text.partition(":")
        first = canonical and path != METHODS and name in ("", attribute)
        yield Name(path, name or attribute, module, attribute, listed, first)
        canonical = canonical and not first


def _exposed(source: Source, call: ast.Call) -> Iterator[Name]:
    module = source.module
    first, path, *names = call.args
    target = module if isinstance(first, ast.Name) else _text(first)
    defined = {
        node.name
        for node in source.tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and target == module
    }
    listed = not any(keyword.arg == "unlisted" and _is_true(keyword.value) for keyword in call.keywords)
    for argument in names:
        name = _text(argument)
        yield Name(_text(path), name, target, name, listed, name in defined)
    for keyword in call.keywords:
        if keyword.arg is not None and keyword.arg != "unlisted":
            yield Name(_text(path), keyword.arg, target, _text(keyword.value), listed)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _text(node: ast.expr) -> str:
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        raise TypeError(
            f"public name, line {node.lineno}: expected a string, got {ast.unparse(node)!r}. Write it out."
        )
    return node.value
