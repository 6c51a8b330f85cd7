"""What is drawn at random: masks and Dither."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.audio as A
from millrace._src.core import settings
from millrace._src.core.random.rng import RandomStream
from tests.parity.data.audio.inputs import noise

MANY = 4000


def bands(op, x, axis):
    """(start, width) of the band that each of many rows gets."""
    draws = RandomStream.for_rows(np.arange(MANY, dtype=np.uint64), seed=3, epoch=0, op=1)
    run = op.row_function(draws)
    found = []
    for i in range(MANY):
        made = run(i, x) == 7
        line = made.reshape(-1, *made.shape[-2:])[0].all(axis=1 if axis == -2 else 0)
        assert (made == (line[:, None] if axis == -2 else line)).all(), "one band, in all channels"
        found.append((int(line.argmax()) if line.any() else 0, int(line.sum())))
    return Counter(found)


@pytest.mark.parametrize(
    ("op", "axis", "size"),
    [
        (A.MaskAlongAxisIID(4, 7.0, 2), -1, 8),
        (A.MaskAlongAxisIID(3, 7.0, 1), -2, 6),
        (A.TimeMasking(True, 4, mask_value=7.0), -1, 8),
        (A.FrequencyMasking(True, 3, mask_value=7.0), -2, 6),
    ],
)
def test_widths_and_places_are_equally_likely(op, axis, size):
    found = bands(op, np.ones((2, 6, 8), np.float32), axis)
    longest = 4 if axis == -1 else 3
    for width in range(longest + 1):
        times = sum(count for (_, wide), count in found.items() if wide == width)
        assert abs(times / MANY - 1 / (longest + 1)) < 0.04
        if width:
            starts = {start for start, wide in found if wide == width}
            assert starts == set(range(size - width + 1))
    assert max(wide for _, wide in found) == longest


def test_a_column_of_masks_is_its_rows_and_repeats_with_the_seed():
    xs = np.abs(noise(9, 2, 6, 8)).astype(np.float32)

    def run(seed, chunk_rows):
        data = ds.NumpySlicesDataset({"x": xs}, shuffle=False)
        data = data.map([A.TimeMasking(True, 4), A.FrequencyMasking(True, 3)], "x")
        with settings.override(seed=seed, executor="inline", chunk_rows=chunk_rows):
            return np.stack([row["x"] for row in data.create_dict_iterator(1, output_numpy=True)])

    first = run(1, 4)
    np.testing.assert_array_equal(first, run(1, 1))
    assert (first != run(2, 4)).any()


def test_a_mask_that_does_not_fit_names_its_row():
    data = ds.NumpySlicesDataset({"x": np.ones((3, 4, 5), np.float32)}, shuffle=False)
    data = data.map(A.TimeMasking(True, 6), "x")
    with pytest.raises(
        RuntimeError, match=r"(?s)'time_mask_param' should be less than or equal.* 6 and length 5.*row: 0"
    ):
        next(data.create_dict_iterator(1, output_numpy=True))


def test_dither_with_one_value_of_the_wave():
    x = np.array([[0.25, 3.0, 3.0, 0.25]])
    draws = RandomStream.for_rows(np.arange(200, dtype=np.uint64), seed=3, epoch=0, op=1)
    run = A.Dither(A.DensityFunction.RPDF).row_function(draws)
    steps = {tuple(np.round(run(i, x)[0] * 32768 - x[0] * 32766, 1)) for i in range(200)}
    # 0.25 - 0.5 or 3 - 0.5, before rounding to whole steps away from 0
    assert steps == {(-0.5, 0.0, 0.0, -0.5), (2.5, 3.0, 3.0, 2.5)}


def test_dither_with_a_sum_of_values_leaves_its_input_alone():
    x = np.full((1, 50), 4.0)
    before = x.copy()
    draws = RandomStream.for_rows(np.arange(100, dtype=np.uint64), seed=3, epoch=0, op=1)
    run = A.Dither(A.DensityFunction.GPDF).row_function(draws)
    found = Counter(float(np.round(run(i, x)[0, 0] * 32768 - 4 * 32766)) for i in range(100))
    np.testing.assert_array_equal(x, before)
    assert found.most_common(1)[0][0] == 7 * 4
    assert found[28.0] > 80


def test_dither_with_a_triangle_is_not_random():
    x = noise(2, 30).astype(np.float32)
    np.testing.assert_array_equal(A.Dither()(x), A.Dither()(x))
    assert not A.Dither().random
    assert np.allclose(A.Dither()(x) * 32768, np.round(A.Dither()(x) * 32768))
