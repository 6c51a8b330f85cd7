"""dataset[i] is row i of the first epoch; a dataset can be copied whatever has been done with it."""

import copy
import pickle

import numpy as np
import pytest

import millrace.dataset as ds


class Rows:
    def __init__(self):
        self.read = []

    def __len__(self):
        return 50

    def __getitem__(self, i):
        self.read.append(i)
        return np.array(10 * i)


def first_epoch(data):
    return [row[0].item() for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


SAMPLERS = {
    "shuffled": {"shuffle": True},
    "in order": {"shuffle": False},
    "shard": {"shuffle": True, "num_shards": 3, "shard_id": 1},
    "sampler": {"sampler": ds.WeightedRandomSampler([1.0] * 50, 20)},
}


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("arguments", SAMPLERS.values(), ids=SAMPLERS)
@pytest.mark.parametrize("ran_before", [False, True])
def test_row_i_of_the_first_epoch(seed, arguments, ran_before, no_leaks):
    if seed is not None:
        ds.config.set_seed(seed)
    data = ds.GeneratorDataset(Rows(), "x", **arguments)
    epoch = first_epoch(data) if ran_before else None
    asked = [data[i].item() for i in (0, 7, 16)]
    epoch = epoch or first_epoch(data)
    assert asked == [epoch[0], epoch[7], epoch[16]]
    assert [data[i].item() for i in range(len(epoch))] == epoch


def test_no_other_row_is_read():
    source = Rows()
    data = ds.GeneratorDataset(source, "x", shuffle=True)
    value = data[30].item()
    assert source.read == [value // 10]


def test_without_a_seed_later_runs_have_orders_of_their_own(no_leaks):
    data = ds.GeneratorDataset(Rows(), "x", shuffle=True)
    assert len({tuple(first_epoch(data)) for _ in range(3)}) == 3


def test_a_copy_after_iterating(no_leaks):
    ds.config.set_seed(3)
    data = ds.GeneratorDataset(Rows(), "x", shuffle=True).map(lambda x: x + 1)
    batched = data.batch(10)
    iterator = batched.create_tuple_iterator(num_epochs=1, output_numpy=True)
    first = next(iterator)[0].tolist()
    twin = copy.deepcopy(batched)
    assert twin is not batched
    assert next(twin.create_tuple_iterator(num_epochs=1, output_numpy=True))[0].tolist() == first
    iterator.stop()


def test_a_copy_goes_its_own_way(no_leaks):
    data = ds.NumpySlicesDataset(list(range(6)), shuffle=False)
    first_epoch(data)
    twin = copy.deepcopy(data)
    twin.use_sampler(ds.SequentialSampler(4))
    twin.set_init_step(1)
    assert first_epoch(twin) == [5]
    assert first_epoch(data) == [0, 1, 2, 3, 4, 5]


def test_a_pickle_after_iterating(no_leaks):
    data = ds.NumpySlicesDataset(list(range(6)), shuffle=False).batch(4)
    for _ in data:
        pass
    again = pickle.loads(pickle.dumps(data))
    assert [row[0].tolist() for row in again] == [[0, 1, 2, 3], [4, 5]]
