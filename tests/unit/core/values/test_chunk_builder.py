"""Rows gathered into columns: like rows side by side, others as they are, and nothing of the source's is kept."""

from __future__ import annotations

import numpy as np
import pytest

from millrace._src.core.values.batch_buffers import ChunkBufferPool
from millrace._src.core.values.chunk_builder import ChunkBuilder


def columns_of(rows, **more):
    builder = ChunkBuilder(["x", "y"], len(rows), **more)
    builder.extend(rows)
    return builder.finish()


def test_rows_that_are_alike_make_dense_columns():
    made = columns_of([(np.full(3, i), np.int32(i)) for i in range(4)])
    assert made["x"].tolist() == [[i] * 3 for i in range(4)]
    assert made["y"].dtype == np.int32
    assert made["y"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("odd", range(4))
@pytest.mark.parametrize("value", [np.ones(2), np.ones(3, np.float32), [1, 2], 7, "text"], ids=repr)
def test_one_odd_row_changes_none_of_the_others(odd, value):
    rows = [(np.full(3, float(i)), i) for i in range(4)]
    rows[odd] = (value, value)
    made = columns_of(rows)
    for i in range(4):
        wanted = np.asarray(value) if i == odd else None
        assert np.array_equal(made["x"][i], np.full(3, float(i)) if wanted is None else wanted)
        assert np.array_equal(made["y"][i], i if wanted is None else wanted)
        if wanted is not None:
            assert np.asarray(made["x"][i]).dtype.kind == wanted.dtype.kind


def test_a_source_may_refill_one_buffer():
    buffer = np.zeros(3)

    def rows():
        for i in range(4):
            buffer[:] = i
            yield (buffer, buffer[:1] if i % 2 else buffer)

    builder = ChunkBuilder(["x", "y"], 4)
    builder.extend(rows())
    made = builder.finish()
    assert made["x"][:, 0].tolist() == [0, 1, 2, 3]
    assert [value[0] for value in made["y"]] == [0, 1, 2, 3]


def test_rows_that_are_not_tuples_are_shaped_first():
    builder = ChunkBuilder(["x"], 2)
    builder.extend([5, (6,)], lambda given: (given,))
    assert builder.finish()["x"].tolist() == [5, 6]


def test_the_row_that_fails_is_known():
    def rows():
        yield (np.ones(2), 1)
        yield (np.ones(2), 2)
        raise KeyError("row 2")

    builder = ChunkBuilder(["x", "y"], 5)
    with pytest.raises(KeyError):
        builder.extend(rows())
    assert builder.count == 2
    assert builder.finish()["x"].shape == (2, 2)


def test_in_memory_that_is_used_again():
    passing = ChunkBufferPool()
    for turn in range(3):
        rows = [(np.full(9000, float(i + turn)), i) for i in range(4)]
        made = columns_of(rows, passing=passing)
        assert made["x"][:, -1].tolist() == [turn, turn + 1, turn + 2, turn + 3]
        del made
        assert len(passing.blocks) == 1
