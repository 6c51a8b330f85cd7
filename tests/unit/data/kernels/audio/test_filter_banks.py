"""Filter banks: the values of a dense product, and the same bits however many spectrograms are filtered together."""

import numpy as np
import pytest

from millrace._src.data.kernels.audio import filter_banks as banks

SHAPES = [(9, 4, 5), (201, 128, 33), (513, 40, 1)]


def spectra(*shape, dtype=np.float32):
    return np.random.default_rng(7).random(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("frequencies", "filters", "frames"), SHAPES)
def test_apply_equals_the_dense_product(frequencies, filters, frames, dtype):
    bank = banks.mel_filter_bank(frequencies, 0.0, 8000.0, filters, 16000, "slaney", "htk", dtype)
    x = spectra(2, 3, frequencies, frames, dtype=dtype)
    expected = np.matmul(bank.weights.T.astype(np.float64), x.astype(np.float64))
    np.testing.assert_allclose(bank.apply(x), expected, rtol=2e-6 if dtype == "float32" else 1e-13)
    assert bank.apply(x).dtype == dtype
    assert bank.apply(x).flags.c_contiguous


@pytest.mark.parametrize(("frequencies", "filters", "frames"), SHAPES)
def test_bits_do_not_depend_on_what_is_filtered_together(frequencies, filters, frames):
    bank = banks.linear_filter_bank(frequencies, 0.0, 8000.0, filters, 16000, "float32")
    x = spectra(7, frequencies, frames)
    stack = bank.apply(x)
    for number, one in enumerate(x):
        np.testing.assert_array_equal(bank.apply(one), stack[number])
        np.testing.assert_array_equal(bank.apply(np.asfortranarray(one)), stack[number])
        np.testing.assert_array_equal(bank.apply(one[:, :1]), stack[number, :, :1])


def test_infinity_reaches_every_filter_and_leaves_other_frames_alone():
    bank = banks.mel_filter_bank(201, 0.0, 8000.0, 40, 16000, "none", "htk", "float32")
    x = spectra(2, 201, 9)
    expected = bank.apply(x)
    x[1, 20, 3] = np.inf
    with np.errstate(invalid="ignore"):
        result = bank.apply(x)
        dense = np.matmul(bank.weights.T, x[1])
    np.testing.assert_array_equal(np.isnan(result[1, :, 3]), np.isnan(dense[:, 3]))
    assert np.isnan(result[1, :, 3]).sum() > 30
    result[1, :, 3] = expected[1, :, 3]
    np.testing.assert_array_equal(result, expected)
