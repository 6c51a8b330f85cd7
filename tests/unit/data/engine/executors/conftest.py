"""Executors of every kind behind one factory: what is in the registry gets the whole suite by being there."""

import functools

import pytest

from millrace._src.core.executor_traits import EXECUTORS
from millrace._src.core.settings import Settings
from millrace._src.data.engine.executors.processes import ProcessExecutor, forkserver
from millrace._src.data.engine.executors.registry import make_executor


def _registered(name):
    return lambda runner, workers: make_executor(name, runner, workers, f"test-{name}", Settings())


def _processes(method):
    return functools.partial(ProcessExecutor, start_method=method, name=f"test-{method}")


# worker processes once for each way of starting them
KINDS = {name: _registered(name) for name in EXECUTORS if name != "processes"} | {
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
def instance(request, warm):
    """What a kind of executor lives in, up before anything is counted."""
    chosen = getattr(request.node, "callspec", None)
    if chosen is not None and chosen.params.get("make") == "ray":
        request.getfixturevalue("ray_instance")


@pytest.fixture
def no_leaks(instance, no_leaks):
    return no_leaks


def _factory(kind):
    made = []

    def make(runner, workers=1 if kind == "ray" else 2, **more):
        made.append(KINDS[kind](runner, workers, **more))
        return made[-1]

    yield make
    for executor in made:
        executor.close()


@pytest.fixture(params=KINDS)
def make(request, instance):
    yield from _factory(request.param)


@pytest.fixture(params=METHODS)
def make_processes(request, warm):
    yield from _factory(request.param)


@pytest.fixture
def make_forked(warm):
    """The default start method only, for what does not depend on it."""
    yield from _factory("forkserver")
