"""Say in a line what differs between the outcomes of one pipeline, and whether that is known."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KNOWN = Path(__file__).with_name("known.json")


def difference(ours: dict[str, Any], theirs: dict[str, Any], ordered: bool) -> str | None:
    """Return the first difference, or None. What MindSpore does not survive is no measure."""
    if "hangs" in theirs or "crashes" in theirs:
        return None
    if "hangs" in ours or "crashes" in ours:
        return f"end: here {json.dumps(ours)}"
    mine, other = ours["ended"], theirs["ended"]
    if (mine is None) != (other is None):
        # how many rows came of it tells an empty pipeline from one in which something was lost
        rows = f", {len(ours['rows'])} rows" if mine is None else ""
        return f"end: here {_said(mine)}{rows}; MindSpore {_said(other)}"
    if mine is not None and other is not None:
        if other["error"][0] not in mine["error"]:
            return f"class: here {_said(mine)}; MindSpore {_said(other)}"
        return None  # what is asked of a pipeline that cannot run may be found out sooner or later
    return _rows(ours["rows"], theirs["rows"], ordered) or _asked(ours, theirs)


def _rows(ours: list[Any], theirs: list[Any], ordered: bool) -> str | None:
    mine, other = [json.dumps(row) for row in ours], [json.dumps(row) for row in theirs]
    if not ordered:
        mine, other = sorted(mine), sorted(other)
    if len(mine) != len(other):
        return f"rows: here {len(mine)}; MindSpore {len(other)}"
    for at, (left, right) in enumerate(zip(mine, other)):
        if left != right:
            kind = "values" if _kinds(left) == _kinds(right) else "kinds"
            return f"{kind}: row {at}: here {left[:300]}; MindSpore {right[:300]}"
    return None


def _kinds(row: str) -> list[str]:
    """Return names, dtypes and shapes of a row."""
    return re.sub(r'"values": .*?\}(?=\]|\})', "", row).split()


def _asked(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    for name, right in theirs["asked"].items():
        left = ours["asked"].get(name)
        failed = [isinstance(side, dict) and "error" in side for side in (left, right)]
        if failed == [True, True]:
            if right["error"][0] in left["error"]:
                continue
        elif json.dumps(left) == json.dumps(right):
            continue
        return f"{name}: here {_short(left)}; MindSpore {_short(right)}"
    return None


def _said(error: dict[str, Any] | None) -> str:
    if error is None:
        return "no error"
    return f"{error['error'][0]} {error['message'][:300]!r}"


def _short(value: Any) -> str:
    return _said(value) if isinstance(value, dict) and "error" in value else json.dumps(value)[:300]


@dataclass(frozen=True)
class Known:
    """A difference that stays: what it looks like, in which pipelines, and why."""

    what: str
    code: str
    reason: str

    def covers(self, what: str, code: str) -> bool:
        return bool(re.search(self.what, what, re.S)) and bool(re.search(self.code, code, re.S))


def known() -> list[Known]:
    return [Known(**entry) for entry in json.loads(KNOWN.read_text())]
