"""Filters: leading dimensions, bad values, filters that explode."""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset.audio as A
from millrace._src.core.errors import DataError
from tests.parity.data.audio.inputs import chirp, noise

FILTERS = [
    A.AllpassBiquad(16000, 1000.0),
    A.LowpassBiquad(16000, 1000.0),
    A.RiaaBiquad(44100),
    A.LFilter([1.0, 0.1, 0.3], [0.1, 0.2, 0.3]),
    A.Filtfilt([1.0, 0.1, 0.3], [0.1, 0.2, 0.3]),
]


@pytest.mark.parametrize("op", FILTERS, ids=lambda op: type(op).__name__)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_each_leading_dimension_is_a_wave_of_its_own(op, kind):
    x = noise(2, 3, 50).astype(kind)
    made = op(x)
    assert made.dtype == kind
    for i in range(2):
        for j in range(3):
            np.testing.assert_array_equal(made[i, j], op(x[i, j]))


def test_an_array_in_another_order_gives_the_same():
    x = noise(40, 3).astype(np.float32).T
    op = A.LowpassBiquad(16000, 1000.0)
    np.testing.assert_array_equal(op(x), op(np.ascontiguousarray(x)))


def test_a_low_pass_keeps_what_is_low_and_takes_what_is_high():
    t = np.arange(4000) / 16000
    low, high = 0.5 * np.sin(2 * np.pi * 100 * t), 0.5 * np.sin(2 * np.pi * 6000 * t)
    op = A.LowpassBiquad(16000, 1000.0)
    assert np.abs(op(low)[2000:]).max() > 0.49
    assert np.abs(op(high)[2000:]).max() < 0.02


def test_filtfilt_shifts_no_phase():
    x = np.exp(-((np.arange(101) - 50) ** 2) / 50.0)
    made = A.Filtfilt([1.0, -0.5], [0.5, 0.0])(x)
    np.testing.assert_allclose(made[20:81], made[20:81][::-1], atol=1e-6)


def test_a_nan_spoils_what_comes_after_it_and_no_other_channel():
    x = noise(2, 30).astype(np.float32)
    clean = A.LowpassBiquad(16000, 1000.0)(x)
    x[0, 10] = np.nan
    made = A.LowpassBiquad(16000, 1000.0)(x)
    assert not np.isnan(made[0, :10]).any()
    assert np.isnan(made[0, 10:]).all()
    np.testing.assert_array_equal(made[1], clean[1])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_filter_that_explodes_ends_in_nan_without_a_warning(kind):
    x = chirp(3000 if kind is np.float32 else 9000).astype(kind)
    made = A.LFilter([1.0, -2.0, 1.2], [1.0, 0.0, 0.0], clamp=False)(x)
    assert np.isnan(made[-1])
    assert np.isfinite(made[:100]).all()
    held = A.Biquad(1.0, 0.0, 0.0, 1.0, -2.0, 1.2)(x)
    assert np.nanmax(np.abs(held)) == 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros((2, 0), np.float32), "Input Tensor has no data"),
        (np.array(1.0), "Expecting tensor in shape of <..., time>. But got tensor with dimension 0"),
        (np.zeros(3, np.int16), r"Expecting tensor in type of \[float, double\]. But got type int16"),
        (np.array(["a"]), "But got type string"),
        (np.zeros(3, np.complex64), "But got type complex64"),
    ],
)
def test_what_is_no_wave_is_refused(value, words):
    with pytest.raises(DataError, match=f"LowpassBiquad: .*{words}"):
        A.LowpassBiquad(16000, 1000.0)(value)


def test_a_list_is_no_wave():
    with pytest.raises(TypeError, match="Input should be NumPy audio, got <class 'list'>"):
        A.Gain()([1.0, 2.0])


def test_a_long_wave_is_filtered_in_blocks_that_do_not_show():
    x = noise(3, 70001).astype(np.float32)
    op = A.LFilter([1.0, -0.9, 0.3], [0.4, 0.2, 0.1])
    made = op(x)
    for one, row in zip(made, x, strict=True):
        np.testing.assert_array_equal(one, op(row))
    # the end of a stable filter does not know how it began
    np.testing.assert_allclose(made[:, -500:], op(x[:, -1000:])[:, -500:], atol=1e-6)
