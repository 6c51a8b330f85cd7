"""Which rows are the same rows: keys of pipelines, in this process and in others."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.transforms as transforms
from millrace._src.core import settings
from millrace._src.data.plan.bind import bind, optimize
from millrace._src.data.plan.fingerprint.plan_fingerprint import cache_key
from millrace._src.data.plan.node import walk
from millrace._src.data.plan.nodes.cache_ops import Cache
from millrace._src.data.plan.nodes.physical import CachedRead
from tests.contracts.sources.fake_data import everything, find

from .random_pipelines import double, in_place, slices, stream

FAKES = everything()


def key(data: ds.Dataset) -> str:
    """The key under which the rows of a cache on top are kept."""
    root = optimize(bind(data.cache()._node, settings.current())).root
    parts = [part for node in walk(root) for part in (node, *node.fused_nodes)]
    node = next(part for part in reversed(parts) if isinstance(part, (Cache, CachedRead)))
    return cache_key(
        node.logical_input or node.inputs[0], settings.current(), ordered=isinstance(node, Cache)
    )


# the same rows in another order -----------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FAKES if ":" not in name])
def test_order_and_shards_share_rows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rank, every shuffle and every selection finds the rows that the others kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    kind, arguments = find(name), FAKES[name].write(folder)
    takes = inspect.signature(kind).parameters
    wanted = key(kind(**arguments, shuffle=False))
    others: list[dict[str, Any]] = [{"shuffle": True}, {"num_samples": 1}, {"num_shards": 2, "shard_id": 1}]
    others += [{"sampler": ds.RandomSampler()}, {"num_parallel_workers": 3}]
    for options in others:
        if set(options) <= set(takes) and not (FAKES[name].shards != "rows" and "num_shards" in options):
            assert key(kind(**arguments, **options)) == wanted, options


MEMORY: dict[str, Callable[..., ds.Dataset]] = {
    "slices": slices,
    "random access": lambda **options: ds.GeneratorDataset(Counted(9), ["x"], **options),
}


class Counted:
    def __init__(self, rows: int) -> None:
        self.values = np.arange(rows)

    def __getitem__(self, index: int) -> Any:
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)


@pytest.mark.parametrize("name", MEMORY)
def test_order_of_rows_in_memory(name: str) -> None:
    make = MEMORY[name]
    wanted = key(make(shuffle=False))
    for options in (
        {},
        {"num_samples": 3},
        {"num_shards": 3, "shard_id": 2},
        {"sampler": ds.RandomSampler()},
    ):
        assert key(make(**options)) == wanted
    assert key(make().shuffle(3).skip(1).take(4)) == wanted
    # by their place in the sequence, the order counts
    batches = key(make(shuffle=False).batch(2))
    assert key(make(shuffle=False, num_shards=2, shard_id=0).batch(2)) != batches
    assert key(make(shuffle=False).batch(2, num_parallel_workers=2)) == batches


# other rows -------------------------------------------------------------------------------------------


def scaled(by: float) -> Callable[[Any], Any]:
    return lambda x: x * by


def plus(x: Any, more: int = 1) -> Any:
    return x + more


def plus_two(x: Any, more: int = 2) -> Any:
    return x + more


plus_two.__name__ = plus_two.__qualname__ = "plus"


def text_file(path: Path, lines: str, at: int = 0) -> ds.Dataset:
    path.write_text(lines)
    if at:
        os.utime(path, ns=(at, at))
    return ds.TextFileDataset(str(path), shuffle=False)


def test_a_changed_file_is_another(tmp_path: Path) -> None:
    """Of the same size, with another time."""
    path, when = tmp_path / "a.txt", 10**18
    first = key(text_file(path, "one\n", at=when))
    assert key(text_file(path, "two\n", at=when + 1)) != first
    assert key(text_file(path, "one\n", at=when)) == first


def test_a_new_file_in_the_folder(tmp_path: Path) -> None:
    from PIL import Image

    def picture(name: str) -> None:
        path = tmp_path / "data" / "cat" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (3, 3)).save(path)

    picture("one.png")
    first = key(ds.ImageFolderDataset(str(tmp_path / "data"), shuffle=False))
    assert key(ds.ImageFolderDataset(str(tmp_path / "data"))) == first
    picture("two.png")
    assert key(ds.ImageFolderDataset(str(tmp_path / "data"))) != first


PAIRS: dict[str, tuple[Callable[[], ds.Dataset], Callable[[], ds.Dataset]]] = {
    "function": (lambda: slices().map(double, "x"), lambda: slices().map(in_place, "x")),
    "closure": (lambda: slices().map(scaled(2.0), "x"), lambda: slices().map(scaled(3.0), "x")),
    "default": (lambda: slices().map(plus, "n"), lambda: slices().map(plus_two, "n")),
    "column": (lambda: slices().map(double, "x"), lambda: slices().map(double, "n")),
    "project": (lambda: slices().project(["x", "n"]), lambda: slices().project(["n", "x"])),
    "rename": (lambda: slices().rename("x", "y"), lambda: slices().rename("x", "z")),
    "argument of a transform": (
        lambda: slices().map(transforms.TypeCast(np.float32), "n"),
        lambda: slices().map(transforms.TypeCast(np.float64), "n"),
    ),
    "order of two": (
        lambda: slices().map([double, plus], "n"),
        lambda: slices().map([plus, double], "n"),
    ),
    "array": (
        lambda: ds.NumpySlicesDataset(np.arange(40_000)),
        lambda: ds.NumpySlicesDataset(np.append(np.arange(39_999), 7)),
    ),
    "type": (
        lambda: ds.NumpySlicesDataset(np.arange(4, dtype=np.int32)),
        lambda: ds.NumpySlicesDataset(np.arange(4, dtype=np.int64)),
    ),
    "what an object holds": (
        lambda: ds.GeneratorDataset(Counted(9), ["x"]),
        lambda: ds.GeneratorDataset(Counted(10), ["x"]),
    ),
    "batch": (lambda: slices(shuffle=False).batch(2), lambda: slices(shuffle=False).batch(3)),
    "remainder": (
        lambda: slices(shuffle=False).batch(2),
        lambda: slices(shuffle=False).batch(2, drop_remainder=True),
    ),
    "stream": (
        lambda: ds.GeneratorDataset(stream, ["x", "n", "t", "r", "b"]),
        lambda: ds.GeneratorDataset(stream, ["x", "n", "t", "r", "b"]).take(2),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_makes_other_rows(name: str) -> None:
    one, two = PAIRS[name]
    assert key(one()) == key(one())
    assert key(one()) != key(two())


def test_settings_that_change_rows() -> None:
    data = slices(shuffle=False).map(double, "x")
    by_number, by_place = key(data), key(data.batch(2))
    settings.update(num_parallel_workers=3, executor="inline", chunk_rows=5)
    ds.config.set_seed(77)
    assert (key(data), key(data.batch(2))) == (by_number, by_place)
    settings.update(error_samples_mode="skip")
    assert key(data) == by_number  # a row that failed is never kept
    assert key(data.batch(2)) != by_place


def test_the_sample_that_fills_up_is_part_of_the_rows(tmp_path: Path) -> None:
    from millrace.mindrecord import FileWriter

    path = str(tmp_path / "a.mindrecord")
    writer = FileWriter(path, 1)
    writer.add_schema({"n": {"type": "int64"}})
    writer.write_raw_data([{"n": i} for i in range(4)])
    writer.commit()
    one, two = (
        key(ds.MindDataset(path, ["n"], padded_sample={"n": value}, num_padded=2, num_shards=2, shard_id=0))
        for value in (7, 8)
    )
    assert one != two
    ranks = {
        key(ds.MindDataset(path, ["n"], padded_sample={"n": 7}, num_padded=2, num_shards=2, shard_id=rank))
        for rank in (0, 1)
    }
    assert ranks == {one}


def test_a_cache_below_another_changes_no_row() -> None:
    assert key(slices().cache().map(double, "x")) == key(slices().map(double, "x"))


# two programs -----------------------------------------------------------------------------------------

PROGRAM = """
import sys
import numpy as np
import millrace.dataset as ds

def work(x):
    sum(range(200_000))  # dear enough to be kept
    return x + {plus}

data = ds.NumpySlicesDataset({{"x": np.arange(50)}}{options}).map(work, "x")
data = data.cache(ds.DatasetCache(path=sys.argv[1]))
made = sorted(int(row["x"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True))
counts = data._session.runs[-1].stats.stages[-1].cache
print(made[0], counts.hits, counts.stored)
"""


def run(folder: Path, **changes: Any) -> list[int]:
    script = folder / f"script{len(list(folder.iterdir()))}.py"
    script.write_text(PROGRAM.format(**({"plus": 1, "options": ""} | changes)))
    done = subprocess.run(
        [sys.executable, str(script), str(folder / "rows")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(map(int, done.stdout.split()))


def test_two_programs_share_rows_and_a_changed_function_does_not(tmp_path: Path) -> None:
    first, hits, stored = run(tmp_path)
    assert (first, hits) == (1, 0)
    assert stored > 0
    assert run(tmp_path, options=", shuffle=False, num_shards=2, shard_id=0")[:2] == [1, 25]
    assert run(tmp_path, plus=2)[:2] == [2, 0]
