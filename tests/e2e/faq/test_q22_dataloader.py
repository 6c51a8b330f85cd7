"""Q22: what is the API corresponding to DataLoader? GeneratorDataset, which takes any user-defined dataset."""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset as ds


class MapStyle:
    """Any object with ``__getitem__`` and ``__len__``."""

    def __getitem__(self, index):
        return np.float32(index), np.float32(index**2)

    def __len__(self):
        return 7


class IterableStyle:
    def __iter__(self):
        return ((np.float32(i), np.float32(i**2)) for i in range(7))


class IteratorStyle:
    """``__next__``, and its own ``__iter__`` that starts again."""

    def __init__(self):
        self.at = -1

    def __iter__(self):
        self.at = -1
        return self

    def __next__(self):
        self.at += 1
        if self.at >= 7:
            raise StopIteration
        return np.float32(self.at), np.float32(self.at**2)


def function():
    for i in range(7):
        yield np.float32(i), np.float32(i**2)


def rows(data: ds.Dataset) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


WANTED = [(float(i), float(i * i)) for i in range(7)]
SOURCES = {
    "__getitem__ and __len__": MapStyle,
    "__iter__": IterableStyle,
    "__next__": IteratorStyle,
    "function that yields": lambda: function,
    "function that returns an iterator": lambda: lambda: iter(list(function())),
    "list": lambda: list(function()),
    "tuple": lambda: tuple(function()),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
@pytest.mark.filterwarnings("ignore:.*given an iterator")
def test_any_object(make) -> None:
    data = ds.GeneratorDataset(make(), ["x", "y"], shuffle=False)
    assert rows(data) == WANTED
    assert rows(data) == WANTED  # and again
    assert [len(batch[0]) for batch in data.batch(3)] == [3, 3, 1]


def test_own_iterator_starts_again_for_each_epoch() -> None:
    """``__iter__`` of the user's own class is called for every epoch, and may give other values in each."""

    class Epochs(IteratorStyle):
        epoch = 0

        def __iter__(self):
            self.epoch += 1
            return super().__iter__()

        def __next__(self):
            x, y = super().__next__()
            return x + 100 * self.epoch, y

    data = ds.GeneratorDataset(Epochs(), ["x", "y"])
    iterator = data.create_tuple_iterator(num_epochs=3, output_numpy=True)
    firsts = [[float(x) for x, _ in iterator] for _ in range(3)]
    assert [len(epoch) for epoch in firsts] == [7, 7, 7]
    assert firsts[0][0] < firsts[1][0] < firsts[2][0]


def test_options_of_dataloader() -> None:
    """batch_size, shuffle, num_workers, drop_last as they are called here."""
    ds.config.set_seed(1)
    data = ds.GeneratorDataset(
        MapStyle(), ["x", "y"], shuffle=True, num_parallel_workers=2, python_multiprocessing=True
    )
    batches = list(data.batch(2, drop_remainder=True).create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert [x.shape for x, _ in batches] == [(2,)] * 3
    assert all(np.array_equal(x**2, y) for x, y in batches)


@pytest.mark.parametrize(
    "sampler", [[5, 1, 3], iter([5, 1, 3]), np.array([5, 1, 3])], ids=["list", "iterator", "array"]
)
def test_samplers_of_indices(sampler) -> None:
    assert [x for x, _ in rows(ds.GeneratorDataset(MapStyle(), ["x", "y"], sampler=sampler))] == [5, 1, 3]


def test_batch_sampler_and_collate_fn_per_column_and_per_row() -> None:
    def by_column(x, y):
        return np.stack(x), np.stack(y) * 10

    def by_row(samples):
        """As torch passes them: a list of rows."""
        return np.stack([x for x, _ in samples]), np.stack([y for _, y in samples]) * 10

    for collate in (by_column, by_row):
        data = ds.GeneratorDataset(
            MapStyle(), ["x", "y"], batch_sampler=[[0, 2], [6, 1, 3]], collate_fn=collate
        )
        got = [
            (x.tolist(), y.tolist()) for x, y in data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        ]
        assert got == [([0, 2], [0, 40]), ([6, 1, 3], [360, 10, 90])]


def torch_dataset():
    torch = pytest.importorskip("torch")

    class Data(torch.utils.data.Dataset):
        def __getitem__(self, index):
            return torch.full((2,), float(index)), index

        def __len__(self):
            return 7

    return torch, Data()


@pytest.mark.torch
def test_torch_dataset_and_samplers() -> None:
    torch, source = torch_dataset()
    samplers = torch.utils.data
    data = ds.GeneratorDataset(source, ["x", "y"], shuffle=False).batch(7)
    [(x, y)] = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert x.dtype == np.float32
    assert x[:, 0].tolist() == y.tolist() == list(range(7))
    for sampler in (
        samplers.SequentialSampler(source),
        samplers.RandomSampler(source),
        samplers.SubsetRandomSampler([1, 4]),
    ):
        got = sorted(int(y) for _, y in ds.GeneratorDataset(source, ["x", "y"], sampler=sampler))
        assert got == ([1, 4] if isinstance(sampler, samplers.SubsetRandomSampler) else list(range(7)))


@pytest.mark.torch
def test_torch_batch_sampler_and_default_collate() -> None:
    torch, source = torch_dataset()
    batches = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(source), 3, drop_last=False)
    data = ds.GeneratorDataset(
        source, ["x", "y"], batch_sampler=batches, collate_fn=torch.utils.data.default_collate
    )
    got = [y.tolist() for _, y in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert got == [[0, 1, 2], [3, 4, 5], [6]]


@pytest.mark.torch
def test_one_torch_tensor_is_one_column() -> None:
    torch, _ = torch_dataset()
    data = ds.GeneratorDataset([torch.zeros(3), torch.ones(3)], ["x"], shuffle=False).batch(2)
    [(x,)] = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert x.tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.torch
def test_batches_as_torch_tensors() -> None:
    torch, source = torch_dataset()
    data = ds.GeneratorDataset(source, ["x", "y"], shuffle=False).batch(4)
    x, y = next(data.create_tuple_iterator(num_epochs=1, output="torch"))
    assert isinstance(x, torch.Tensor)
    assert y.tolist() == [0, 1, 2, 3]


def test_something_else_is_an_error_that_says_what_is_needed() -> None:
    with pytest.raises(TypeError, match=r"callable, iterable or random accessible"):
        ds.GeneratorDataset(5, ["x"])
