"""Code that walks through a pipeline finds what it is made of."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import log


class Rows:
    note = "mine"

    def __getitem__(self, index):
        return np.int64(index)

    def __len__(self):
        return 4


def pipeline():
    return ds.GeneratorDataset(Rows(), ["x"], shuffle=False).map(abs, num_parallel_workers=2).batch(2, True)


def test_children_lead_to_the_source():
    data = pipeline()
    (mapped,) = data.children
    (source,) = mapped.children
    assert source.children == []
    assert source.source.note == "mine"
    assert source.column_names == ["x"]
    assert source.get_dataset_size() == 4
    assert type(source.sampler) is ds.SequentialSampler


def test_a_zip_and_a_concatenation_have_their_parts():
    one, two = pipeline(), pipeline().rename("x", "y")
    assert ds.zip((one, two)).children == [one, two]
    assert (one + one).children == [one, one]


def test_an_operation_shows_its_own_arguments_and_no_others():
    data = pipeline()
    assert (data.batch_size, data.drop_remainder) == (2, True)
    assert data.children[0].num_parallel_workers == 2
    assert len(data.children[0].operations) == 1
    assert not hasattr(data, "operations")
    assert not hasattr(data.children[0], "batch_size")
    with pytest.raises(AttributeError, match=r"batch_size.*batch\(\).*children"):
        _ = data.children[0].batch_size


def test_copies_keep_what_they_are_made_of():
    for data in (copy.deepcopy(pipeline()), pickle.loads(pickle.dumps(pipeline()))):
        assert [row["x"].tolist() for row in data.create_dict_iterator(1, True)] == [[0, 1], [2, 3]]
        assert data.children[0].children[0].source.note == "mine"


@pytest.mark.parametrize("method", ["map", "batch"])
def test_the_signature_shows_kwargs_as_mindspore_does_and_a_misspelt_argument_is_still_an_error(method):
    function = getattr(pipeline(), method)
    assert "kwargs" in inspect.signature(function).parameters
    with pytest.raises(TypeError, match="per_batch_mop"):
        function(abs if method == "map" else 2, per_batch_mop=None)


def test_a_sampler_of_ones_own_beside_shuffle_decides_the_order_and_that_is_said(monkeypatch):
    monkeypatch.setattr(log, "_warned_keys", set())
    with pytest.warns(UserWarning, match="shuffle=True came together with a sampler"):
        data = ds.GeneratorDataset(Rows(), ["x"], shuffle=True, sampler=[2, 0])
    assert [int(row["x"]) for row in data.create_dict_iterator(1, True)] == [2, 0]


def rows_of(data):
    return [row["x"].tolist() for row in data.create_dict_iterator(1, True)]


def test_the_last_bucket_has_no_boundary_to_pad_to():
    """MindSpore refuses it only where a length is left open; elsewhere such rows are batched as they are."""
    long = ds.GeneratorDataset([(np.ones(5, int),), (np.ones(5, int),)], ["x"], shuffle=False)
    options = {"pad_to_bucket_boundary": True}
    assert rows_of(long.bucket_batch_by_length(["x"], [4], [2, 2], **options)) == [[[1] * 5] * 2]
    padded = long.bucket_batch_by_length(["x"], [4], [2, 2], pad_info={"x": ([6], 0)}, **options)
    assert rows_of(padded) == [[[1] * 5 + [0]] * 2]
    whole = long.bucket_batch_by_length(["x"], [4], [2, 2], pad_info={"x": (None, 0)}, **options)
    assert rows_of(whole) == [[[1] * 5] * 2]
    with pytest.raises(RuntimeError, match="bucket index should be less than 2"):
        rows_of(long.bucket_batch_by_length(["x"], [4], [2, 2], pad_info={"x": ([None], 0)}, **options))


def numbers(column="x"):
    return ds.NumpySlicesDataset({column: [0, 1, 2, 3]}, shuffle=False)


def made_of(*_):
    return numbers("y").batch(4)


@pytest.mark.parametrize(
    ("data", "batch_size", "repeats"),
    [
        (lambda: ds.zip((numbers().batch(2), numbers("y").batch(3))), 3, 1),
        (lambda: numbers().batch(2) + numbers().batch(2), 2, 1),
        (lambda: numbers().repeat(2) + numbers(), 1, 1),
        (lambda: numbers() + numbers().repeat(2), 1, 2),
        (lambda: ds.zip((numbers().repeat(3), numbers("y"))), 1, 1),
        (lambda: numbers().batch(2).repeat(2).flat_map(made_of), 1, 1),
        (lambda: numbers().flat_map(made_of).batch(3), 3, 1),
        (lambda: numbers().repeat().map(abs), 1, -1),
        (lambda: numbers().batch(2).bucket_batch_by_length(["x"], [3], [4, 4]), 2, 1),
        (lambda: numbers().repeat(3).repeat(1), 1, 3),
        (lambda: numbers().bucket_batch_by_length(["x"], [3], [4, 4]), 1, 1),
    ],
)
def test_of_several_datasets_the_last_answers_as_in_mindspore(data, batch_size, repeats):
    assert data().get_batch_size() == batch_size
    assert data().get_repeat_count() == repeats


def test_classes_of_several_datasets(tmp_path):
    for name in ("ant", "bee"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.jpg").touch()
    folder = ds.ImageFolderDataset(str(tmp_path), shuffle=False)
    assert folder.batch(2).num_classes() == 2
    assert ds.zip((numbers(), folder)).num_classes() == 2
    assert ds.zip((folder, numbers())).num_classes() is None
    assert ds.zip((folder, numbers())).get_class_indexing() == {"ant": 0, "bee": 1}
    assert folder.flat_map(made_of).num_classes() is None


def test_a_rename_after_flat_map_is_checked_when_the_columns_are_known():
    def two(x):
        return ds.NumpySlicesDataset({"y": [1], "z": [2]}, shuffle=False)

    data = numbers().flat_map(two)
    assert [*next(data.rename("y", "x").create_dict_iterator(1, True))] == ["x", "z"]
    with pytest.raises(RuntimeError, match="already exist column name"):
        list(data.rename("y", "z").create_dict_iterator(1, True))


def test_a_renamed_column_that_nobody_reads_is_no_error():
    data = ds.NumpySlicesDataset({"x": [1], "y": [2]}, shuffle=False)
    assert [*next(data.rename("y", "z").project("x").create_dict_iterator(1, True))] == ["x"]


@pytest.mark.parametrize("kind", ["U", "S"])
def test_rows_without_text_are_text(kind):
    data = ds.NumpySlicesDataset({"x": np.zeros((2, 0), f"{kind}3")}, shuffle=False)
    assert [row["x"].dtype for row in data.create_dict_iterator(1, True)] == [np.dtype(f"{kind}1")] * 2


def test_an_unknown_column_renamed_after_flat_map_is_named():
    data = numbers().flat_map(lambda x: ds.NumpySlicesDataset({"y": [1]}, shuffle=False))
    with pytest.raises(RuntimeError, match=r"renamed does not exist. Got 'other'; the columns are \['y'\]"):
        list(data.rename("other", "w").create_dict_iterator(1, True))


@pytest.mark.parametrize("rows", [{"a": []}, ([], [])])
def test_no_rows_in_columns_is_an_error(rows):
    data = ds.NumpySlicesDataset(rows)
    with pytest.raises(RuntimeError, match="data row of input source must not be 0"):
        data.get_dataset_size()
    with pytest.raises(RuntimeError, match="data row of input source must not be 0"):
        list(data.create_tuple_iterator(num_epochs=1))
