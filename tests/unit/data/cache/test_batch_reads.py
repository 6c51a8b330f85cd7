"""Large rows that are kept go straight into their batch; what they hold is the same as without a cache."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.values.batch_buffers import BatchAssembler, is_in_batch_buffer
from millrace._src.core.values.chunk import Chunk
from millrace._src.core.values.columns import StringColumn
from millrace._src.data.cache.row_gather import RowSelection, gather_columns, writable_column

ROWS = 50
salt = itertools.count()


class Pictures:
    """Rows of 17 KB, each its own; a salt keeps one test's rows from another's."""

    def __init__(self, shapes=((130, 130),)):
        self.shapes, self.salt = shapes, next(salt)

    def __getitem__(self, i):
        shape = self.shapes[i % len(self.shapes)]
        return np.full(shape, (i + self.salt) % 251, np.uint8), np.int32(i)

    def __len__(self):
        return ROWS


def _pipeline(pictures, *, cached, shuffle=False, batch=8, shards=None, rows=None):
    parts = {} if shards is None else {"num_shards": 2, "shard_id": shards}
    data = ds.GeneratorDataset(pictures, ["x", "i"], shuffle=shuffle, num_samples=rows, **parts)
    data = data.map(_slow, "x")
    data = data.cache() if cached else data
    return data.batch(batch)


def _slow(x):
    """Dear enough to be kept."""
    for _ in range(20):
        np.sort(x, axis=None)
    return x + 1


def _epochs(data, epochs=1):
    iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    return [[[np.array(c) for c in row] for row in iterator] for _ in range(epochs)]


def _same(a, b):
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        for x, y in zip(one, other, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("batch", [1, 7, 8, 64])
def test_every_epoch_has_the_rows_of_the_uncached_one(batch):
    pictures = Pictures()
    (plain,) = _epochs(_pipeline(pictures, cached=False, batch=batch))
    for epoch in _epochs(_pipeline(pictures, cached=True, batch=batch), epochs=3):
        _same(plain, epoch)


def test_shuffled_rows_are_each_in_their_place():
    pictures = Pictures()
    for epoch in _epochs(_pipeline(pictures, cached=True, shuffle=True), epochs=4):
        for x, i in epoch:
            wanted = (i + pictures.salt) % 251 + 1
            assert (x == wanted[:, None, None].astype(np.uint8)).all()


def test_rows_that_are_kept_and_rows_that_are_made_meet_in_one_batch():
    pictures = Pictures()
    (plain,) = _epochs(_pipeline(pictures, cached=False))
    _epochs(_pipeline(pictures, cached=True, shards=1))  # every other row is kept now
    for epoch in _epochs(_pipeline(pictures, cached=True), epochs=2):
        _same(plain, epoch)


def test_what_a_user_writes_into_a_batch_is_not_kept():
    pictures = Pictures()
    (plain,) = _epochs(_pipeline(pictures, cached=False))
    data = _pipeline(pictures, cached=True)
    for _ in range(3):
        for batch, wanted in zip(
            data.create_tuple_iterator(num_epochs=1, output_numpy=True), plain, strict=True
        ):
            np.testing.assert_array_equal(batch[0], wanted[0])
            batch[0][...] = 0


def test_what_a_function_behind_the_cache_writes_into_a_row_is_not_kept():
    def spoil(x):
        before = x.copy()
        x[...] = 0
        return before

    pictures = Pictures()
    (plain,) = _epochs(_pipeline(pictures, cached=False))
    data = ds.GeneratorDataset(pictures, ["x", "i"], shuffle=False).map(_slow, "x").cache()
    for epoch in _epochs(data.map(spoil, "x").batch(8), epochs=3):
        _same(plain, epoch)


def test_rows_of_several_shapes_are_kept_as_they_are():
    pictures = Pictures(((130, 130), (131, 130)))
    data = ds.GeneratorDataset(pictures, ["x", "i"], shuffle=False).map(_slow, "x")

    def read(data):
        return [
            [row[0] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)] for _ in "123"
        ]

    plain = read(data)
    assert all(
        (a == b).all()
        for x, y in zip(plain, read(data.cache()), strict=True)
        for a, b in zip(x, y, strict=True)
    )


def test_large_rows_of_several_blocks_are_written_into_the_batch_in_the_order_asked_for():
    blocks = [
        Chunk(
            {"x": np.arange(at, at + 4)[:, None] * np.ones((1, 9000), np.int64)},
            np.arange(4, dtype=np.uint64),
        )
        for at in (0, 4)
    ]
    parts = [
        RowSelection(np.array([0, 3]), blocks[1], np.array([3, 0])),
        RowSelection(np.array([1, 2]), blocks[0], np.array([0, 2])),
    ]
    slots = BatchAssembler(4)
    made = gather_columns(
        parts, ["x"], 4, lambda name, i, shape, dtype: slots.reserve_row(name, 0, i, shape, dtype)
    )
    assert [int(row[0]) for row in made["x"]] == [7, 0, 2, 4]
    assert all(is_in_batch_buffer(row) for row in made["x"])


def test_columns_of_all_kinds_come_together_in_the_order_asked_for():
    def block(at):
        columns = {
            "dense": np.arange(at, at + 3),
            "text": StringColumn.of([f"t{i}" for i in range(at, at + 3)]),
            "list": [np.full(i + 1, i) for i in range(at, at + 3)],
        }
        return Chunk(columns, np.arange(3, dtype=np.uint64))

    parts = [
        RowSelection(np.array([2, 0]), block(0), np.array([2, 1])),
        RowSelection(np.array([1]), block(3), np.array([0])),
    ]
    made = gather_columns(parts, ["dense", "text", "list"], 3)
    assert made["dense"].tolist() == [1, 3, 2]
    assert [str(value) for value in made["text"]] == ["t1", "t3", "t2"]
    assert [row.tolist() for row in made["list"]] == [[1] * 2, [3] * 4, [2] * 3]


def test_an_own_column_is_memory_of_its_own():
    column = np.zeros((3, 20_000), np.uint8)
    for made in (writable_column(column), writable_column(column, "x", lambda *_: None)):
        made[0][:] = 1
        assert not column.any()
