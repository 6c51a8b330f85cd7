"""The report in words: it fits a terminal, calls things by their names, and no two of its numbers contradict."""

from __future__ import annotations

import io
import re
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import millrace.dataset as ds
from millrace._src.observe.report import Report
from millrace._src.observe.views.formatting import count, format_count, per_second
from millrace._src.observe.views.plain_text import line_of
from millrace._src.observe.views.terminal import render_run
from tests.unit.observe.counter_snapshots import op, run_of, segment


def a_function_with_a_name_that_is_much_too_long_for_any_table_that_people_read(x: Any) -> Any:
    return x


def drain(data: ds.Dataset) -> Any:
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    for _ in iterator:
        pass
    return iterator


def numbers(rows: int = 200) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.arange(rows)}, shuffle=False)


def pipelines() -> dict[str, ds.Dataset]:
    def stream() -> Any:
        yield from ((np.float32(i),) for i in range(100))

    long = a_function_with_a_name_that_is_much_too_long_for_any_table_that_people_read
    two = ds.zip((numbers(), numbers().rename("x", "y")))
    return {
        "rows": numbers(),
        "fused": numbers().map([long, long], ["x"]).batch(8),
        "after the batch": numbers().batch(8).map(long, ["x"]),
        "stream": ds.GeneratorDataset(stream, ["x"]).shuffle(16).map(long, ["x"]).batch(4),
        "two branches": (two.batch(5) + two.batch(5)).map(long, ["x"]),
        "buckets": numbers().bucket_batch_by_length(["x"], [50], [4, 5], lambda x: x),
    }


@pytest.mark.parametrize("name", list(pipelines()))
def test_it_fits_80_columns_and_names_no_folder(name: str) -> None:
    data = pipelines()[name]
    drain(data)
    lines = str(data.report()).splitlines()
    assert max(map(len, lines)) <= 80, "\n".join(lines)
    assert str(Path(__file__).parent) not in str(data.report())
    assert "stage" in lines[2]


def test_a_long_run_of_many_workers_fits_too() -> None:
    """Minutes and three-figure crews take more room than most: the name gives way, and the columns stay in line."""
    slow = op("map(decode)", busy=7000.0, cpu=6500.0)
    stages = [
        segment(slow, op("batch"), kind="processes", workers=128, rows=12_345_678, wait_in=4321.0),
        segment(op("map(normalize)", busy=3.0), kind="ray", workers=16, rows=12_345_678, wait_in=0.1),
    ]
    stats = run_of(*stages, rows=12_345_678, wait=900.0, consumer=300.0)
    plan = types.SimpleNamespace(root=types.SimpleNamespace(inputs=()))

    class Past:
        budget = types.SimpleNamespace(used=0, peak=1 << 30, limit=1 << 34)
        failed_rows, padded_rows, closed = [0] * 1234, 7, True

    run: Any = Past()
    run.stats, run.plan = stats, plan
    lines = str(Report(run)).splitlines()
    assert max(map(len, lines)) <= 80, "\n".join(lines)
    head = next(line for line in lines if line.startswith("stage"))
    for words in ("128 processes", "16 Ray workers"):
        [line] = [line for line in lines if words in line]
        assert line.index(words) == head.index("on")
        assert line.endswith("%")
        assert len(line) == len(head)


@pytest.mark.parametrize("name", list(pipelines()))
def test_every_stage_has_one_rate_with_its_unit(name: str) -> None:
    data = pipelines()[name]
    drain(data)
    report = data.report()
    for stage in report.stages:
        shown = per_second(stage["rate"], stage["unit"])
        assert any(shown in line for line in str(report).splitlines())
    for line in str(report).splitlines()[3:]:
        assert len(re.findall(r"/s\b", line)) <= 1 or line.startswith(("The bottleneck", "From")), line


@pytest.mark.parametrize("name", list(pipelines()))
def test_batches_are_called_batches_and_add_up(name: str) -> None:
    data = pipelines()[name]
    drain(data)
    report = data.report()
    last = report.stages[-1]
    assert (last["unit"], last["given"]) == (report.unit, report.delivered)
    assert report.unit == ("row" if name == "rows" else "batch")
    sources = [stage for stage in report.stages if stage["unit"] == "row"]
    assert all(stage["given"] <= report.rows for stage in sources)
    assert report.rows == {"stream": 100, "two branches": 400}.get(name, 200)
    assert report.headline().startswith(format_count(report.rows, "row"))
    if report.unit == "batch":
        assert format_count(report.delivered, "batch") in report.headline()


def test_one_rate_in_the_text_the_page_the_screen_and_the_lines() -> None:
    data = numbers(2000).map(lambda x: x, ["x"]).batch(2)
    run = drain(data)._run
    report = data.report()
    rate = per_second(report.rate, "row")
    assert rate in report.headline()
    assert rate in line_of(run)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render_run(run))
    assert rate in console.export_text()
    page = report.to_html()
    assert f"<b>{count(report.rate)}</b>" in page
    for stage in report.stages:
        assert per_second(stage["rate"], stage["unit"]) in page
    assert report.verdict.rate == report.rate
    # rows of a stage that makes batches: the rates agree as the counts do
    assert report.stages[-1]["rate"] * report.rows / report.delivered == pytest.approx(report.rate, rel=0.05)


def test_without_a_start_up_to_leave_out_the_rate_is_rows_over_seconds() -> None:
    data = numbers(3).batch(2)
    drain(data)
    report = data.report()
    assert not report.start_left_out
    assert report.rate == pytest.approx(report.rows / report.elapsed)
    assert "then" not in report.headline()


def test_a_notebook_shows_the_page() -> None:
    data = numbers(100).batch(10)
    drain(data)
    shown = data.report()._repr_html_()
    assert shown.startswith("<iframe")
    assert "<script" not in shown
    assert "Where the time went" in shown
