"""dataset.epochs(n): a loop over epochs in one run, resumable; and what the other way of writing it says."""

import json
import warnings

import numpy as np
import pytest

import millrace.dataset as ds


def data():
    return ds.NumpySlicesDataset(list(range(20)), "x", shuffle=True).batch(3)


def plain(rows):
    return [row[0].tolist() for row in rows]


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    monkeypatch.setattr("millrace._src.core.log._warned_keys", set())
    ds.config.set_seed(3)


def test_each_epoch_has_its_own_order(no_leaks):
    got = [plain(rows) for rows in data().epochs(3, output_numpy=True)]
    iterator = data().create_tuple_iterator(num_epochs=3, output_numpy=True)
    assert got == [plain(iterator) for _ in range(3)]
    assert len({str(epoch) for epoch in got}) == 3


def test_rows_as_dicts_and_kinds(no_leaks):
    for rows in data().epochs(1, as_dict=True, output_numpy=True):
        assert all(isinstance(row["x"], np.ndarray) for row in rows)


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_an_epoch_left_early_is_over(executor, no_leaks):
    ds.config.set_executor(executor)
    whole = [plain(rows) for rows in data().epochs(3, output_numpy=True)]
    got = []
    for rows in data().epochs(3, output_numpy=True):
        got.append(next(rows)[0].tolist())
        if rows.number == 0:
            continue
        got += [row[0].tolist() for _, row in zip(range(2), rows, strict=False)]
    assert got == [whole[0][0], *whole[1][:3], *whole[2][:3]]


@pytest.mark.parametrize("stop", [(0, 2), (1, 0), (1, 7), (2, 3)])
def test_resumed_anywhere(stop, no_leaks):
    whole = [plain(rows) for rows in data().epochs(3, output_numpy=True)]
    epochs = data().epochs(3, output_numpy=True)
    for rows in epochs:
        if rows.number == stop[0]:
            for _ in range(stop[1]):
                next(rows)
            break
        for _ in rows:
            pass
    state = json.loads(json.dumps(epochs.state()))
    epochs.stop()
    got = {rows.number: plain(rows) for rows in data().epochs(3, output_numpy=True, state=state)}
    wanted = {number: rows for number, rows in enumerate(whole) if number >= stop[0]}
    wanted[stop[0]] = wanted[stop[0]][stop[1] :]
    assert got == wanted


def for_each_epoch(rows):
    for _ in range(3):
        for _ in rows:
            pass


def test_an_iterator_made_anew_for_each_epoch_is_warned_of_once(no_leaks):
    rows = data()
    with pytest.warns(
        UserWarning, match=r"test_epochs\.py:\d+ creates a new iterator.*dataset\.epochs\(n\)"
    ) as said:
        for_each_epoch(rows)
    assert len(said) == 1


def test_no_warning_where_nothing_repeats(no_leaks):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_order = ds.NumpySlicesDataset([1, 2, 3], shuffle=False)
        shuffled = data()
        for _ in range(3):
            for _ in in_order:
                pass
        next(shuffled.create_tuple_iterator(num_epochs=1))  # a look, not an epoch
        next(shuffled.create_tuple_iterator(num_epochs=1))
        ds.config.set_seed(5489)
        for _ in range(3):
            for _ in shuffled:
                pass
