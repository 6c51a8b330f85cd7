"""What holds for every public transform, by being declared: it is looked up in the public modules.

Eager = pipeline, the input is not changed, it pickles, it prints as itself, any workers and chunk size give the same
rows, and Pillow images come out where MindSpore gives them.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.audio as audio
import millrace.dataset.text as text
import millrace.dataset.transforms as transforms
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.errors import DataError
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.transforms.base import Transform
from tests.contracts.transforms.audio_examples import audio_values
from tests.contracts.transforms.text_examples import text_values
from tests.contracts.transforms.transform_examples import EXAMPLES
from tests.parity.data.vision.inputs import make, u8, unit

ROWS = 11


def public() -> dict[str, type]:
    found = {}
    for module in (vision, transforms, text, audio):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, Transform):
                found[name] = thing
    return found


def values(inputs: str, i: int) -> tuple[Any, ...]:
    """The i-th row of this kind of input, as arrays."""
    sound = audio_values(inputs, i)
    if sound is not None:
        return sound
    if inputs in ("image", "pil"):
        return (u8(13, 17, 3, salt=i + 1),)
    if inputs == "encoded":
        return (make(("rgb.jpg", "grey.jpg", "rgb.png", "rgb422.jpg")[i % 4]),)
    if inputs == "video":
        return (make(("mono.avi", "plain.mp4", "late.mkv")[i % 3]),)
    if inputs == "chw":
        return (unit(3, 13, 17, salt=i + 1),)
    if inputs == "boxes":
        return u8(13, 17, 3, salt=i + 1), np.array([[1, 2, 5, 6], [3, 0, 9, 12], [8, 8, 4, 4]], np.float32)
    if inputs == "batch":
        return u8(2, 13, 17, 3, salt=i + 1), np.eye(4, dtype=np.float32)[[i % 4, (i + 1) % 4]]
    if inputs == "labels":
        return (np.array([i, i + 1]),)
    if inputs in ("text", "words", "digits", "pairs"):
        return text_values(inputs, i)
    assert inputs == "label"
    return (np.array(i % 5),)


def given(inputs: str, i: int) -> tuple[Any, ...]:
    """The same as an eager call takes it."""
    made = values(inputs, i)
    if inputs != "pil":
        return made
    from PIL import Image

    return (Image.fromarray(made[0]),)


def as_tuple(made: Any) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(part) for part in (made if type(made) is tuple else (made,)))


def assert_same(one: Any, two: Any) -> None:
    for left, right in zip(as_tuple(one), as_tuple(two), strict=True):
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        np.testing.assert_array_equal(left, right)


def direct(op: Any, inputs: str, seed: int = 5, op_number: int = 1) -> list[Any]:
    """Every row through `rows`, each as a chunk of one."""
    made = []
    for i in range(ROWS):
        draws = (
            RandomStream.for_rows(np.array([i], np.uint64), seed=seed, epoch=0, op=op_number)
            if op.random
            else None
        )
        made.append(op.row_function(draws)(0, *given(inputs, i)))
    return made


def pipeline(op: Any, inputs: str, **changes: Any) -> list[tuple[np.ndarray, ...]]:
    rows = [values(inputs, i) for i in range(ROWS)]
    columns = ["a", "b"][: len(rows[0])]
    count = len(as_tuple(op(*given(inputs, 0))))
    outputs = [f"o{i}" for i in range(count)]
    operations = [vision.ToPIL(), op] if inputs == "pil" else [op]
    with settings.override(seed=7, **changes):
        data = ds.GeneratorDataset(rows, columns, shuffle=False)
        data = data.map(operations, columns, outputs)
        return [
            tuple(row[name] for name in outputs) for row in data.create_dict_iterator(1, output_numpy=True)
        ]


def test_every_transform_has_an_example():
    assert sorted(EXAMPLES) == sorted(public())


@pytest.fixture(params=sorted(EXAMPLES), name="example")
def _example(request: pytest.FixtureRequest) -> Any:
    return EXAMPLES[request.param]


def test_eager_is_pipeline(example):
    op = example.make()
    rows = pipeline(op, example.inputs, executor="inline")
    assert len(rows) == ROWS
    if not op.random:
        for i, row in enumerate(rows):
            assert_same(op(*given(example.inputs, i)), row)


def test_any_workers_and_chunks_give_the_same(example):
    op = example.make()
    wanted = pipeline(op, example.inputs, executor="inline", chunk_rows=1)
    for changes in ({"chunk_rows": 7}, {"num_parallel_workers": 3, "executor": "threads", "chunk_rows": 2}):
        got = pipeline(op, example.inputs, **changes)
        for one, two in zip(wanted, got, strict=True):
            assert_same(one, two)


def test_random_numbers_come_from_the_row_alone(example):
    op = example.make()
    alone = direct(op, example.inputs)
    draws = (
        RandomStream.for_rows(np.arange(ROWS, dtype=np.uint64), seed=5, epoch=0, op=1) if op.random else None
    )
    together = op.row_function(draws)
    for i, one in enumerate(alone):
        assert_same(one, together(i, *given(example.inputs, i)))
    if op.random:
        other = direct(op, example.inputs, seed=6)
        assert any(
            a.shape != b.shape or (a != b).any()
            for one, two in zip(alone, other, strict=True)
            for a, b in zip(as_tuple(one), as_tuple(two), strict=True)
        ), "another seed gives the same"


def test_input_is_not_changed_and_not_shared(example):
    op = example.make()
    for i in range(4):
        arguments = given(example.inputs, i)
        before = [np.array(a, copy=True) for a in arguments]
        made = op(*arguments)
        for was, now in zip(before, arguments, strict=True):
            np.testing.assert_array_equal(was, np.asarray(now))
        for part in made if type(made) is tuple else (made,):
            if isinstance(part, np.ndarray):
                assert not any(np.may_share_memory(part, a) for a in arguments if isinstance(a, np.ndarray))
                assert part.flags.c_contiguous


def test_eager_results_repeat_with_the_seed(example):
    op = example.make()
    with settings.override(seed=12):
        op(*given(example.inputs, 1))
    with settings.override(seed=11):
        first = op(*given(example.inputs, 1))
    with settings.override(seed=12):
        op(*given(example.inputs, 1))
    with settings.override(seed=11):
        again = op(*given(example.inputs, 1))
    assert_same(first, again)


@pytest.mark.parametrize("library", [cloudpickle, pickle], ids=["cloudpickle", "pickle"])
def test_pickles(example, library):
    op = example.make()
    copy = pickle.loads(library.dumps(op))
    assert repr(copy) == repr(op)
    for one, two in zip(direct(op, example.inputs), direct(copy, example.inputs), strict=True):
        assert_same(one, two)


def made_of_others(op: Any) -> bool:
    return hasattr(op, "transforms") or isinstance(op, (transforms.Plugin, vision.RandomSelectSubpolicy))


@pytest.mark.parametrize(
    "name",
    sorted(n for n, e in EXAMPLES.items() if e.inputs in ("image", "pil") and not made_of_others(e.make())),
)
def test_pillow_in_is_pillow_out_where_mindspore_gives_one(name):
    from PIL import Image

    example = EXAMPLES[name]
    op = example.make()
    made = op(Image.fromarray(values("image", 1)[0]))
    parts = made if type(made) is tuple else (made,)
    assert all(isinstance(part, Image.Image) == example.pil for part in parts)


def test_device(example):
    op = example.make()
    assert op.device("CPU") is op
    if op.device_step() is None:
        with pytest.raises(ValueError, match="has no GPU kernel"):
            op.device("GPU")
    else:
        assert op.device("GPU") is op
    with pytest.raises(ValueError, match="there is no Ascend device"):
        op.device("Ascend")
    with pytest.raises(ValueError, match="device_target is not within the valid set"):
        op.device("TPU")


@pytest.mark.parametrize(
    "module",
    [
        "vision",
        "vision.c_transforms",
        "vision.py_transforms",
        "transforms",
        "transforms.c_transforms",
        "transforms.py_transforms",
        "audio",
    ],
)
def test_every_transform_has_a_device_the_old_ones_too(module):
    names = vars(importlib.import_module(f"millrace.dataset.{module}")).values()
    found = [one for one in names if isinstance(one, type) and issubclass(one, Transform)]
    assert found
    for one in found:
        assert list(inspect.signature(one.device).parameters) == ["self", "device_target"], one


def test_json_gives_the_same_transform(example):
    op = example.make()
    saved = json.loads(op.to_json())
    if isinstance(op, text.PythonTokenizer):
        assert saved["tensor_op_name"] == "split", "a function has a name in JSON, and no more"
        return
    assert saved["tensor_op_name"] == type(op).__name__
    copy = type(op).from_json(json.dumps(saved["tensor_op_params"]))
    assert copy.to_json() == op.to_json()
    for one, two in zip(direct(op, example.inputs), direct(copy, example.inputs), strict=True):
        assert_same(one, two)


@pytest.mark.parametrize(
    "name", sorted(n for n, e in EXAMPLES.items() if not hasattr(e.make(), "transforms"))
)
def test_an_error_says_what_was_got_and_which_transform(name):
    example = EXAMPLES[name]
    op = example.make()
    bad = {"image": np.array(["text"]), "encoded": np.zeros(7, np.uint8)}.get(
        example.inputs, np.zeros((0,), "M8[s]")
    )
    draws = RandomStream.for_rows(np.arange(1, dtype=np.uint64), seed=5, epoch=0, op=1) if op.random else None
    arguments = [bad] * len(values(example.inputs, 0))
    error = failure(lambda: op.row_function(draws)(0, *arguments))
    if error is not None:
        assert str(error)
        assert error.millrace_op == type(op).__name__
        assert isinstance(error, (RuntimeError, TypeError, ValueError, LookupError))


def failure(call: Callable[[], Any]) -> Any:
    try:
        call()
    except Exception as error:
        return error
    return None


DENSE = {
    "scalars": np.arange(ROWS) % 5,
    "vectors": np.arange(ROWS * 6, dtype=np.float32).reshape(ROWS, 6) / 7 - 3,
    "images": np.stack([u8(13, 17, 3, salt=i + 1) for i in range(ROWS)]),
    "planes": np.stack([unit(3, 13, 17, salt=i + 1) for i in range(ROWS)]),
    "flags": (np.arange(ROWS * 4) % 3 == 0).reshape(ROWS, 4),
    "waves": np.stack([audio_values("wave", i)[0] for i in range(ROWS)]),
    "wide waves": np.stack([audio_values("wave", i)[0] for i in range(ROWS)]).astype(np.float64),
    "complex": np.stack([audio_values("complex", i)[0] for i in range(ROWS)]),
    "spectrograms": np.stack([audio_values("spectrogram", i)[0] for i in range(ROWS)]),
    "not numbers": np.array([np.nan, np.inf, -np.inf, 300.5, -1.5, 3e9, 0, 1, 2, 3, 4]),
}
WITH_BATCH = sorted(
    name
    for name, kind in public().items()
    if kind.batch is not None and np.ndarray in kind.batch_column_types and kind.num_inputs != 2
)


def test_some_transforms_work_on_whole_columns():
    assert {"TypeCast", "OneHot", "Fill", "Mask", "PadEnd"} <= set(WITH_BATCH)


@pytest.mark.parametrize("column", DENSE)
@pytest.mark.parametrize("name", WITH_BATCH)
def test_a_whole_column_gives_what_its_rows_give(name, column):
    op, xs = EXAMPLES[name].make(), DENSE[column]
    before = xs.copy()
    draws = (
        RandomStream.for_rows(np.arange(ROWS, dtype=np.uint64), seed=5, epoch=0, op=1) if op.random else None
    )
    try:
        rows = [op.row_function(draws)(i, xs[i, ...]) for i in range(ROWS)]
    except Exception:
        return  # a row that is refused is refused by the rows, which name it
    made = op.batch(xs, *(op.params(draws) if draws is not None else ()))
    np.testing.assert_array_equal(xs, before)
    if made is not None:
        assert len(made) == ROWS
        for one, two in zip(rows, made, strict=True):
            assert_same(one, two)


@pytest.mark.parametrize("name", WITH_BATCH)
def test_the_pipeline_uses_it_and_gives_the_same(name, monkeypatch):
    kind, called = public()[name], []
    column = {"label": "scalars", "wave": "waves", "spectrogram": "spectrograms", "complex": "complex"}
    column["words"] = "vectors"
    op, xs = EXAMPLES[name].make(), DENSE[column.get(EXAMPLES[name].inputs, "images")]
    whole = kind.batch

    def watched(self, *values):
        called.append(len(values[0]))
        return whole(self, *values)

    def run():
        data = ds.NumpySlicesDataset({"x": xs}, shuffle=False).map(op, "x")
        with settings.override(seed=7, executor="inline", chunk_rows=4):
            return [row["x"] for row in data.create_dict_iterator(1, output_numpy=True)]

    monkeypatch.setattr(kind, "batch", watched)
    got = run()
    assert called == [4, 4, 3]
    monkeypatch.setattr(kind, "batch", None)
    for one, two in zip(got, run(), strict=True):
        assert_same(one, two)


def test_a_wrong_row_in_a_whole_column_is_named():
    labels = np.array([0, 1, 2, 9, 1, 0])
    data = ds.NumpySlicesDataset({"x": labels}, shuffle=False).map(transforms.OneHot(5), "x")
    rows = data.create_dict_iterator(1, output_numpy=True)
    assert [next(rows)["x"].argmax() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(DataError, match="row: 3"):
        next(rows)


def test_a_batch_that_a_user_writes_is_used():
    class Twice(Transform):
        def row(self, x):
            raise AssertionError("rows are not needed")

        def batch(self, xs):
            return xs * 2

    data = ds.NumpySlicesDataset({"x": np.arange(6)}, shuffle=False).map(
        [transforms.TypeCast(np.int16), Twice()], "x"
    )
    rows = [row["x"] for row in data.create_dict_iterator(1, output_numpy=True)]
    assert [int(x) for x in rows] == [0, 2, 4, 6, 8, 10]
    assert rows[0].dtype == np.int16


def test_a_class_that_changes_the_row_does_not_inherit_the_batch():
    class Plus(transforms.TypeCast):
        def row(self, x):
            return super().row(x) + 1

    data = ds.NumpySlicesDataset({"x": np.arange(3)}, shuffle=False).map(Plus(np.int16), "x")
    assert [int(row["x"]) for row in data.create_dict_iterator(1, output_numpy=True)] == [1, 2, 3]
