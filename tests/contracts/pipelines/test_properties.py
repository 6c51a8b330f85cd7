"""Order, sharding and resume for pipelines nobody thought of: built at random, checked by law."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core import settings

# --------------------------------------------------------------------------------------------------
# random pipelines over a known source

OPS = st.sampled_from(["shuffle", "take", "skip", "repeat", "batch", "filter", "map", "concat", "window"])


@st.composite
def pipelines(draw: Any) -> tuple[Any, ...]:
    steps = draw(st.lists(st.tuples(OPS, st.integers(1, 9)), max_size=5))
    batched = False
    kept = []
    for name, number in steps:
        if batched and name in ("batch", "filter", "map", "window", "concat"):
            continue
        batched = batched or name == "batch"
        kept.append((name, number))
    return draw(st.integers(1, 40)), draw(st.booleans()), draw(st.integers(0, 2**32 - 1)), tuple(kept)


def even(x: Any) -> bool:
    return int(x) % 2 == 0


def plus(x: Any) -> Any:
    return x + 1000


def build(rows: int, stream: bool, steps: tuple[Any, ...]) -> ds.Dataset:
    def generate() -> Any:
        for i in range(rows):
            yield np.array(i)

    data = (
        ds.GeneratorDataset(generate, "x")
        if stream
        else ds.NumpySlicesDataset(np.arange(rows), "x", shuffle=False)
    )
    for name, number in steps:
        if name in ("shuffle", "window"):
            data = data.shuffle(number + 1)
        elif name == "take":
            data = data.take(number * 3)
        elif name == "skip":
            data = data.skip(number)
        elif name == "repeat":
            data = data.repeat(number % 3 + 1)
        elif name == "batch":
            data = data.batch(number, drop_remainder=number % 2 == 0)
        elif name == "filter":
            data = data.filter(even)
        elif name == "map":
            data = data.map(plus)
        elif name == "concat" and data.get_dataset_size():  # an empty part is refused
            data = data + ds.NumpySlicesDataset(np.arange(number), "x", shuffle=False)
    return data


def rows_of(data: ds.Dataset, state: Any = None) -> list[Any]:
    iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True, state=state)
    rows = [row[0].tolist() for row in iterator]
    iterator.stop()
    return rows


@given(pipelines(), st.integers(1, 9), st.integers(1, 4))
def test_any_pipeline_gives_the_same_rows_however_it_is_run(
    pipeline: tuple[Any, ...], chunk_rows: int, workers: int
) -> None:
    rows, stream, seed, steps = pipeline
    with settings.override(seed=seed, executor="inline", chunk_rows=1):
        reference = rows_of(build(rows, stream, steps))
    with settings.override(
        seed=seed, executor="threads", chunk_rows=chunk_rows, num_parallel_workers=workers
    ):
        assert rows_of(build(rows, stream, steps)) == reference
    with settings.override(seed=seed):
        data = build(rows, stream, steps)
        assert rows_of(data) == reference
        assert data.get_dataset_size() == len(reference)


@given(pipelines(), st.data())
def test_any_pipeline_resumes_anywhere(pipeline: tuple[Any, ...], choose: Any) -> None:
    rows, stream, seed, steps = pipeline
    with settings.override(seed=seed, executor="inline"):
        data = build(rows, stream, steps)
        reference = rows_of(data)
        stop = choose.draw(st.integers(0, len(reference)))
        iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        seen = [next(iterator)[0].tolist() for _ in range(stop)]
        state = json.loads(json.dumps(iterator.state()))
        iterator.stop()
        assert seen == reference[:stop]
    with settings.override(seed=seed + 1, executor="inline", chunk_rows=choose.draw(st.integers(1, 9))):
        assert rows_of(data, state) == reference[stop:]


@given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.integers(2, 70))
def test_shuffle_keeps_every_row(rows: int, seed: int, buffer: int) -> None:
    with settings.override(seed=seed, executor="inline"):
        for stream in (False, True):
            assert sorted(rows_of(build(rows, stream, (("shuffle", buffer - 1),)))) == list(range(rows))


# --------------------------------------------------------------------------------------------------
# shards


@given(st.integers(1, 80), st.integers(1, 9), st.booleans(), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_shards_cover_everything_in_equal_steps(
    rows: int, world: int, shuffle: bool, batch: int, seed: int
) -> None:
    with settings.override(seed=seed, executor="inline"):
        shards = [
            ds.NumpySlicesDataset(
                np.arange(rows), "x", shuffle=shuffle, num_shards=world, shard_id=rank
            ).batch(batch)
            for rank in range(world)
        ]
        parts = [[x for step in rows_of(shard) for x in step] for shard in shards]
        steps = {shard.get_dataset_size() for shard in shards}
    _check(parts, steps, rows, world)


@given(st.integers(1, 40), st.integers(1, 6))
def test_shards_of_a_stream_cover_everything_in_equal_steps(rows: int, world: int) -> None:
    def generate() -> Any:
        for i in range(rows):
            yield np.array(i)

    with settings.override(seed=1, executor="inline"):
        shards = [
            ds.GeneratorDataset(generate, "x", num_shards=world, shard_id=rank) for rank in range(world)
        ]
        parts = [rows_of(shard) for shard in shards]
    if rows >= world:
        _check(parts, {len(part) for part in parts}, rows, world)
    else:
        assert set().union(*parts) == set(range(rows))


def _check(parts: list[list[int]], steps: set[int], rows: int, world: int) -> None:
    assert len(steps) == 1
    assert len({len(part) for part in parts}) == 1
    everything = [x for part in parts for x in part]
    assert set(everything) == set(range(rows))
    # no row is given twice but for the padding that makes the shards equal
    assert len(everything) - rows == -rows % world
