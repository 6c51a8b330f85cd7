"""What a cache must not cost: rows that are cheaper to make than to fetch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.caches import FIRST, LATER, METRICS, beside
from benchmarks.data import prose, seconds
from benchmarks.measure import Column

from . import Bar

TITLE = "Cache: small rows"
QUESTION = "rows of eight numbers with a cheap function, lines of text with one operation; kept in a cache, batch 256"
NOTE = (
    "NumpySlicesDataset with `x * 2`, and TextFileDataset with CaseFold, with the cache of the process and without "
    "any, in turns in one process; the best of each counts. A cache that finds rows cheaper to make than to fetch "
    "does not keep them. Level means within 3 %, which is what two runs of the same lines differ by."
)
FILES = ("millrace",)
PAIRED = True
BARS = (
    Bar("first epoch level with none, or faster", FIRST, below=3.0),
    Bar("later epochs level with none, or faster", LATER, below=103.0),
)
TURNS, BATCH = 5, 256

__all__ = ["BARS", "METRICS", "VARIANTS"]


def count(quick: bool) -> int:
    return 600 if quick else 20_000


def twice(x: Any) -> Any:
    return x * 2


def _run(quick: bool, source: Callable[[Any, int], Any], like: Column) -> dict[str, Any]:
    import millrace.dataset as ds

    def build(cached: bool, turn: int, number: int) -> Any:
        rows = source(ds, turn)
        rows = rows.cache() if cached else rows
        return rows.batch(BATCH).create_tuple_iterator(num_epochs=number, output_numpy=True)

    return beside(build, 1 if quick else TURNS, 2 * seconds(quick), count(quick), (like,))


def arrays(quick: bool) -> dict[str, Any]:
    values = np.random.default_rng(7).standard_normal((count(quick), 8)).astype(np.float32)

    def source(ds: Any, turn: int) -> Any:
        return ds.NumpySlicesDataset({"x": values + np.float32(turn)}, shuffle=False).map(twice, "x")

    return _run(quick, source, ((8,), "float32"))


def lines(quick: bool) -> dict[str, Any]:
    # one line more for each turn: the same cost, and rows of its own
    files = [str(prose.lines(count(quick) + turn)) for turn in range(1 if quick else TURNS)]

    def source(ds: Any, turn: int) -> Any:
        from millrace.dataset import text

        rows = ds.TextFileDataset(files[turn], shuffle=False, num_samples=count(quick))
        return rows.map(text.CaseFold(), "text")

    return _run(quick, source, ((), None))


VARIANTS = {"millrace": {"numbers": arrays, "lines": lines}}
