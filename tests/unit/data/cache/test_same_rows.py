"""With a cache anywhere in a pipeline, the same rows, columns, types and random numbers come as without."""

from __future__ import annotations

import json
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core import settings as engine
from millrace._src.core.errors import PlanError
from millrace._src.core.log import reset_warn_once
from millrace._src.data.cache.in_process_server import stop_in_process_server
from tests.contracts.pipelines.test_same_rows import assert_same

from .random_pipelines import OPS, Pipe, pipes
from .server_fixture import Served

EPOCHS = 3
RELAXED = settings(
    max_examples=40 if settings().max_examples <= 100 else 300,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
    ],
)
pytestmark = [pytest.mark.usefixtures("always"), pytest.mark.timeout(600)]


def started(data: ds.Dataset, epochs: int = EPOCHS, state: Any = None) -> Any:
    return data.create_dict_iterator(num_epochs=epochs, output_numpy=True, state=state)


def rows_of(data: ds.Dataset, epochs: int = EPOCHS) -> tuple[list[list[Any]], list[Any]]:
    """The rows of each epoch, and those that were skipped or replaced up to its end."""
    made, bad = [], []
    iterator = started(data, epochs)
    for _ in range(epochs):
        made.append(list(iterator))
        bad.append(sorted((e.op, e.row, e.reason, e.action, e.replacement or 0) for e in data.skipped()))
    assert [list(row) for epoch in made for row in epoch[:1]] == [
        data.get_col_names() for epoch in made if epoch
    ]
    iterator.stop()
    return made, bad


def legal(pipe: Pipe, cache: Any = None) -> ds.Dataset:
    """The pipeline with its caches, where it may have them there."""
    try:
        pipe.build(kept=False)
    except ValueError:  # nothing is concatenated with a dataset of no rows
        assume(False)
    data = pipe.build(cache)
    try:
        data.create_dict_iterator(num_epochs=1).stop()
    except PlanError as error:
        assume("cache" not in str(error))  # refused in words of its own
        raise
    return data


def check(pipe: Pipe, cache: Any = None, **changes: Any) -> None:
    before = engine.snapshot()
    try:
        reset_warn_once()
        ds.config.set_seed(11)
        engine.update(**changes)
        data = legal(pipe, cache)
        wanted, bad = rows_of(pipe.build(kept=False))
        got, same_bad = rows_of(data)
        assert_same(got, wanted)
        # whether rows behind the last that is wanted are tried, is a matter of luck; so is how far ahead workers are
        if not {"zip", "take", "flat map"} & set(pipe.ops):
            assert same_bad == bad if changes["executor"] == "inline" else same_bad[-1] == bad[-1]
        # a second pipeline, with the same rows kept already
        assert_same(rows_of(pipe.build(cache))[0], wanted)
    finally:
        engine.restore(before)


@RELAXED
@given(pipes(), st.sampled_from([1, 3, None]), st.sampled_from(["inline", "threads"]))
def test_any_place(pipe: Pipe, chunk: int | None, executor: str) -> None:
    try:
        check(pipe, executor=executor, chunk_rows=chunk)
    finally:
        stop_in_process_server()


@RELAXED
@given(
    pipes(list(OPS)),
    st.sampled_from(["skip", "replace"]),
    st.sampled_from([1, 3, None]),
    st.sampled_from(["inline", "threads"]),
)
def test_failed_rows_are_never_kept(pipe: Pipe, mode: str, chunk: int | None, executor: str) -> None:
    try:
        check(pipe, error_samples_mode=mode, error_samples_limit=1.0, chunk_rows=chunk, executor=executor)
    finally:
        stop_in_process_server()


@settings(RELAXED, max_examples=25)
@given(pipes(), st.booleans())
def test_a_folder(pipe: Pipe, debug: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(pipe, ds.DatasetCache(path=folder), executor="inline", debug_mode=debug)


@settings(RELAXED, max_examples=25)
@given(pipes(), st.sampled_from([1, 3, None]))
def test_a_server(shared_server: Served, pipe: Pipe, chunk: int | None) -> None:
    check(pipe, shared_server.cache(), executor="threads", chunk_rows=chunk)


@settings(RELAXED, max_examples=30)
@given(pipes(list(OPS)), st.data(), st.sampled_from(["return", "skip", "replace"]))
def test_resume(pipe: Pipe, data: st.DataObject, mode: str) -> None:
    """From any step: with what is kept, with half of it, and with nothing of it."""
    assume(mode != "return" or "bad rows" not in pipe.ops)
    before = engine.snapshot()
    try:
        ds.config.set_seed(11)
        engine.update(executor="threads", error_samples_mode=mode, error_samples_limit=1.0)
        cached = legal(pipe)
        wanted, _ = rows_of(pipe.build(kept=False))
        iterator = started(cached)
        states = [(0, 0, iterator.state())]
        for epoch in range(EPOCHS):
            for step, _ in enumerate(iterator):
                states.append((epoch, step + 1, iterator.state()))
            states.append((epoch + 1, 0, iterator.state()))
        epoch, step, state = data.draw(st.sampled_from(states[:-1]))
        if data.draw(st.booleans()):
            stop_in_process_server()  # resumed where nothing is kept
        resumed = started(pipe.build(), state=json.loads(json.dumps(state)))
        got = [list(resumed) for _ in range(EPOCHS - epoch)]
        resumed.stop()
        assert_same(got, [wanted[epoch][step:], *wanted[epoch + 1 :]])
    finally:
        stop_in_process_server()
        engine.restore(before)


WORKERS = [
    Pipe("random access shuffled", ("text", "in place, ragged", "cast"), (2, 3)),
    Pipe("stream", ("filter", "double", "batch"), (3,)),
]


@pytest.mark.parametrize("pipe", WORKERS, ids=["by number", "by place"])
def test_worker_processes(pipe: Pipe, no_leaks: None) -> None:
    try:
        check(pipe, executor="processes", num_parallel_workers=2, chunk_rows=3)
    finally:
        stop_in_process_server()


@pytest.mark.nightly
@settings(RELAXED, max_examples=40)
@given(pipes(list(OPS)), st.sampled_from(["skip", "replace"]))
def test_any_place_with_worker_processes(pipe: Pipe, mode: str) -> None:
    try:
        check(pipe, executor="processes", num_parallel_workers=2, chunk_rows=3, error_samples_mode=mode)
    finally:
        stop_in_process_server()
