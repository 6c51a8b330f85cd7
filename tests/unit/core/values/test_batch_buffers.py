"""Rows that lie in their batch from the start."""

from __future__ import annotations

import pickle
import threading
import weakref

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core.errors import PlanError
from millrace._src.core.values import batch_buffers as gather
from millrace._src.core.values.batch_buffers import BatchAssembler, contiguous_view, is_in_batch_buffer
from millrace._src.core.values.chunk import stack_rows
from tests.unit.data.kernels.vision.test_jpeg_region import encoded

JPEGS = [encoded(90 + i, 100, "4:2:0") for i in range(23)]


def row(value: float, size: int = 5000) -> np.ndarray:
    return np.full(size, value, np.float32)


def test_neighbours_are_one_array_without_a_copy():
    slots = BatchAssembler(4)
    rows = [slots.put("x", 0, i, row(i)) for i in range(8)]
    batch = stack_rows(rows[4:])
    assert batch.shape == (4, 5000)
    assert np.shares_memory(batch, rows[5])
    assert batch[:, 0].tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("picked", [[1, 0], [0, 2], [3, 4], [0, 0]], ids=str)
def test_others_are_copied(picked):
    slots = BatchAssembler(4)
    rows = [slots.put("x", 0, i, row(i)) for i in range(8)]
    assert contiguous_view([rows[i] for i in picked]) is None
    batch = stack_rows([rows[i] for i in picked])
    assert batch[:, 0].tolist() == picked
    assert not np.shares_memory(batch, rows[picked[0]])


def test_small_rows_text_and_other_shapes_stay_where_they_are():
    slots = BatchAssembler(4)
    for value in (np.zeros(3), np.array("text"), 5, None):
        assert slots.put("x", 0, 0, value) is value
    assert is_in_batch_buffer(slots.put("x", 0, 0, row(1)))
    other = row(1, 6000)
    assert slots.put("x", 0, 1, other) is other


def test_columns_and_epochs_have_batches_of_their_own():
    slots = BatchAssembler(2)
    rows = [
        slots.put(column, epoch, 0, row(i))
        for i, (column, epoch) in enumerate([("a", 0), ("b", 0), ("a", 1)])
    ]
    assert [r[0] for r in rows] == [0, 1, 2]


def test_memory_is_used_again_only_when_nobody_holds_it():
    slots = BatchAssembler(1)
    rows = [slots.put("x", 0, i, row(i)) for i in range(20)]
    assert [r[0] for r in rows] == list(range(20))
    where = rows[3].ctypes.data
    view = rows[3][10:20]
    del rows[3]
    assert not slots._spare.blocks
    del view
    assert len(slots._spare.blocks) == 1
    assert slots.put("x", 0, 99, row(99)).ctypes.data == where


def test_full_batches_are_let_go_and_those_that_stay_short_too():
    slots = BatchAssembler(4)
    for epoch in range(3):
        for i in range(10):  # the last batch of an epoch stays short
            slots.put("x", epoch, i, row(i))
    assert list(slots._open) == [("x", 2, 2)]
    for number in range(100, 200):
        slots.put("x", 2, 4 * number, row(0))
    assert len(slots._open) <= gather.MAX_OPEN_BATCHES


def test_memory_outlives_the_slots():
    slots = BatchAssembler(2)
    kept = slots.put("x", 0, 0, row(7))
    gone = weakref.ref(slots)
    del slots
    assert gone() is None
    assert kept.sum() == 35000


def test_many_threads_fill_one_batch():
    slots = BatchAssembler(64)
    rows: list[np.ndarray] = [np.empty(0)] * 256
    start = threading.Barrier(8)

    def work(first: int) -> None:
        start.wait()
        for i in range(first, 256, 8):
            rows[i] = slots.put("x", 0, i, row(i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for start_of in range(0, 256, 64):
        assert stack_rows(rows[start_of : start_of + 64])[:, 0].tolist() == list(
            range(start_of, start_of + 64)
        )


def batches(drop: bool = False) -> ds.Dataset:
    class Files:
        def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
            return np.frombuffer(JPEGS[index], np.uint8), index

        def __len__(self) -> int:
            return len(JPEGS)

    operations = [vision.RandomCropDecodeResize(64), vision.Normalize([1.0], [2.0]), vision.HWC2CHW()]
    return ds.GeneratorDataset(Files(), ["image", "label"]).map(operations, "image").batch(4, drop)


@pytest.mark.parametrize("drop", [False, True])
def test_batches_that_are_held_never_change(drop):
    """Fifteen epochs of batches, each kept with a copy made when it came."""
    ds.config.set_seed(3)
    held, copies = [], []
    iterator = batches(drop).create_dict_iterator(num_epochs=5, output_numpy=True)
    for _ in range(5):
        for batch in iterator:
            held.append(batch["image"])
            copies.append(batch["image"].copy())
    assert len(held) == 5 * (5 if drop else 6)
    for one, two in zip(held, copies, strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_batch_is_not_copied(monkeypatch):
    """Stacking finds every row in its place."""
    found: list[bool] = []

    def watched(rows):
        made = contiguous_view(rows)
        found.append(made is not None)
        return made

    monkeypatch.setattr("millrace._src.core.values.chunk.contiguous_view", watched)
    for batch in batches().create_dict_iterator(num_epochs=1, output_numpy=True):
        assert batch["image"].shape[1:] == (3, 64, 64)
    assert found
    assert all(found)
    assert gather.LEAST_BYTES <= 3 * 64 * 64 * 4


@pytest.mark.parametrize("given", [1, 3])
def test_a_wrong_number_of_columns_is_still_an_error(given):
    def several(x):
        return tuple(np.zeros(5000) for _ in range(given))

    data = ds.NumpySlicesDataset(np.arange(8), ["x"]).map(several, ["x"], ["a", "b"]).batch(4)
    with pytest.raises(PlanError, match=f"'map' operations: {given}, the number of 'output_columns': 2"):
        list(data.create_tuple_iterator(num_epochs=1))


def test_two_large_columns_of_one_function():
    def both(x):
        return np.full(5000, x), np.full((3, 2000), -x, np.float32)

    data = ds.NumpySlicesDataset(np.arange(8), ["x"], shuffle=False).map(both, ["x"], ["a", "b"]).batch(4)
    batches = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [b["a"][:, 0].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [b["b"][:, 0, 0].tolist() for b in batches] == [[0, -1, -2, -3], [-4, -5, -6, -7]]
    assert all(is_in_batch_buffer(b["a"]) for b in batches)


def test_memory_of_a_chunk_is_used_again_when_nobody_holds_a_row():
    passing = gather.ChunkBufferPool()
    rows = passing.array((100, 1000), np.dtype("f4"))
    address, kept = rows.ctypes.data, rows[7]
    kept[:] = 7
    del rows
    other = passing.array((100, 1000), np.dtype("f4"))
    other[:] = 1
    assert kept.tolist() == [7] * 1000  # somebody holds a row: its memory is left alone
    del kept
    again = passing.array((90, 1000), np.dtype("f4"))
    assert again.ctypes.data == address


@pytest.mark.parametrize("shape", [(4,), (100, 1 << 20)], ids=["small", "large"])
def test_memory_that_is_not_worth_it_is_not_kept(shape):
    passing = gather.ChunkBufferPool()
    passing.array(shape, np.dtype("u1"))
    assert not passing.blocks


def test_memory_of_chunks_stays_behind_when_it_is_pickled():
    passing = gather.ChunkBufferPool()
    passing.array((1 << 17,), np.dtype("u1"))
    assert passing.blocks
    assert not pickle.loads(pickle.dumps(passing)).blocks


def test_a_small_chunk_leaves_the_memory_of_large_ones():
    passing = gather.ChunkBufferPool()
    address = passing.array((1000, 1000), np.dtype("u1")).ctypes.data
    passing.array((100, 1000), np.dtype("u1"))[:] = 1
    assert passing.array((1000, 1000), np.dtype("u1")).ctypes.data == address
