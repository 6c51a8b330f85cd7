"""Fakes from the folders of tests/parity/data/small_sources, with the rows that MindSpore read there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.data.small_sources.record import GOLDENS, all_cases, encode, filled

from . import Fake
from .damage import Damage

RECORDED = json.loads(GOLDENS.read_text())
CASES = all_cases()


class Wanted:
    """A recorded value: equal to one that encodes the same."""

    def __init__(self, encoded: dict[str, Any]) -> None:
        self.encoded = encoded

    def __call__(self, got: Any) -> bool:
        return (got.encoded if isinstance(got, Wanted) else encode(np.asarray(got))) == self.encoded

    def __repr__(self) -> str:
        return str(self.encoded)


def anything(got: Any) -> bool:
    return True


def fake(case: str, *damage: Damage, order: list[int] | None = None, differs: str = "") -> Fake:
    """The fake of a recorded case; ``order`` says where MindSpore's order is not ours, ``differs`` which column."""
    _, maker, arguments = CASES[case]
    golden = RECORDED[case]
    rows = [
        {name: anything if name == differs else Wanted(value) for name, value in row.items()}
        for row in golden["rows"]
    ]
    rows = rows if order is None else [rows[i] for i in order]
    classes = golden["get_class_indexing"]

    def write(folder: Path) -> dict[str, Any]:
        maker(folder)
        return filled(folder, arguments)

    return Fake(
        write=write,
        rows=rows,
        types={name: value["type"] for name, value in golden["rows"][0].items()},
        damage=list(damage),
        classes=classes if classes and "error" not in classes else None,
    )
