"""What a dataset answers about itself, and how much it runs to find out."""

from __future__ import annotations

import json

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError

from .rows import abc, col, epochs, num, stream


class Calls:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.count = function, 0

    def __call__(self, *values):
        self.count += 1
        return self.function(*values)


@pytest.mark.parametrize(
    ("build", "size"),
    [
        (lambda d: d, 7),
        (lambda d: d.batch(2), 4),
        (lambda d: d.batch(2, drop_remainder=True), 3),
        (lambda d: d.repeat(3).take(10).skip(4), 6),
        (lambda d: d.shuffle(3).repeat(), 7),
        (lambda d: ds.zip((d, num(3).rename("a", "b"))), 3),
        (lambda d: d + num(2), 9),
    ],
)
def test_a_size_that_can_be_known_is_known_without_running(build, size):
    seen = Calls(lambda x: x)
    data = build(num(7).map(seen))
    assert data.get_dataset_size() == len(data) == size
    assert seen.count == 0


def test_a_filter_is_counted_once_and_not_again_after_a_pass():
    keep = Calls(lambda a: a > 2)
    data = num(6).filter(keep)
    assert (len(data), len(data), keep.count) == (3, 3, 6)
    keep = Calls(lambda a: a > 2)
    data = num(6).filter(keep)
    assert col(data) == [3, 4, 5]
    assert (len(data), keep.count) == (3, 6)


def test_half_an_epoch_does_not_count():
    data = num(6).filter(lambda a: a > 1)
    iterator = data.create_dict_iterator(num_epochs=2)
    next(iterator), next(iterator)
    again = data.create_dict_iterator(num_epochs=1, state=iterator.state())
    assert len(list(again)) == 2
    assert len(data) == 4


def test_another_sampler_means_another_size_and_other_shapes():
    data = ds.GeneratorDataset([np.zeros(2), np.zeros(3)], "a", shuffle=False)
    assert (len(data), data.output_shapes()) == (2, [[2]])
    data.use_sampler(ds.SubsetSampler([1]))
    assert (len(data), data.output_shapes()) == (1, [[3]])


def test_asking_does_not_disturb_gates_and_callbacks():
    class Count(ds.DSCallback):
        rows = 0

        def ds_step_begin(self, ds_run_context):
            Count.rows += 1

    data = num(4).map(lambda x: x, callbacks=Count()).sync_wait("go").filter(lambda a: a > 0)
    assert (len(data), data.output_types(), Count.rows) == (3, [np.dtype(np.int64)], 0)


def test_truth_is_no_count():
    keep = Calls(lambda a: False)
    assert num(3).filter(keep)
    assert keep.count == 0


def test_shapes_and_types():
    data = abc(5).batch(2)
    assert data.get_col_names() == ["a", "b", "c"]
    assert data.output_shapes() == [[2], [2], [2]]
    assert data.output_types() == [np.dtype(np.int64), np.dtype(np.float64), np.dtype("U")]
    assert data.output_shapes(estimate=True) == [[None], [None], [None]]
    empty = num(3).skip(3)
    assert (empty.output_shapes(), empty.output_types(), empty.get_col_names()) == ([], [], ["a"])


def test_shapes_of_different_rank_are_no_shape():
    data = ds.GeneratorDataset([np.zeros(2), np.zeros((2, 2))], "a", shuffle=False)
    with pytest.raises(ArgumentValueError, match="different ranks"):
        data.output_shapes(estimate=True)


def test_dynamic_columns():
    data = ds.GeneratorDataset([(np.zeros(2), 1), (np.zeros(5), 2)], ["x", "y"], shuffle=False)
    assert data.dynamic_min_max_shapes() == ([[2], []], [[5], []])
    data.set_dynamic_columns({"x": [None]})
    assert data.output_shapes() == [[None], []]
    with pytest.raises(ArgumentValueError, match="'z' is not in the dataset"):
        data.set_dynamic_columns({"z": [None]})
    with pytest.raises(ArgumentValueError, match="should not be empty"):
        data.set_dynamic_columns({})
    with pytest.raises(ArgumentTypeError, match="columns"):
        data.set_dynamic_columns()


def test_what_is_set_below_is_seen_above():
    source = num(4)
    source.input_indexs = 1
    source.set_init_step(2)
    data = source.map(lambda x: x).batch(1)
    assert (data.input_indexs, data.get_init_step()) == (1, 2)
    assert (data.zip(num(4).rename("a", "b")).input_indexs, num(1).input_indexs) == (1, ())
    assert epochs(data, 2) == [[[2], [3]], [[0], [1], [2], [3]]]


@pytest.mark.parametrize(
    ("build", "batch", "repeat"),
    [
        (lambda d: d, 1, 1),
        (lambda d: d.batch(3).map(lambda x: x).repeat(2), 3, 2),
        (lambda d: d.batch(lambda info: 2).repeat(), -1, -1),
        (lambda d: d.repeat(2).repeat(3).batch(2).batch(4), 4, 3),
    ],
)
def test_batch_size_and_repeat_count_are_those_of_the_topmost_op(build, batch, repeat):
    data = build(num(6))
    assert (data.get_batch_size(), data.get_repeat_count()) == (batch, repeat)


def test_explain_names_ops_columns_rows_and_the_users_line():
    text = num(10).map(abs).batch(4).explain("as written")
    assert [
        word for word in ("Batch(batch_size=4", "Map(", "abs", "3 batches", "10 rows") if word not in text
    ] == []
    assert "test_metadata.py:" in text
    with pytest.raises(RuntimeError, match="there is no pass 'x'; the passes are"):
        num(1).explain("x")


def test_repr_says_what_it_is():
    assert repr(num(3)).startswith("<NumpySlicesDataset: 3 rows · a: int64[]")
    assert repr(num(3).batch(2)).startswith("<Batch: 2 batches · a: int64[?]")


def test_report_needs_a_run():
    data = num(8).batch(2)
    with pytest.raises(ArgumentValueError, match="nothing has run yet"):
        data.report()
    assert len(col(data)) == 4
    assert data.report().delivered == 4


def test_skipped_rows_are_listed_and_counted():
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
    data = num(5).map(lambda x: 6 // int(x - 2))
    assert (len(data), col(data), len(data)) == (5, [-3, -6, 6, 3], 4)
    [entry] = data.skipped()
    assert (entry.row, entry.column, entry.action) == (2, "a", "skip")
    assert "ZeroDivisionError" in entry.reason


def test_json_and_back(tmp_path):
    data = (
        ds.RandomDataset(total_rows=9).shuffle(4).project(["c0"]).rename("c0", "x").skip(1).take(7).batch(2)
    )
    data = data.repeat(2).zip(ds.RandomDataset(total_rows=8).project("c1")) + ds.RandomDataset(4).rename(
        ["c0", "c1"], ["x", "c1"]
    )
    saved = ds.serialize(data, str(tmp_path / "plan.json"))
    assert json.loads((tmp_path / "plan.json").read_text()) == saved
    again = ds.deserialize(json_filepath=str(tmp_path / "plan.json"))
    assert ds.compare(data, again)
    assert len(again) == len(data) == 12
    assert not ds.compare(data, data.repeat(2))


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        ({"op_type": "GeneratorDataset", "children": []}, "unsupported operation type: GeneratorDataset"),
        ({"op_type": "Batch", "children": []}, "unsupported operation type: Batch"),
        ({}, "unsupported operation type"),
    ],
)
def test_what_cannot_be_rebuilt_says_so(saved, words):
    with pytest.raises(RuntimeError, match=words):
        ds.deserialize(saved)


@pytest.mark.parametrize("text", ["no json", "[1]"])
def test_a_file_that_holds_no_pipeline(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(RuntimeError, match=r"x\.json"):
        ds.deserialize(json_filepath=str(tmp_path / "x.json"))


def test_streams_are_counted_by_running():
    assert len(stream(range(5)).batch(2)) == 3


def test_explain_counts_batches_and_shows_itself_in_notebooks():
    told = num(4).map(abs).batch(3).repeat(2).explain("as written")
    assert isinstance(told, str)
    assert [line.split(" · ")[0].strip(" │") for line in told.splitlines()[1::2]] == [
        "4 batches",
        "2 batches",
        "4 rows",
        "4 rows",
    ]
    shown = told._repr_html_()
    assert "<b>Batch</b>(batch_size=3)" in shown
    assert "1 row ·" in num(1).explain()
