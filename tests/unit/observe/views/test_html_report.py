"""The report as a page: complete in itself, well formed, and safe with whatever names users give."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.observe.history import history_of
from millrace._src.observe.views.svg import Box, line_chart, strip, tree

VOID = {"meta", "br", "path", "rect"}
OUTSIDE = ("http:", "https:", "src=", "href=", "@import", "url(", "<script", "javascript:")


class Tags(HTMLParser):
    """Checks that every tag is closed in its turn, and collects the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None: ...

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def drain(data: ds.Dataset) -> ds.Dataset:
    for _ in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        pass
    return data


def numbers(rows: int = 100) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.arange(rows)}, shuffle=False)


def pipelines() -> dict[str, ds.Dataset]:
    def stream() -> Any:
        yield from ((np.float32(i),) for i in range(50))

    a, b = numbers(), numbers().rename("x", "y")
    return {
        "rows": numbers(),
        "fused": numbers().map(lambda x: x, ["x"]).batch(8),
        "stream": ds.GeneratorDataset(stream, ["x"]).shuffle(16).batch(4),
        "two sources": ds.zip((a, b)).batch(5) + ds.zip((a, b)).batch(5),
        "processes": numbers(20).map(np.negative, ["x"], python_multiprocessing=True, num_parallel_workers=1),
    }


@pytest.mark.parametrize("name", list(pipelines()))
@pytest.mark.parametrize("watched", [False, True])
def test_the_page_stands_alone(name: str, watched: bool, tmp_path: Path) -> None:
    data = pipelines()[name]
    if watched:
        with ds.monitor(html=tmp_path / "page.html", interval=0.05):
            drain(data)
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
    else:
        page = drain(data).report().to_html()
    assert page.startswith("<!doctype html>")
    assert [word for word in OUTSIDE if word in page] == []
    text = Tags(page).text
    for words in ("Where the time went", "As you wrote it", "As it ran"):
        assert words in text
    assert "Too short to judge" in text or "The bottleneck is" in text
    assert "nan" not in page


def test_names_of_users_are_escaped() -> None:
    def wicked(x: Any) -> Any:
        return x

    wicked.__qualname__ = wicked.__name__ = '<script>alert("&")</script>'
    data = drain(numbers().rename("x", "<b>").map(wicked, ["<b>"]).batch(10))
    page = data.report().to_html(title="<i>mine</i>")
    assert "<script" not in page
    assert "<i>" not in page
    assert '<script>alert("&")</script>' in Tags(page).text
    assert "<i>mine</i>" in Tags(page).text


def test_a_run_without_rows_has_a_page_too() -> None:
    data = numbers()
    iterator = data.create_dict_iterator(num_epochs=1)
    text = Tags(data.report().to_html()).text
    iterator.stop()
    assert "Nothing was delivered yet" in text


def test_history_is_drawn_where_there_is_one() -> None:
    with ds.monitor(interval=0.05) as watched:
        iterator = numbers(400).map(lambda x: x, ["x"]).batch(2).create_dict_iterator(num_epochs=1)
        run = iterator._run
        history = history_of(run)
        for _ in range(5):
            next(iterator)
            history.points.append(history.points[-1]._replace(at=run.stats.elapsed, rows=run.stats.rows))
        report = watched.reports()[0]
        iterator.stop()
    assert 'class="line"' in report.to_html()
    assert "No history was kept" not in report.to_html()
    assert json.loads(json.dumps(report.to_dict()))["history"]["rows"][-1] > 0


def test_drawings_of_nothing_are_drawings() -> None:
    for drawn in (
        line_chart([], str, label="x"),
        strip([], label="x"),
        line_chart([(0.0, 0.0)], str, label="x"),
    ):
        Tags(drawn)
    assert "limit" in line_chart([(0.0, 1.0), (1.0, 2.0)], str, label="x", limit=3.0, limit_name="limit")


def test_a_tree_has_its_leaves_on_top() -> None:
    inputs = {"batch": ["zip"], "zip": ["left", "right"], "left": [], "right": []}
    drawn = tree(
        "batch", lambda name: inputs[name], lambda name: Box(name, is_bottleneck=name == "zip"), label="plan"
    )
    Tags(drawn)
    heights = [drawn.index(f">{name}</text>") for name in ("left", "right", "zip", "batch")]
    assert heights == sorted(heights)
    assert drawn.count("box guilty") == 1
