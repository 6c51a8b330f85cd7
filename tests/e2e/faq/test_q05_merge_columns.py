"""Q05: how does Dataset combine two columns into one column?"""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset as ds


class Two:
    """The shapes of the two columns are different."""

    def __getitem__(self, index):
        return np.full((2, 3), index), np.full(4, -index), np.int32(index)

    def __len__(self):
        return 6


def source() -> ds.Dataset:
    return ds.GeneratorDataset(Two(), ["data", "data2", "label"], shuffle=False)


def combine(x, y):
    x = x.flatten()
    y = y.flatten()
    return np.append(x, y)


@pytest.mark.parametrize("processes", [False, True])
def test_code_of_the_page(processes) -> None:
    dataset = source()
    dataset = dataset.map(
        operations=combine,
        input_columns=["data", "data2"],
        output_columns=["data"],
        python_multiprocessing=processes,
        num_parallel_workers=2,
    )
    assert dataset.get_col_names() == ["data", "label"]
    for index, row in enumerate(dataset.create_dict_iterator(num_epochs=1, output_numpy=True)):
        assert list(row) == ["data", "label"]
        assert row["data"].tolist() == [index] * 6 + [-index] * 4
        assert row["label"] == index


def test_n_to_m_columns_with_shapes_that_differ() -> None:
    data = source().map(
        lambda x, y, label: (x[0], y.sum(), np.zeros((int(label), 2)), x.T),
        input_columns=["data", "data2", "label"],
        output_columns=["a", "b", "c", "d"],
    )
    for index, row in enumerate(data.create_dict_iterator(num_epochs=1, output_numpy=True)):
        assert {name: value.shape for name, value in row.items()} == {
            "a": (3,),
            "b": (),
            "c": (index, 2),
            "d": (3, 2),
        }


def test_one_to_two_and_back_in_one_list() -> None:
    halves = [lambda x: (x[:1], x[1:]), lambda top, rest: np.concatenate([rest, top])]
    data = source().map(halves, input_columns=["data"], output_columns=["turned"])
    row = next(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert row["turned"].shape == (2, 3)
    assert set(row) == {"turned", "data2", "label"}


def test_too_few_names_is_an_error_with_the_numbers() -> None:
    data = source().map(lambda x, y: (x, y, x), ["data", "data2"], ["one", "two"])
    with pytest.raises(RuntimeError) as caught:
        list(data)
    assert "3" in str(caught.value)
    assert "2" in str(caught.value)


def test_unknown_column_is_named() -> None:
    with pytest.raises(RuntimeError, match="data3"):
        list(source().map(combine, ["data", "data3"], ["data"]))
