"""map, filter, flat_map and their like: columns, laziness, errors that say where."""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError, PlanError

from .rows import abc, col, epochs, num, stream


def test_nothing_runs_before_the_first_row():
    def refuse(*values):
        raise AssertionError("this must not run")

    data = num(3).map(refuse).filter(refuse).flat_map(refuse).batch(2, per_batch_map=refuse).repeat(2)
    data = data.zip(num(2).rename("a", "b")).concat(num(1).map(refuse))
    assert isinstance(data.create_tuple_iterator(num_epochs=1), object)


@pytest.mark.parametrize(
    ("columns", "result"),
    [
        ((["a"], ["x"]), ["x", "b", "c"]),
        ((["b", "a"], ["p", "q"]), ["q", "p", "c"]),
        ((["a"], ["p", "q"]), ["p", "q", "b", "c"]),
        ((["a", "c"], ["z"]), ["z", "b"]),
        ((["a"], ["c"]), ["c", "b"]),
        ((None, None), ["a", "b", "c"]),
    ],
)
def test_column_order_after_a_map_is_known_before_it_runs(columns, result):
    inputs, outputs = columns

    def work(*values):
        made = (values * 2)[: len(outputs or ["a"])]
        return made if len(made) > 1 else made[0]

    data = abc(2).map(work, inputs, outputs)
    assert data.get_col_names() == result
    assert list(next(data.create_dict_iterator())) == result


def test_a_function_may_change_what_it_gets():
    array = np.zeros((3, 2))
    data = ds.NumpySlicesDataset(array, ["a"], shuffle=False).map(lambda x: x.__iadd__(1))
    assert epochs(data, 2) == [[[1, 1]] * 3] * 2
    assert array.sum() == 0


def test_a_function_may_return_one_buffer_again_and_again():
    buffer = np.zeros(2)

    def fill(x):
        buffer[:] = x
        return buffer

    assert col(num(4).map(fill)) == [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_objects_travel_between_maps_but_not_into_batches():
    class Box:
        def __init__(self, value):
            self.value = value

    boxed = num(3).map(lambda x: Box(int(x)))
    assert col(boxed.map(lambda box: box.value * 2)) == [0, 2, 4]
    with pytest.raises(DataError, match="holds a Box, which cannot be stacked"):
        list(boxed.batch(3))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: num(5).map(lambda x: 1 // int(x - 3)), ["map(<lambda>)", "row: 3", "column: a"]),
        (lambda: num(5).filter(lambda a: 1 // int(a - 3)), ["filter(<lambda>)", "row: 3", "column: a"]),
        (
            lambda: num(5).batch(2, per_batch_map=lambda a, info: [1 // int(v - 3) for v in a]),
            ["per_batch_map", "column: a"],
        ),
        (lambda: num(5).flat_map(lambda a: num(1 + 0 // int(a - 3))), ["flat_map", "row: 3", "column: a"]),
        (lambda: stream(1 // (n - 3) for n in range(5)), ["GeneratorDataset", "row: 3", "column: a"]),
    ],
)
def test_an_error_names_op_row_column_and_the_users_line(build, words):
    with pytest.raises(DataError) as caught:
        list(build())
    text = str(caught.value)
    assert [word for word in [*words, "ZeroDivisionError", "test_row_ops.py"] if word not in text] == []


def test_rows_before_the_failing_one_are_delivered():
    rows = iter(num(5).map(lambda x: 1 // int(x - 3)))
    assert [next(rows)[0].item() for _ in range(3)] == [-1, -1, -1]
    with pytest.raises(DataError):
        next(rows)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda d: d.map(abs, ["q"]), "input column name: q doesn't exist"),
        (lambda d: d.filter(abs, ["q"]), "column name: q does not exist"),
        (lambda d: d.project(["q"]), "column name: q does not exist"),
        (lambda d: d.rename("q", "z"), "column to be renamed does not exist"),
        (lambda d: d.rename("a", "b"), "already exist column name, existing column name is: b"),
        (lambda d: d.batch(2, per_batch_map=lambda q, i: q, input_columns=["q"]), "'q' of 'input_columns'"),
        (lambda d: d.padded_batch(2, pad_info={"q": None}), "pad_info, column name: q does not exist"),
        (lambda d: d.bucket_batch_by_length(["q"], [1], [1, 1]), "column name: q doesn't exist"),
        (lambda d: d.zip(num(1)), "duplicate column a"),
        (lambda d: d + num(1), "'column name' or 'column order' of concat datasets"),
    ],
)
def test_an_unknown_column_is_found_before_any_row_is_read(build, words):
    def refuse(a):
        raise AssertionError("a row was read")

    with pytest.raises(PlanError, match=words):
        build(abc(2).map(refuse)).create_dict_iterator()


def test_flat_map_gets_one_argument_per_column_and_may_give_nothing():
    data = (
        abc(4)
        .project(["a", "b"])
        .flat_map(
            lambda a, b: (
                ds.NumpySlicesDataset({"z": [b.item()] * a.item()}, shuffle=False)
                if a
                else num(1).skip(1).rename("a", "z")
            )
        )
    )
    assert col(data, "z") == [10.0, 20.0, 20.0, 30.0, 30.0, 30.0]
    assert (data.get_dataset_size(), data.get_col_names()) == (6, ["z"])


def test_flat_map_reads_files_of_lines(tmp_path):
    for name, lines in {"one": "a\nb\n", "two": "c\n"}.items():
        (tmp_path / name).write_text(lines)
    names = ds.NumpySlicesDataset([str(tmp_path / name) for name in ("one", "two")], ["file"], shuffle=False)

    def lines(file):
        with open(str(file)) as opened:
            return ds.GeneratorDataset(opened.read().split(), ["line"], shuffle=False)

    assert col(names.flat_map(lines).batch(2), "line") == [["a", "b"], ["c"]]


def test_flat_map_must_return_a_dataset():
    data = num(2).flat_map(lambda a: [1])
    with pytest.raises(TypeError, match="flat_map must return a Dataset object"):
        list(data)


def test_apply():
    assert col(num(4).apply(lambda data: data.batch(2))) == [[0, 1], [2, 3]]
    with pytest.raises(ArgumentTypeError, match="apply_func must return a dataset"):
        num(4).apply(lambda data: 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: num().map(lambda x: x, callbacks=(ds.DSCallback(),)),
            TypeError,
            r"callbacks .*\[<class 'list'>",
        ),
        (lambda: num().map(lambda x: x, cache="c"), TypeError, "not of type .*DatasetCache"),
        (lambda: num().map(lambda x: x, column_order=["a"]), ArgumentValueError, "project"),
        (lambda: num().use_sampler(None), TypeError, "can not be None"),
        (lambda: num().batch(2).use_sampler(ds.SequentialSampler()), PlanError, "source or a concatenation"),
        (lambda: ds.Dataset(), TypeError, "GeneratorDataset"),
    ],
)
def test_wrong_calls(call, error, words):
    with pytest.raises(error, match=words):
        call()
