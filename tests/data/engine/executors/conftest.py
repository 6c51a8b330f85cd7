"""Executors of every kind behind one factory; a new kind adds one entry to KINDS and gets the whole suite."""

import functools

import pytest

from millrace.data.engine.executors import forkserver
from millrace.data.engine.executors.inline import InlineExecutor
from millrace.data.engine.executors.processes import ProcessExecutor
from millrace.data.engine.executors.threads import ThreadExecutor


def _processes(method):
    return functools.partial(ProcessExecutor, start_method=method, name=f"test-{method}")


KINDS = {
    "inline": lambda runner, workers: InlineExecutor(runner),
    "threads": lambda runner, workers: ThreadExecutor(runner, workers),
    "forkserver": _processes("forkserver"),
    "spawn": _processes("spawn"),
    "fork": _processes("fork"),
}
METHODS = ("forkserver", "spawn", "fork")


@pytest.fixture
def warm():
    """The fork server lives as long as the process: have it up before anything is counted."""
    forkserver.current()


@pytest.fixture
def no_leaks(warm, no_leaks):
    return no_leaks


def _factory(kind):
    made = []

    def make(runner, workers=2, **more):
        made.append(KINDS[kind](runner, workers, **more))
        return made[-1]

    yield make
    for executor in made:
        executor.close()


@pytest.fixture(params=KINDS)
def make(request, warm):
    yield from _factory(request.param)


@pytest.fixture(params=METHODS)
def make_processes(request, warm):
    yield from _factory(request.param)


@pytest.fixture
def make_forked(warm):
    """The default start method only, for what does not depend on it."""
    yield from _factory("forkserver")
