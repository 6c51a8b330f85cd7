"""A start at a later step: the rows before it are not made where a row's place tells its number."""

import numpy as np
import pytest

import millrace.dataset as ds

seen = []


def note(x):
    seen.append(int(x))
    return x


class Source:
    def __init__(self, rows=40):
        self.rows, self.read = rows, []

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        self.read.append(i)
        return np.array(i)


def pipelines(source):
    data = ds.GeneratorDataset(source, "x", shuffle=True)
    mapped = data.map(note)
    return {
        "map": mapped,
        "batch": mapped.batch(4),
        "shuffle": mapped.shuffle(10).batch(4, drop_remainder=True),
        "take": mapped.skip(3).take(30).batch(4),
        "repeat": mapped.repeat(3).batch(7),
        "batch then repeat": mapped.batch(4).repeat(3),
        "map after batch": data.batch(4).map(lambda x: [note(v) for v in x][-1] * 0 + x),
        "two batches": mapped.batch(2).batch(2),
        "repeat then map": data.repeat(2).map(note),
    }


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize("name", pipelines(Source()))
@pytest.mark.parametrize("later", [1, 5, 13])
def test_no_row_before_the_step_is_made(name, executor, later, no_leaks):
    ds.config.set_seed(3)
    ds.config.set_executor(executor)
    source = Source()
    data = pipelines(source)[name]
    size = data.get_dataset_size()

    def rows(epochs):
        iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
        return [np.ravel(row[0]).tolist() for _ in range(epochs) for row in iterator]

    whole = rows(2)
    for step in (later % size, size - 1, size + later % size):
        seen.clear()
        source.read.clear()
        data.set_init_step(step)
        begun = step // size
        iterator = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
        got = [np.ravel(row[0]).tolist() for _ in range(2 - begun) for row in iterator]
        assert got == whole[step:]
        # the pass of a repeat in which a batch begins may be another than the one in which it ends
        wanted = sum(map(len, got))
        assert wanted <= len(source.read) <= wanted + 8, "rows before the step were read"
        assert wanted <= len(seen) <= wanted + 8, "rows before the step were mapped"
        data.set_init_step(0)


def test_the_state_after_a_later_start(no_leaks):
    ds.config.set_seed(3)
    data = pipelines(Source())["batch then repeat"]
    whole = [row[0].tolist() for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    data.set_init_step(14)
    iterator = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    untouched = iterator.state()
    next(iterator)
    state = iterator.state()
    assert (state["epoch"], state["step"]) == (0, 15)
    data.set_init_step(0)
    for saved, at in ((untouched, 14), (state, 15)):
        again = data.create_tuple_iterator(num_epochs=1, output_numpy=True, state=saved)
        assert [row[0].tolist() for row in again] == whole[at:]
    iterator.stop()


def test_where_only_running_tells_rows_are_dropped(no_leaks):
    data = ds.NumpySlicesDataset(list(range(20)), shuffle=False).filter(lambda x: x % 2 == 1).map(note)
    data.set_init_step(3)
    seen.clear()
    assert [row[0].item() for row in data.create_tuple_iterator(num_epochs=1)] == [7, 9, 11, 13, 15, 17, 19]
