"""A cache beside everything else that may be done with a dataset."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from tests.contracts.pipelines.pipelines import Noise
from tests.contracts.pipelines.test_same_rows import assert_same

from .random_pipelines import Pipe, double, slices
from .server_fixture import Served

pytestmark = pytest.mark.usefixtures("always")

CACHED = {
    "by number": lambda: slices().map(double, "x").cache().map(Noise(), "x"),
    "by place": lambda: (
        slices(shuffle=False).map(double, "x").project(["x", "n"]).batch(3).cache().shuffle(2)
    ),
}
PLAIN = {
    "by number": lambda: slices().map(double, "x").map(Noise(), "x"),
    "by place": lambda: slices(shuffle=False).map(double, "x").project(["x", "n"]).batch(3).shuffle(2),
}
both = pytest.mark.parametrize("name", CACHED)


def started(data: ds.Dataset, epochs: int = 1, **more: Any) -> Any:
    return data.create_dict_iterator(num_epochs=epochs, output_numpy=True, **more)


def epochs_of(data: ds.Dataset, count: int = 3) -> list[list[Any]]:
    iterator = started(data, count)
    return [list(iterator) for _ in range(count)]


@pytest.fixture(autouse=True)
def seeded() -> None:
    ds.config.set_seed(5)


@both
def test_two_iterators_at_once(name: str) -> None:
    wanted = epochs_of(PLAIN[name]())
    data = CACHED[name]()
    one, two = started(data, 3), started(data, 3)
    got: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(3):
        rows: tuple[list[Any], list[Any]] = ([], [])
        for first, second in zip(one, two, strict=True):
            rows[0].append(first)
            rows[1].append(second)
        for made, each in zip(got, rows, strict=True):
            made.append(each)
    for made in got:
        assert_same(made, wanted)


@both
def test_copies(name: str) -> None:
    wanted = epochs_of(PLAIN[name]())
    data = CACHED[name]()
    assert_same(epochs_of(copy.deepcopy(data)), wanted)
    assert_same(epochs_of(data), wanted)


@both
def test_an_endless_run_that_is_left_halfway(name: str) -> None:
    wanted = epochs_of(PLAIN[name]())
    data = CACHED[name]()
    for rows in (1, 2):
        iterator = started(data, -1)
        for _ in range(rows):
            next(iterator)
        iterator.stop()
    assert_same(epochs_of(data), wanted)


@both
def test_debug_mode(name: str) -> None:
    wanted = epochs_of(PLAIN[name]())
    assert_same(epochs_of(CACHED[name]()), wanted)
    settings.update(debug_mode=True)
    assert_same(epochs_of(CACHED[name]()), wanted)


def test_save_nearby(tmp_path: Path) -> None:
    data = slices(shuffle=False).project(["n", "x"]).map(double, "n").cache()
    for number in range(2):
        path = str(tmp_path / f"{number}.mindrecord")
        data.save(path)
        assert sorted(int(row["n"]) for row in started(ds.MindDataset(path))) == list(range(0, 26, 2))
    assert [int(row["n"]) for row in started(data)] == list(range(0, 26, 2))
    # the argument of a source, and single rows of it
    kept = ds.MindDataset(path, shuffle=False, cache=ds.DatasetCache())
    for _ in range(2):
        assert [int(row["n"]) for row in started(kept)] == list(range(0, 26, 2))
        assert [int(kept[i][0]) for i in (3, 0)] == [6, 0]


def test_one_cache_for_two_trees() -> None:
    cache = ds.DatasetCache()
    one = slices(shuffle=False).map(double, "n").cache(cache)
    two = slices(shuffle=False).map(double, "x").cache(cache)
    both_at_once = ds.zip((one.project(["n"]), two.project(["x"])))
    for _ in range(2):
        rows = list(started(both_at_once))
        assert [int(row["n"]) for row in rows] == list(range(0, 26, 2))
        assert [float(row["x"][0]) for row in rows] == [float(i) for i in range(0, 26, 2)]
    assert cache.get_stat().num_mem_cached == 26


def test_every_rank_keeps_its_rows_and_all_share(server: Served) -> None:
    cache = server.cache()

    def rank(number: int) -> ds.Dataset:
        return slices(shuffle=False, num_shards=2, shard_id=number).map(double, "n").cache(cache)

    seen = [[int(row["n"]) for row in started(rank(number))] for number in (0, 1)]
    assert sorted({*seen[0], *seen[1]}) == list(range(0, 26, 2))
    assert cache.get_stat().num_mem_cached == 13
    # another number of ranks, and another order, find all of them
    data = slices(num_shards=3, shard_id=1).map(double, "n").cache(cache)
    list(started(data))
    counts = data._session.runs[-1].stats.stages[-1].cache
    assert counts is not None
    assert (counts.misses, counts.hits) == (0, 5)
    cache.get_stat()
    from millrace._src.data.cache.client import disconnect

    disconnect(server.address)


SECOND = """
import json, sys
from millrace._src.core import settings
from millrace._src.data.engine.segment import cached_read_step as kept
import millrace.dataset as ds
from tests.unit.data.cache.random_pipelines import Pipe

kept.TRIALS = 1 << 30
ds.config.set_seed(11)
for port, session, pipe, state in json.load(sys.stdin):
    data = Pipe(pipe[0], tuple(pipe[1]), tuple(pipe[2])).build(ds.DatasetCache(session, port=port))
    iterator = data.create_dict_iterator(num_epochs=3, output_numpy=True, state=state)
    rows = [[sorted((k, v.tolist() if v.dtype.kind != "S" else str(v)) for k, v in row.items()) for row in iterator]
            for _ in range(3 if state is None else 2)]
    print(json.dumps(rows))
"""
SHARED = [
    Pipe("random access shuffled", ("text", "double", "filter"), (2,)),
    Pipe("slices", ("in place", "batch"), (0, 2)),
    Pipe("stream", ("filter", "double", "take"), (2,)),
    Pipe("shard", ("rename", "cast", "repeat"), (2,)),
]


def test_another_process_gets_the_same_rows(shared_server: Served) -> None:
    """With what this one kept, and resumed from its state with nothing kept."""
    ds.config.set_seed(11)
    asked, wanted = [], []
    for pipe in SHARED:
        spec = [pipe.source, pipe.ops, pipe.caches]
        session = shared_server.session()
        rows = epochs_of(pipe.build(shared_server.cache(session)))
        asked.append([shared_server.port, session, spec, None])
        wanted.append(rows)
        iterator = started(pipe.build(shared_server.cache(session)), 3)
        list(iterator)
        next(iterator)
        asked.append([shared_server.port, shared_server.session(), spec, iterator.state()])
        iterator.stop()
        wanted.append([rows[1][1:], rows[2]])
    done = subprocess.run(
        [sys.executable, "-c", SECOND], input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for line, rows in zip(done.stdout.splitlines(), wanted, strict=True):
        plain = [
            [
                sorted([k, v.tolist() if v.dtype.kind != "S" else str(v)] for k, v in row.items())
                for row in epoch
            ]
            for epoch in rows
        ]
        assert json.loads(line) == plain


def in_a_child(work: Any) -> str:
    """What a forked process says of some work; it ends without the parent's clean-up."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writes, str(work()).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


@both
def test_a_forked_process(name: str) -> None:
    """It may go on with the dataset, in the middle of a run of its parent: both get their rows."""
    settings.update(executor="inline")
    wanted = epochs_of(PLAIN[name]())
    data = CACHED[name]()
    iterator = started(data, 3)
    got = [[next(iterator)]]

    def work() -> bool:
        assert_same(epochs_of(data), wanted)
        return True

    for _ in range(2):
        assert in_a_child(work) == "True"
    got[0] += list(iterator)
    got += [list(iterator), list(iterator)]
    assert_same(got, wanted)
