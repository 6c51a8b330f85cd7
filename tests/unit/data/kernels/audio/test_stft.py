"""Windows, borders, frames and ratios, each beside a plain way to say the same."""

from __future__ import annotations

import numpy as np
import pytest

from millrace._src.core.errors import DataError
from millrace._src.data.kernels.audio import resample
from millrace._src.data.kernels.audio.stft import StftParams, istft, power_spectra, stft
from millrace._src.data.kernels.audio.window_functions import make_window, pad_signal
from tests.parity.data.audio.inputs import noise

FRAMES = StftParams(64, 50, 16, "hamming")


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        ("hann", np.hanning),
        ("hamming", np.hamming),
        ("blackman", np.blackman),
        ("bartlett", np.bartlett),
        ("kaiser", lambda n: np.kaiser(n, 12.0)),
    ],
)
def test_windows_are_periodic_and_in_the_middle(kind, plain):
    made = make_window(kind, 50, 64, "float64")
    np.testing.assert_allclose(made[7:57], plain(51)[:-1], atol=1e-7)
    assert not made[:7].any()
    assert not made[57:].any()


@pytest.mark.parametrize(("left", "right"), [(0, 3), (4, 0), (4, 4), (5, 5), (13, 11)])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_borders_are_numpys(mode, left, right):
    x = noise(2, 5)
    np.testing.assert_array_equal(pad_signal(x, left, right, mode), np.pad(x, [(0, 0), (left, right)], mode))


def test_one_sample_has_no_reflection():
    with pytest.raises(DataError, match="one sample cannot be reflected"):
        pad_signal(noise(1), 2, 2, "reflect")


def test_frames_are_transformed_one_by_one():
    x = np.pad(noise(300), 32, "reflect")
    made = stft(noise(300), FRAMES)
    shape = FRAMES.window(np.float64)
    for i, spectrum in enumerate(made):
        np.testing.assert_allclose(spectrum, np.fft.rfft(x[16 * i :][:64] * shape), atol=1e-12)


@pytest.mark.parametrize("power", [1, 2, 0.7])
def test_many_frames_are_as_few(power):
    """Powers are made in blocks of frames."""
    wave = noise(60000).astype(np.float32)
    made = power_spectra(wave, FRAMES, 0, power, True, "Spectrogram")
    assert len(made) == 3751
    few = power_spectra(wave[:1000], FRAMES, 0, power, True, "Spectrogram")
    np.testing.assert_array_equal(made[:60], few[:60])


@pytest.mark.parametrize("hop", [7, 16, 64, 80])
def test_what_frames_cover_comes_back(hop):
    frames = StftParams(64, 64, hop, "hamming")
    wave = noise(2, 400)
    again = istft(stft(wave, frames), frames, 400)
    covered = np.zeros(600, bool)
    for i in range(1 + 400 // hop):
        covered[i * hop : i * hop + 64] = True
    np.testing.assert_allclose(again[:, covered[32:432]], wave[:, covered[32:432]], atol=1e-5)


@pytest.mark.parametrize("method", ["sinc_interpolation", "kaiser_window"])
@pytest.mark.parametrize(("old", "new"), [(3, 2), (2, 3), (441, 160), (160, 441)])
def test_a_matrix_and_taps_say_the_same(old, new, method):
    wave = noise(2, 1000)
    ratio = (old, new, method, 6, 0.99, 14.769656459379492, "float64")
    length = -(-1000 * new // old)
    one, two = (
        resample._resample_by_matrix(wave, length, ratio),
        resample._resample_by_taps(wave, length, ratio),
    )
    np.testing.assert_allclose(one, two, atol=1e-12)
