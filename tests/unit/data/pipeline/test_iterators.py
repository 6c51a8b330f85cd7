"""Iterators: epochs, leaving early, going on, and what they hand out."""

from __future__ import annotations

import json

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import PlanError
from millrace._src.core.values.tensor import Tensor

from .rows import abc, col, num


def values(iterator):
    return [row[0].item() for row in iterator]


def over_epochs(iterator, count):
    """As many rows as asked for, from as many epochs as that takes."""
    found = []
    while len(found) < count:
        for row in iterator:
            found.append(row[0].tolist())
            if len(found) == count:
                break
    return found


def test_each_for_is_an_epoch_and_a_half_used_one_goes_on():
    iterator = num(3).create_tuple_iterator(num_epochs=2)
    assert next(iterator)[0].item() == 0
    assert values(iterator) == [1, 2]
    assert values(iterator) == [0, 1, 2]
    with pytest.raises(PlanError, match="beyond the specified number of epochs"):
        iter(iterator)
    with pytest.raises(PlanError, match="has given all its epochs"):
        next(iterator)


def test_without_a_number_epochs_go_on():
    iterator = num(2).create_tuple_iterator()
    assert [values(iterator) for _ in range(4)] == [[0, 1]] * 4


def test_a_dataset_can_be_iterated_again_and_by_two_at_once():
    data = num(3)
    assert [row[0].item() for row in data] == [row[0].item() for row in data] == [0, 1, 2]
    one, two = iter(data), iter(data)
    assert [next(one)[0].item(), next(two)[0].item(), next(one)[0].item()] == [0, 0, 1]


def test_end_of_an_epoch_in_the_low_level_call():
    one = num(1).create_dict_iterator(num_epochs=1, output_numpy=True)
    two = num(1).create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert (one._get_next(), one._get_next()) == ({"a": np.array(0)}, {})
    assert (two._get_next(), two._get_next()) == ([np.array(0)], [])


def test_no_rows_are_said(caplog):
    with caplog.at_level("WARNING"):
        assert col(num(3).filter(lambda a: False)) == []
    assert "Got 0 sample from dataset pipeline" in caplog.text


@pytest.mark.parametrize("leave", ["stop", "release", "close"])
def test_a_stopped_iterator_says_so(leave):
    iterator = num(3).create_tuple_iterator()
    next(iterator)
    getattr(iterator, leave)()
    with pytest.raises(PlanError, match="does not have a running pipeline"):
        next(iterator)


def test_with_ends_the_run():
    with num(3).create_tuple_iterator() as iterator:
        next(iterator)
    with pytest.raises(PlanError, match="was stopped"):
        next(iterator)


def test_close_pool_ends_the_last_run():
    data = num(3)
    iterator = data.create_tuple_iterator()
    next(iterator)
    data.close_pool()
    with pytest.raises(PlanError, match="was stopped"):
        next(iterator)


def test_columns_asked_for_come_in_that_order():
    rows = list(abc(2).create_tuple_iterator(["c", "a"], num_epochs=1, output_numpy=True))
    assert [[value.item() for value in row] for row in rows] == [["t0", 0], ["t1", 1]]
    assert [row[0].item() for row in abc(2).create_tuple_iterator("b", num_epochs=1)] == [0.0, 10.0]
    with pytest.raises(PlanError, match="column name: q does not exist"):
        abc(2).create_tuple_iterator(["q"])


def test_values_are_tensors_or_arrays():
    row = next(abc(1).create_dict_iterator())
    assert {type(value) for value in row.values()} == {Tensor}
    row = next(abc(1).create_dict_iterator(output_numpy=True))
    assert {type(value) for value in row.values()} == {np.ndarray}
    assert [row["a"].shape, row["c"].dtype] == [(), np.dtype("<U2")]


def test_dicts_are_converted_inside():
    data = ds.GeneratorDataset([{"n": 1, "deep": {"x": np.arange(2)}, "raw": b"ab", "l": [1, "a"]}], ["d"])
    [row] = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert row["d"]["deep"]["x"].tolist() == [0, 1]
    assert (type(row["d"]["n"]), row["d"]["raw"], [v.item() for v in row["d"]["l"]]) == (
        np.ndarray,
        b"ab",
        [1, "a"],
    )
    [row] = data.create_dict_iterator(num_epochs=1)
    assert isinstance(row["d"]["deep"]["x"], Tensor)


@pytest.mark.parametrize("output", ["torch", "jax"])
def test_arrays_of_other_libraries(output):
    library = pytest.importorskip({"torch": "torch", "jax": "jax.numpy"}[output])
    row = next(abc(2).batch(2).create_dict_iterator(output=output))
    kind = {"torch": "Tensor", "jax": "ndarray"}[output]
    assert isinstance(row["a"], getattr(library, kind))
    assert row["a"].tolist() == [0, 1]
    assert row["c"].tolist() == ["t0", "t1"]


def test_a_copy_belongs_to_the_consumer():
    data = np.zeros(4)
    rows = ds.NumpySlicesDataset(data, ["a"], shuffle=False).create_dict_iterator(
        num_epochs=1, output_numpy=True, do_copy=True
    )
    for row in rows:
        row["a"] += 1
    assert data.tolist() == [0] * 4


@pytest.mark.parametrize("step", range(9))
def test_a_state_goes_on_with_the_next_row(step):
    ds.config.set_seed(3)
    data = num(8).shuffle(8).map(lambda x: x * 2).batch(3)
    whole = over_epochs(data.create_tuple_iterator(num_epochs=3), 9)
    first = data.create_tuple_iterator(num_epochs=3)
    taken = over_epochs(first, step)
    state = json.loads(json.dumps(first.state()))
    rest = over_epochs(data.create_tuple_iterator(num_epochs=3, state=state), 9 - step)
    assert taken + rest == whole


def test_a_state_of_another_pipeline_is_refused():
    iterator = num(4).create_tuple_iterator()
    next(iterator)
    with pytest.raises(ValueError, match=r"another pipeline|does not belong"):
        num(4).batch(2).create_tuple_iterator(state=iterator.state())


@pytest.mark.parametrize(("step", "first"), [(0, [0, 1, 2]), (2, [2]), (4, [1, 2])])
def test_init_step_skips_epochs_and_steps(step, first):
    data = num(3)
    data.set_init_step(step)
    iterator = data.create_tuple_iterator(num_epochs=3)
    assert values(iterator) == first
    assert values(iterator) == [0, 1, 2]
