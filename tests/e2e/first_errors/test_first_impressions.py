"""What a new user gets wrong in the first hour is answered with what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import log
from millrace.dataset import vision


def numbers() -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": [1, 2, 3]}, shuffle=False)


# misspelt arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: numbers().map(abs, input_column=["x"]),
            r"map\(\) .*'input_column'; did you mean 'input_columns'\?",
        ),
        (lambda: numbers().batch(2, drop_reminder=True), r"batch\(\) .*did you mean 'drop_remainder'\?"),
        (
            lambda: ds.NumpySlicesDataset([1], shufle=False),
            r"NumpySlicesDataset\(\) .*did you mean 'shuffle'\?",
        ),
        (lambda: ds.MnistDataset("x", usge="train"), r"MnistDataset\(\) .*did you mean 'usage'\?"),
        (lambda: vision.Resize(siz=3), r"Resize\(\) .*'siz'; did you mean 'size'\?"),
        (lambda: numbers().take(count=1, colour="red"), r"take\(\) .*'colour'; it takes count"),
        (lambda: ds.zip(dataset=(numbers(), numbers())), r"zip\(\) .*did you mean 'datasets'\?"),
        (lambda: ds.config.set_seed(sed=1), r"set_seed\(\) .*did you mean 'seed'\?"),
        (lambda: numbers().batch(), r"batch\(\): missing a required argument: 'batch_size'"),
        (lambda: numbers().take(1, 2), r"take\(\): too many positional arguments"),
    ],
)
def test_a_misspelt_argument_names_the_function_and_the_right_one(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()


# numbers of workers -------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, -3])
def test_no_workers_is_refused_with_a_true_reason(workers: int) -> None:
    """More workers than cores are allowed here, so the cores are not the boundary."""
    for call in (lambda: numbers().map(abs, num_parallel_workers=workers), lambda: shares(workers)):
        with pytest.raises(ValueError, match=f"num_parallel_workers must be at least 1, but got {workers}"):
            call()


def shares(workers: int) -> ds.Dataset:
    return ds.GeneratorDataset([1, 2], ["x"], num_parallel_workers=workers)


def test_ten_thousand_workers_are_taken_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace._src.core.machine.cores.available_cores", lambda: 2)
    for call in (
        lambda: numbers().map(abs, num_parallel_workers=10_000),
        lambda: ds.config.set_num_parallel_workers(10_000),
    ):
        monkeypatch.setattr(log, "_warned_keys", set())
        with pytest.warns(UserWarning, match="num_parallel_workers=10000, but there are 2 cores") as caught:
            call()
        assert caught[0].filename == __file__


# text ---------------------------------------------------------------------------------------------


def texts() -> Iterator[tuple[str]]:
    yield ("a b c",)


def words() -> Iterator[tuple[np.ndarray]]:
    yield (np.array(["a b", "c"]),)


@pytest.mark.parametrize("processes", [False, True])
def test_a_method_of_text_on_an_array_says_how(processes: bool, no_leaks: None) -> None:
    data = ds.GeneratorDataset(texts, ["t"])
    data = data.map(lambda t: t.split(), ["t"], python_multiprocessing=processes, num_parallel_workers=1)
    with pytest.raises(RuntimeError, match=r"use str\(value\)\.split\(\.\.\.\), or value\.item\(\)"):
        next(iter(data.create_dict_iterator(num_epochs=1)))
    good = ds.GeneratorDataset(texts, ["t"]).map(lambda t: np.array(str(t).split()), ["t"])
    assert next(iter(good.create_dict_iterator(num_epochs=1, output_numpy=True)))["t"].tolist() == [
        "a",
        "b",
        "c",
    ]


def test_several_texts_say_how_too() -> None:
    data = ds.GeneratorDataset(words, ["t"]).map(lambda t: t.upper(), ["t"])
    with pytest.raises(RuntimeError, match=r"\[item\.upper\(\.\.\.\) for item in value\.tolist\(\)\]"):
        next(iter(data.create_dict_iterator(num_epochs=1)))


def test_a_method_of_bytes_says_how() -> None:
    data = ds.GeneratorDataset(lambda: iter([(b"a b",)]), ["t"])
    with pytest.raises(RuntimeError, match=r"Bytes arrive .* use value\.item\(\)\.decode\(\.\.\.\)\."):
        next(iter(data.map(lambda t: t.decode(), ["t"]).create_dict_iterator(num_epochs=1)))
    good = data.map(lambda t: t.item().decode(), ["t"])
    assert next(iter(good.create_dict_iterator(num_epochs=1, output_numpy=True)))["t"].item() == "a b"


def test_other_mistakes_get_no_hint() -> None:
    with pytest.raises(RuntimeError) as caught:
        next(iter(numbers().map(lambda x: x.split(), ["x"]).create_dict_iterator(num_epochs=1)))
    assert "Text arrives" not in str(caught.value)


# padding ------------------------------------------------------------------------------------------


def ragged() -> Iterator[tuple[Any, ...]]:
    for i in range(3):
        yield np.arange(i + 1), np.array(["a"] * (i + 1)), {"row": i}


def test_a_padded_batch_pads_without_being_told_what() -> None:
    data = ds.GeneratorDataset(ragged, ["n", "t", "d"]).padded_batch(3)
    [batch] = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert batch["n"].tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 2]]
    assert batch["t"].tolist() == [["a", "", ""], ["a", "a", ""], ["a", "a", "a"]]
    assert list(batch["d"]["row"]) == [0, 1, 2]
