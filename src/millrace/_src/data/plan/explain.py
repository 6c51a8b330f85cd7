"""Explain a plan as a text tree: ops, executors, columns, number of rows, and lines of the user's code."""

from __future__ import annotations

import os
import re
from typing import Any

from millrace._src.core.errors import PlanError
from millrace._src.core.values.schema import Schema
from millrace._src.data.transforms.base import display_name

from .bind import Plan, tree_after_pass
from .node import INFINITE, UNKNOWN, Node, Size, schema_of, size_of
from .nodes.order_ops import Filter, FlatMap, Map, Read
from .nodes.physical import Segment

__all__ = ["Explanation", "describe", "explain"]


class Explanation(str):
    """The tree as text; a notebook shows the ops in bold and the call sites in grey."""

    def _repr_html_(self) -> str:
        from html import escape

        lines = []
        for line in self.splitlines():
            match = _LINE.fullmatch(line)
            assert match is not None  # every part may be empty
            lead, name, rest, where = (escape(part or "") for part in match.groups())
            shown = f"<b>{name}</b>" if name and " · " not in line else name
            lines.append(f'{lead}{shown}{rest}<span style="opacity:.6">{where}</span>')
        return '<pre style="line-height:1.35">' + "\n".join(lines) + "</pre>"


# branches, the name of an op, its details, and its call site
_LINE = re.compile(r"([│├└─ -]*)([\w +]*)(.*?)(  \[[^\]]*\])?")


def explain(plan: Plan, after_pass: str | None = None) -> Explanation:
    """Explain the tree after a pass (the last by default); sources are at the bottom."""
    lines: list[str] = []
    if plan.device_work is not None and after_pass != "as written":
        lines.append(f"GPU({plan.device_work})")
        lines += [
            f"    {column.name}: {step.op} is not the host's bit for bit: {step.tolerance_text}"
            for column in plan.device_work.work
            for step in column.steps
            if step.tolerance_text
        ]
    _append_tree(tree_after_pass(plan, after_pass), "", "", lines)
    return Explanation("\n".join(lines))


def describe(op: Node) -> str:
    """Describe an op in one line: its name, its functions, and its call site."""
    name = op.label if isinstance(op, Read) else op.label.lower()
    if isinstance(op, Map):
        name += "(" + ", ".join(display_name(t) for t in op.operations) + ")"
    elif isinstance(op, Filter):
        name += f"({op.details()['predicate']})"
    elif isinstance(op, Segment):
        name = " + ".join(describe(inner).partition(" at ")[0] for inner in op.ops)
    return f"{name} at {op.call_site}" if op.call_site else name


def _append_tree(node: Node, lead: str, below: str, lines: list[str]) -> None:
    columns = _columns(node)
    lines.append(f"{lead}{node.label}{_details(node)}")
    size, bar = _size(size_of(node), _gives_batches(node)), "│ " if node.inputs else "  "
    lines.append(f"{below}{bar}  {size} · {columns}{_where(node)}")
    if isinstance(node, Segment):
        for op in reversed(node.ops):
            lines.append(f"{below}{bar}  - {op.label}{_details(op)}{_where(op)}")
    last = len(node.inputs) - 1
    for i, child in enumerate(node.inputs):
        branch, rest = ("└─ ", "   ") if i == last else ("├─ ", "│  ")
        _append_tree(child, below + branch, below + rest, lines)


def _columns(node: Node) -> str:
    try:
        schema: Schema | None = schema_of(node)
    except PlanError as error:
        return f"! {error}"
    return "columns not known yet" if schema is None else ", ".join(f"{k}: {v}" for k, v in schema.items())


def _gives_batches(node: Node) -> bool:
    """Whether the output of a node is batches: it makes them, or its input is batches and it does not unbatch."""
    if any(op.makes_batches for op in (node, *node.fused_nodes)):
        return True
    return not isinstance(node, FlatMap) and any(map(_gives_batches, node.inputs))


def _size(size: Size, batches: bool) -> str:
    one, several = ("batch", "batches") if batches else ("row", "rows")
    if size is UNKNOWN:
        return f"? {several}"
    return f"endless {several}" if size == INFINITE else f"{size} {one if size == 1 else several}"


def _where(node: Node) -> str:
    if not node.call_site:
        return ""
    path, _, line = node.call_site.rpartition(":")
    return f"  [{os.path.basename(path)}:{line}]"


def _details(node: Node) -> str:
    shown = {k: v for k, v in node.details().items() if v not in (None, [], {}, "", False)}
    return "(" + ", ".join(f"{k}={_short(v)}" for k, v in shown.items()) + ")" if shown else ""


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
