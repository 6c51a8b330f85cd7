"""Q08: c_transforms or py_transforms? One module, which looks at the value; both old names work."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import millrace.dataset as ds
import millrace.dataset.transforms.c_transforms as c_transforms
import millrace.dataset.transforms.py_transforms as py_transforms
import millrace.dataset.vision as vision
import millrace.dataset.vision.c_transforms as c_vision
import millrace.dataset.vision.py_transforms as py_vision

PIXELS = np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8)


def encoded() -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, "PNG")
    return file.getvalue()


def first(steps) -> np.ndarray:
    data = ds.GeneratorDataset([(encoded(),)] * 2, ["image"], shuffle=False).map(steps, "image")
    return next(data.create_dict_iterator(num_epochs=1, output_numpy=True))["image"]


@pytest.mark.parametrize("step", [vision.Resize(30), vision.CenterCrop(20), vision.RandomHorizontalFlip(1.0)])
def test_the_value_decides(step) -> None:
    assert isinstance(step(PIXELS), np.ndarray)
    assert isinstance(step(Image.fromarray(PIXELS)), Image.Image)


def test_old_modules_of_arrays_give_what_today_gives(no_leaks: None) -> None:
    old = [c_vision.Decode(), c_vision.Resize((30, 40)), c_vision.HWC2CHW(), c_transforms.TypeCast("float32")]
    new = [vision.Decode(), vision.Resize((30, 40)), vision.HWC2CHW(), ds.transforms.TypeCast("float32")]
    np.testing.assert_array_equal(first(old), first(new))


def test_old_modules_of_pillow_give_what_today_gives(no_leaks: None) -> None:
    old = py_transforms.Compose([py_vision.Decode(), py_vision.Resize((30, 40)), py_vision.ToTensor()])
    new = [vision.Decode(to_pil=True), vision.Resize((30, 40)), vision.ToTensor()]
    np.testing.assert_allclose(first(old), first(new), atol=1e-7)


def test_old_and_new_stand_in_one_list(no_leaks: None) -> None:
    assert first([c_vision.Decode(), py_vision.ToPIL(), vision.CenterCrop(20)]).shape == (20, 20, 3)
