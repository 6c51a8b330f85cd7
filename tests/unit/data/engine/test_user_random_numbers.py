"""Random numbers in the user's own functions: of the row, the epoch and the op, or from the seeded globals."""

import functools
import random

import numpy as np
import pytest

import millrace.dataset as ds
from millrace.dataset import transforms


class Noisy:
    def __len__(self):
        return 24

    def __getitem__(self, index, rng):
        return np.array([index, rng.integers(1 << 30)])


def add(x, rng):
    return np.append(x, rng.integers(1 << 30))


def some(x, *, rng):
    return rng.random() < 0.8


def batched(x, info, rng=None):
    return ([np.append(row, rng.integers(1 << 30)) for row in x],)


def pipeline():
    data = ds.GeneratorDataset(
        Noisy(), "x", shuffle=True, num_parallel_workers=2, python_multiprocessing=False
    )
    data = data.map([add, transforms.Compose([add, lambda x: x])]).filter(some)
    return data.batch(3, per_batch_map=batched)


def rows(data, epochs=2, **more):
    iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True, **more)
    return [row[0].tolist() for _ in range(iterator._run.epoch, epochs) for row in iterator]


def test_the_same_for_any_executor_workers_and_chunks(no_leaks):
    ds.config.set_seed(3)
    found = []
    for executor, chunk in (("inline", 1), ("threads", 7), ("processes", None), (None, None)):
        ds.config.set_executor(executor)
        ds.config.set_chunk_rows(chunk)
        found.append(rows(pipeline()))
    assert all(other == found[0] for other in found)
    numbers = [value for batch in found[0] for row in batch for value in row[1:4]]
    assert len(set(numbers)) == len(numbers), "rows, epochs or ops share their numbers"


def test_the_same_after_a_resume(no_leaks):
    ds.config.set_seed(3)
    whole = rows(pipeline())
    iterator = pipeline().create_tuple_iterator(num_epochs=2, output_numpy=True)
    for _ in range(3):
        next(iterator)
    assert rows(pipeline(), state=iterator.state()) == whole[3:]
    iterator.stop()


def test_a_function_that_makes_rows(no_leaks):
    def numbers(rng):
        for _ in range(4):
            yield rng.integers(1 << 30)

    ds.config.set_seed(3)
    data = ds.GeneratorDataset(numbers, "x")
    drawn = rows(data)
    assert len(set(drawn)) == 8
    assert rows(data) == drawn
    iterator = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    next(iterator)
    assert rows(data, state=iterator.state()) == drawn[1:]
    iterator.stop()


def test_row_i_by_number():
    ds.config.set_seed(3)
    data = ds.GeneratorDataset(Noisy(), "x", shuffle=True)
    assert [data[i].tolist() for i in range(24)] == rows(data, 1)


def test_a_name_that_is_the_users_own(no_leaks):
    data = ds.NumpySlicesDataset({"x": [1, 2], "rng": [10, 20]}, shuffle=False)
    both = data.map(lambda x, rng: x + rng, ["x", "rng"], ["sum"])
    assert rows(both, 1) == [11, 22]
    bound = ds.NumpySlicesDataset([1, 2], shuffle=False).map(functools.partial(lambda x, rng: x + rng, rng=5))
    assert rows(bound, 1) == [6, 7]


def draw(x):
    return np.array([random.random(), np.random.rand()])


@pytest.mark.parametrize("method", ["forkserver", "fork"])
def test_the_global_generators_of_one_worker_process(method, no_leaks):
    ds.config.set_multiprocessing_start_method(method)

    def run(seed):
        ds.config.set_seed(seed)
        data = ds.NumpySlicesDataset(list(range(6)), shuffle=False)
        return rows(data.map(draw, num_parallel_workers=1, python_multiprocessing=True), 1)

    first = run(11)
    assert run(11) == first
    assert run(12) != first
    assert len({tuple(row) for row in first}) == 6


def test_the_global_generators_of_this_process(no_leaks):
    def run():
        ds.config.set_seed(11)
        return rows(ds.NumpySlicesDataset(list(range(6)), shuffle=False).map(draw, num_parallel_workers=1), 1)

    assert run() == run()
