"""Q18: introduce the data framework.

README and tutorial do (tests/e2e/docs runs them), and explain() shows a pipeline.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import millrace.dataset as ds

ROOT = Path(__file__).parents[3]


def pipeline() -> ds.Dataset:
    data = ds.NumpySlicesDataset({"x": np.arange(10), "y": np.arange(10)}, shuffle=False)
    data = data.map(lambda x: x + 1, "x").filter(lambda x: x > 2, "x")
    return data.shuffle(4).batch(2).repeat(2)


def test_the_readme_leads_to_the_tutorial_and_the_tutorial_to_every_page() -> None:
    assert "docs/tutorial/index.md" in (ROOT / "README.md").read_text()
    listed = (ROOT / "docs/tutorial/index.md").read_text()
    pages = [page.name for page in (ROOT / "docs/tutorial").glob("*.md") if page.name != "index.md"]
    assert pages
    assert [name for name in pages if name not in listed] == []


def test_explain_names_every_operation_its_arguments_and_its_line(no_leaks: None) -> None:
    text = pipeline().explain(after="as written")
    for operation in ("NumpySlicesDataset", "Map", "Filter", "Shuffle", "Batch", "Repeat"):
        assert operation in text
    assert "batch_size=2" in text
    assert Path(__file__).name in text


def test_explain_runs_nothing() -> None:
    called = []
    ds.NumpySlicesDataset([1, 2]).map(lambda x: called.append(1) or x).batch(2).explain()
    assert called == []
