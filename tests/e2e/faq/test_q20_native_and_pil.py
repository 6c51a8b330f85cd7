"""Q20: can native and PIL operations be used together? ``[Decode(), ToPIL(), CenterCrop(375)]`` works."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageOps

import millrace.dataset as ds
import millrace.dataset.vision as vision

PHOTO = Image.fromarray(np.random.default_rng(0).integers(0, 256, (400, 500, 3)).astype(np.uint8))


def first(steps) -> np.ndarray:
    file = io.BytesIO()
    PHOTO.save(file, "PNG")
    data = ds.GeneratorDataset([(file.getvalue(),)] * 3, ["image"], shuffle=False).map(steps, ["image"])
    return next(data.batch(3).create_dict_iterator(num_epochs=1, output_numpy=True))["image"][0]


def test_the_list_of_the_question(no_leaks: None) -> None:
    got = first([vision.Decode(), vision.ToPIL(), vision.CenterCrop(375)])
    np.testing.assert_array_equal(got, np.asarray(PHOTO)[12:387, 62:437])


def test_functions_of_pillow_and_numpy_between(no_leaks: None) -> None:
    steps = [vision.Decode(True), ImageOps.mirror, vision.ToNumpy(), np.flipud, vision.HWC2CHW()]
    np.testing.assert_array_equal(first(steps), np.asarray(PHOTO)[::-1, ::-1].transpose(2, 0, 1))


def test_what_does_not_fit_names_the_step_that_is_missing(no_leaks: None) -> None:
    with pytest.raises(RuntimeError, match=r"RandomGrayscale[\s\S]*ToPIL\(\)"):
        first([vision.Decode(), vision.RandomGrayscale(1.0)])
