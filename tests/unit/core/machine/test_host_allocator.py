"""Memory that is lent: never handed out again while anybody reads it."""

from __future__ import annotations

import gc
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core.machine.host_allocator import ALIGN, HostAllocator
from millrace._src.core.settings import override

SIZES = (40, 1000, 70_000)


class Watched(HostAllocator):
    """Counts what it makes, and what it is asked to copy."""

    def __init__(self, takes=True):
        super().__init__()
        self.makes, self.taking = 0, takes

    def make(self, size):
        self.makes += 1
        return super().make(size)

    def accepts(self, array):
        return self.taking or "Buffer" in type(getattr(array.base, "base", None)).__name__


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["lend", "view", "reshape", "drop", "drop", "torch"]),
            st.integers(0, 7),
            st.sampled_from(SIZES),
        ),
        max_size=60,
    )
)
def test_what_somebody_holds_keeps_its_values(steps):
    """Arrays, views and tensors over them are held and dropped in any order; each keeps what was written."""
    torch = pytest.importorskip("torch")
    lender = Watched()
    held: list[tuple[object, int]] = []
    for number, (what, which, size) in enumerate(steps):
        if what == "lend":
            array = lender.array((size // 4,), np.dtype("i4"))
            array[...] = number
            held.append((array, number))
            del array
        elif held:
            value, mark = held[which % len(held)]
            if what == "drop":
                del held[which % len(held)]
            elif what == "view":
                held.append((value[len(value) // 2 :], mark))
            elif what == "reshape":
                held.append((value[: len(value) // 2 * 2].reshape(2, -1).reshape(-1), mark))
            elif isinstance(value, np.ndarray):
                held.append((torch.from_numpy(value), mark))
            del value
        for value, mark in held:
            assert bool((value == mark).all())
    value = None
    held.clear()
    assert lender.blocks_in_use == 0


def test_memory_comes_back_and_is_used_again():
    lender = Watched()
    for _ in range(20):
        array = lender.array((1000,), np.dtype("f8"))
        assert array.ctypes.data % ALIGN == 0
        del array
    assert lender.makes == 1


def test_from_many_threads():
    lender, wrong = Watched(), []

    def work(mark):
        for k in range(200):
            array = lender.array((64,), np.dtype("i8"))
            array[...] = mark * 1000 + k
            if (array != mark * 1000 + k).any():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert lender.blocks_in_use == 0


def test_another_process_gets_plain_memory():
    assert type(pickle.loads(pickle.dumps(Watched()))) is HostAllocator


def images(size):
    pictures = np.arange(24 * size * size * 3, dtype=np.uint32).astype(np.uint8).reshape(24, size, size, 3)
    return ds.NumpySlicesDataset({"image": pictures, "label": np.arange(24)}, shuffle=False)


def plus_one(x):
    return x + 1


def batch_plus_one(x, info):
    return (np.stack(x) + 1,)


PROCESSES = {"python_multiprocessing": True, "num_parallel_workers": 2}
PIPELINES = {
    "large rows": lambda: images(80).map(plus_one, "image").batch(4),
    "small rows": lambda: images(8).map(plus_one, "image").batch(4),
    "as they are": lambda: images(8).batch(4),
    "padded": lambda: images(8).map(plus_one, "image").padded_batch(4, pad_info={"image": ([9, 8, 3], 7)}),
    "a function": lambda: images(8).batch(4, per_batch_map=batch_plus_one, input_columns=["image"]),
    "buckets": lambda: images(8).bucket_batch_by_length(["image"], [4], [4, 4], len, None, False),
    "dicts": lambda: images(8).map(lambda x: {"a": x}, "image").batch(4),
    "worker processes": lambda: images(80).map(plus_one, "image", **PROCESSES).batch(4),
}


def values(value):
    return {k: values(v) for k, v in value.items()} if isinstance(value, dict) else value.tolist()


CELLS = [
    pytest.param(name, takes, marks=pytest.mark.nightly if name == "worker processes" and takes else ())
    for name in PIPELINES
    for takes in (True, False)
]


@pytest.mark.parametrize(("name", "takes"), CELLS)
def test_batches_are_the_same_in_lent_memory_and_keep_their_values_while_held(name, takes, no_leaks):
    plain = [
        {k: values(v) for k, v in row.items()}
        for row in PIPELINES[name]().create_dict_iterator(num_epochs=2, output_numpy=True)
    ]
    lender, kept = Watched(takes), []
    with override(allocator=lender):
        rows = PIPELINES[name]().create_dict_iterator(num_epochs=2, output_numpy=True, do_copy=False)
    for number, row in enumerate(rows):
        if number % 3 != 1:  # some are let go, and their memory holds others
            kept.append((number, row))
        for at, held in kept:
            assert {k: values(v) for k, v in held.items()} == plain[at]
    if not takes and name != "worker processes":
        assert "Buffer" in type(kept[0][1]["label"].base.base).__name__
    rows.stop()
    del rows, row, kept, held
    gc.collect()
    assert lender.blocks_in_use == 0
