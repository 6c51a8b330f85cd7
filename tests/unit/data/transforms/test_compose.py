"""Transforms made of transforms, in and out of pipelines."""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.transforms as T
import millrace.dataset.vision as V
from millrace._src.core import settings
from tests.parity.data.vision.inputs import make, u8


def rows(data):
    return [row["image"] for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def encoded(count=5):
    return ds.GeneratorDataset([(make("rgb.jpg"),) for _ in range(count)], ["image"], shuffle=False)


def test_native_and_pillow_transforms_in_one_list():
    """Row Q20 of the questions users ask."""
    made = rows(encoded().map([V.Decode(), V.ToPIL(), V.CenterCrop(30)], ["image"]))
    np.testing.assert_array_equal(made[0], V.CenterCrop(30)(V.ToPIL()(V.Decode()(make("rgb.jpg")))))


def test_a_list_and_a_compose_are_the_same():
    steps = [V.Decode(), V.Resize((20, 30)), V.Normalize([1.0] * 3, [2.0] * 3), V.HWC2CHW()]
    one, two = rows(encoded().map(steps, ["image"])), rows(encoded().map(T.Compose(steps), ["image"]))
    for left, right in zip(one, two, strict=True):
        np.testing.assert_array_equal(left, right)
    assert one[0].shape == (3, 20, 30)


def test_compose_flattens_and_knows_what_is_inside():
    inner = T.Compose([V.Decode(), V.RandomCrop(5)])
    outer = T.Compose([inner, V.HWC2CHW()])
    assert [type(op).__name__ for op in outer.transforms] == ["Decode", "RandomCrop", "HWC2CHW"]
    assert outer.random
    assert outer.is_expensive
    assert not T.Compose([V.HWC2CHW()]).random


def test_several_columns_and_functions_between():
    data = ds.NumpySlicesDataset(([1, 2], [3, 4]), ["a", "b"], shuffle=False)
    data = data.map(T.Compose([lambda a, b: (b, a), lambda b, a: (b + 1, a - 1)]), ["a", "b"])
    assert [(int(r["a"]), int(r["b"])) for r in data.create_dict_iterator(1, output_numpy=True)] == [
        (4, 0),
        (5, 1),
    ]


def test_five_crops_into_one_array():
    steps = [V.Decode(to_pil=True), V.FiveCrop(20), lambda *parts: np.stack([V.ToTensor()(p) for p in parts])]
    assert rows(encoded(1).map(steps, ["image"]))[0].shape == (5, 3, 20, 20)


def test_an_error_names_the_transform_row_and_column():
    data = [(u8(8, 8, 3),), (u8(8, 8, 3),), (u8(8),)]
    data = ds.GeneratorDataset(data, ["image"], shuffle=False).map([V.Resize(4), V.HWC2CHW()], ["image"])
    with pytest.raises(RuntimeError, match=r"(?s)Resize.*at least 2 dimensions.*row: 2.*column: image"):
        rows(data)


def test_the_old_modules_are_thin_faces():
    import millrace.dataset.transforms.c_transforms as c
    import millrace.dataset.transforms.py_transforms as py
    import millrace.dataset.vision.c_transforms as c_vision
    import millrace.dataset.vision.py_transforms as py_vision

    assert c_vision.Resize is V.Resize
    assert c.OneHot is T.OneHot
    one = py.Compose([py_vision.Decode(), py_vision.ToTensor(), py_vision.Normalize([0.5] * 3, [0.5] * 3)])
    (made,) = one(make("rgb.jpg"))  # a tuple, as MindSpore gives where Python works
    assert (made.shape, made.dtype) == ((3, 37, 53), np.float32)
    two = c.Compose([c_vision.Decode(), c_vision.Rescale(1 / 255, 0), c_vision.HWC2CHW()])(make("rgb.jpg"))
    np.testing.assert_allclose(two * 2 - 1, made, atol=0.05)  # Pillow's decoder rounds differently


def test_worker_processes_give_the_same_rows(no_leaks):
    steps = [
        V.RandomCropDecodeResize(16),
        V.RandomHorizontalFlip(),
        V.RandomColorAdjust(0.4, 0.4, 0.4, 0.1),
        V.ToTensor(),
    ]

    def run(**changes):
        with settings.override(seed=9, **changes):
            return rows(encoded(12).map(T.Compose(steps), ["image"], num_parallel_workers=2).batch(4))

    for one, two in zip(run(executor="inline"), run(executor="processes"), strict=True):
        np.testing.assert_array_equal(one, two)
