"""What a user's code hands over belongs to the engine from then on, whatever the user does with it afterwards."""

from pathlib import Path

import numpy as np
import pytest

import millrace
import millrace.dataset as ds
import millrace.dataset.transforms as transforms
from millrace._src.core import settings
from millrace._src.data.transforms.base import Transform

ROWS = 50


def numbers(rows=ROWS):
    return ds.NumpySlicesDataset({"x": np.arange(rows, dtype=np.float32)}, shuffle=False)


class Refills:
    """One buffer, filled anew for every row."""

    def __init__(self, size=3):
        self.buffer = np.zeros(size, np.float32)

    def __call__(self, x):
        self.buffer[:] = x
        return self.buffer


class View(Refills):
    def __call__(self, x):
        return super().__call__(x)[1:]


class Twice(Refills):
    def __call__(self, x):
        made = super().__call__(x)
        return made, made


class Held:
    """An array in the clothes of another library."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


class AsTensor(Refills):
    def __call__(self, x):
        return Held(super().__call__(x))


class AsTransform(Transform):
    def __init__(self):
        self.function = Refills()

    def row(self, x):
        return self.function(x)


def rows_of(data, name="x"):
    return [row[name].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


WANTED = [[float(i)] * 3 for i in range(ROWS)]


@pytest.mark.parametrize("chunk_rows", [1, 7, None])
@pytest.mark.parametrize(
    "operations",
    [
        lambda: [Refills()],
        lambda: [Refills(), lambda x: x],
        lambda: [transforms.TypeCast(np.float32), Refills()],
        lambda: [transforms.Compose([Refills()])],
        lambda: [AsTransform()],
        lambda: [AsTensor()],
        lambda: [lambda x: x, Refills()],
        lambda: [Refills(), transforms.RandomApply([transforms.TypeCast(np.float32)], prob=0.5)],
    ],
    ids=[
        "alone",
        "then as it is",
        "last",
        "inside",
        "a transform",
        "a tensor",
        "after another",
        "ours passes it on",
    ],
)
def test_a_buffer_that_is_filled_anew(operations, chunk_rows):
    with settings.override(chunk_rows=chunk_rows):
        assert rows_of(numbers().map(operations(), "x", num_parallel_workers=1)) == WANTED


def test_a_view_of_it_and_the_same_one_twice():
    assert rows_of(numbers().map(View(), "x", num_parallel_workers=1)) == [
        [float(i)] * 2 for i in range(ROWS)
    ]
    two = numbers().map(Twice(), ["x"], ["x", "y"], num_parallel_workers=1)
    assert rows_of(two) == rows_of(two, "y") == WANTED


@pytest.mark.parametrize("size", [3, 9000], ids=["small", "written into the batch"])
def test_in_batches(size):
    data = numbers().map(Refills(size), "x", num_parallel_workers=1).batch(8)
    for b, row in enumerate(data.create_dict_iterator(num_epochs=1, output_numpy=True)):
        assert row["x"][:, -1].tolist() == list(range(8 * b, min(ROWS, 8 * b + 8)))


def test_rows_that_change_their_shape():
    buffer = np.zeros(10, np.float32)

    def ragged(x):
        buffer[:] = x
        return buffer[: 1 + int(x) % 4]

    got = rows_of(numbers().map(ragged, "x", num_parallel_workers=1))
    assert got == [[float(i)] * (1 + i % 4) for i in range(ROWS)]


def test_a_source_that_refills_a_buffer_of_changing_shape():
    buffer = np.zeros(10, np.float32)

    def rows():
        for i in range(ROWS):
            buffer[:] = i
            yield (buffer[: 1 + i % 4],)

    class Items:
        def __getitem__(self, i):
            buffer[:] = i
            return (buffer[: 1 + i % 4],)

        def __len__(self):
            return ROWS

    wanted = [[float(i)] * (1 + i % 4) for i in range(ROWS)]
    assert rows_of(ds.GeneratorDataset(rows, ["x"])) == wanted
    assert rows_of(ds.GeneratorDataset(Items(), ["x"], shuffle=False)) == wanted


def test_a_function_that_gives_its_argument_back_is_not_copied():
    seen = []

    def same(x):
        seen.append(x)
        return x

    data = numbers().map(same, "x", num_parallel_workers=1)
    rows = [row["x"] for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert all(np.shares_memory(a, b) for a, b in zip(seen, rows, strict=True))


def test_nothing_counts_references():
    source = Path(millrace.__file__).parent
    assert [path for path in source.rglob("*.py") if "getrefcount" in path.read_text()] == []
