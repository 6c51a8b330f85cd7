"""Samplers that users write: a copy per iterator, asked once per epoch, and held to what they promise."""

import numpy as np
import pytest

import millrace.dataset as ds

told = []


class Turning(ds.Sampler):
    """Another order each time it is asked."""

    def __init__(self, num_samples=None):
        super().__init__(num_samples)
        self.turn = 0

    def __iter__(self):
        self.turn += 1
        told.append(self.turn)
        return iter([(self.turn + i) % 4 for i in range(4)])

    def reset(self):
        told.append("reset")


class Counted(Turning):
    def __len__(self):
        return 4


class Plain:
    """No sampler of ours, as PyTorch's."""

    def __init__(self, source=None):
        self.turn, self.source = 0, source

    def __iter__(self):
        self.turn += 1
        return iter([(self.turn + i) % 4 for i in range(4)])

    def __len__(self):
        return 4


class Rows:
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return np.array(i)

    def __deepcopy__(self, memo):
        raise AssertionError("the source is not to be copied")


FIRST, SECOND, THIRD, FOURTH = [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2], [0, 1, 2, 3]


@pytest.fixture(autouse=True)
def fresh():
    told.clear()


def epochs(data, count, **more):
    iterator = data.create_tuple_iterator(num_epochs=count, output_numpy=True, **more)
    return [[row[0].item() for row in iterator] for _ in range(count)]


@pytest.mark.parametrize("make", [Turning, Counted, Plain])
def test_a_copy_per_iterator_asked_once_per_epoch(make, no_leaks):
    sampler = make()
    data = ds.GeneratorDataset(Rows(), "x", sampler=sampler)
    assert data.get_dataset_size() == 4
    for _ in range(2):
        assert epochs(data, 3) == [FIRST, SECOND, THIRD]
    assert sampler.turn == 0


def test_reset_after_each_epoch_and_each_pass_of_a_repeat(no_leaks):
    data = ds.GeneratorDataset(Rows(), "x", sampler=Counted())
    epochs(data, 2)
    assert told == [1, "reset", 2, "reset"]
    told.clear()
    assert epochs(data.repeat(2), 2) == [FIRST + SECOND, THIRD + FOURTH]
    assert told == [1, "reset", 2, "reset", 3, "reset", 4, "reset"]


def test_one_without_a_length_is_not_asked_again_at_the_end(no_leaks):
    data = ds.GeneratorDataset(Rows(), "x", sampler=Turning())
    epochs(data, 2)
    assert told == [1, "reset", 2, "reset"]
    assert (data.get_dataset_size(), told) == (4, [1, "reset", 2, "reset"])


def test_counting_asks_a_copy_or_nobody():
    data = ds.GeneratorDataset(Rows(), "x", sampler=Counted())
    assert (data.get_dataset_size(), told) == (4, [])
    sampler = Turning()
    assert ds.GeneratorDataset(Rows(), "x", sampler=sampler).get_dataset_size() == 4
    assert sampler.turn == 0


def test_the_source_a_sampler_holds_is_not_copied(no_leaks):
    source = Rows()
    assert epochs(ds.GeneratorDataset(source, "x", sampler=Plain(source)), 2) == [FIRST, SECOND]


@pytest.mark.parametrize("save_at", [2, 4, 6])
def test_resumed_in_a_later_epoch(save_at, no_leaks):
    data = ds.GeneratorDataset(Rows(), "x", sampler=Turning())
    iterator = data.create_tuple_iterator(num_epochs=3, output_numpy=True)
    for _ in range(save_at):
        if iterator._next() is None:
            iterator._next()
    state = iterator.state()
    rest = [[row[0].item() for row in iterator] for _ in range(iterator._run.epoch, 3)]
    again = data.create_tuple_iterator(num_epochs=3, output_numpy=True, state=state)
    assert [[row[0].item() for row in again] for _ in range(again._run.epoch, 3)] == rest


def test_the_length_is_the_promise(no_leaks):
    class Short(ds.Sampler):
        def __iter__(self):
            return iter([0, 1])

        def __len__(self):
            return 4

    assert Short().num_samples == 4
    for sampler in (Short(), ds.IterSampler([0, 1], 4), Turning(9)):
        data = ds.GeneratorDataset(Rows(), "x", sampler=sampler)
        assert data.get_dataset_size() == sampler.num_samples
        with pytest.raises(RuntimeError, match=r"actual amount of data read from generator \d is different"):
            epochs(data, 1)


def test_a_length_known_only_after_the_base_class(no_leaks):
    class Late(ds.Sampler):
        def __init__(self):
            super().__init__()
            self.rows = [3, 1]

        def __iter__(self):
            return iter(self.rows)

        def __len__(self):
            return len(self.rows)

    data = ds.GeneratorDataset(Rows(), "x", sampler=Late())
    assert (data.get_dataset_size(), epochs(data, 1)) == (2, [[3, 1]])


def test_a_batch_sampler_too(no_leaks):
    class Batches(Turning):
        def __iter__(self):
            rows = list(super().__iter__())
            return iter([rows[:2], rows[2:]])

        def __len__(self):
            return 2

    sampler = Batches()
    data = ds.GeneratorDataset(Rows(), "x", batch_sampler=sampler)
    assert data.get_dataset_size() == 2
    for _ in range(2):
        told.clear()
        iterator = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
        got = [[row[0].tolist() for row in iterator] for _ in range(2)]
        assert got == [[FIRST[:2], FIRST[2:]], [SECOND[:2], SECOND[2:]]]
        assert told == [1, "reset", 2, "reset"]
    assert sampler.turn == 0
