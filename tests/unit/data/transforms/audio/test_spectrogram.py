"""Spectral transforms as a user meets them: what goes there comes back, and what is wrong is named."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.audio as audio
from millrace._src.core.errors import DataError
from tests.parity.data.audio.inputs import noise, tone

RATE = 16000


def sine(pitch: float, seconds: float = 1.0, rate: int = RATE) -> np.ndarray:
    return np.sin(np.arange(int(seconds * rate)) * (2 * np.pi * pitch / rate))


def loudest(wave: np.ndarray, rate: int = RATE) -> float:
    """The frequency of a waveform's strongest part."""
    return float(np.abs(np.fft.rfft(wave * np.hanning(len(wave)))).argmax() * rate / len(wave))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("length", [999, 16000, 50000])
def test_a_spectrogram_turns_back_into_its_waveform(length, normalized, dtype):
    wave = noise(2, length).astype(dtype)
    spectrum = audio.Spectrogram(hop_length=100, power=0, normalized=normalized)(wave)
    again = audio.InverseSpectrogram(length, hop_length=100, normalized=normalized)(spectrum)
    assert again.dtype == dtype
    np.testing.assert_allclose(again, wave, atol=1e-5)


@pytest.mark.parametrize(("old", "new"), [(16000, 8000), (44100, 16000), (8000, 44100), (20159, 16000)])
def test_resampling_keeps_a_tone_at_its_pitch(old, new):
    wave = audio.Resample(old, new)(sine(440.0, rate=old).astype(np.float32))
    assert len(wave) == new
    np.testing.assert_allclose(wave[200:-200], sine(440.0, rate=new)[200:-200], atol=2e-2)


def test_a_ratio_of_many_phases_is_resampled_as_a_simple_one_is():
    wave = noise(3000)
    one = audio.Resample(20158, 16000)(wave)  # 8000 phases: by taps
    two = audio.Resample(1259.875 * 1000, 1000 * 1000)(wave)  # the same ratio
    np.testing.assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize("steps", [-5, 3, 12])
def test_a_shifted_tone_has_another_pitch_and_the_same_length(steps):
    wave = audio.PitchShift(RATE, steps)(sine(440.0).astype(np.float32))
    assert len(wave) == RATE
    assert loudest(wave) == pytest.approx(440 * 2 ** (steps / 12), rel=0.01)


@pytest.mark.parametrize("rate", [0.5, 1.7])
def test_a_stretched_tone_keeps_its_pitch(rate):
    spectrum = audio.Spectrogram(power=0)(sine(440.0))
    wave = audio.InverseSpectrogram()(audio.TimeStretch(fixed_rate=rate)(spectrum))
    assert len(wave) == pytest.approx(RATE / rate, rel=0.03)
    assert loudest(wave) == pytest.approx(440, rel=0.01)


@pytest.mark.parametrize("rand_init", [False, True])
def test_phases_are_found_for_magnitudes(rand_init):
    wave = sine(440.0, 0.5) + 0.5 * sine(1310.0, 0.5)
    spectrum = audio.Spectrogram(hop_length=100)(wave)
    found = audio.GriffinLim(hop_length=100, rand_init=rand_init)(spectrum)
    again = audio.Spectrogram(hop_length=100)(found)
    assert np.linalg.norm(again - spectrum) < 0.4 * np.linalg.norm(spectrum)


def test_mels_are_turned_back_no_worse_than_asked():
    mels = audio.MelScale(n_mels=6, n_stft=21)(np.abs(noise(2, 21, 5)))
    found = audio.InverseMelScale(21, n_mels=6, tolerance_change=1e-12)(mels)
    assert (found >= 0).all()
    again = audio.MelScale(n_mels=6, n_stft=21)(found)
    # what is negative becomes 0 at the end, so that it is not as near as the descent was
    assert np.square(again - mels).mean() < 0.02


def test_mels_are_turned_back_as_steps_of_descent_do():
    """The steps are not walked; here they are."""
    mels, frames = np.abs(noise(6, 5)) * 3, 5
    bank = audio.melscale_fbanks(21, 0, 8000, 6, 16000).astype(np.float64)
    ds.config.set_seed(3)
    start = audio.InverseMelScale(21, 6, max_iter=1, sgdargs={"sgd_lr": 0.0, "sgd_momentum": 0.9})(mels)[0]
    ds.config.set_seed(3)
    made = audio.InverseMelScale(21, 6, max_iter=200)(mels)[0]
    loss = np.inf
    for _ in range(200):
        error = mels - bank.T @ start
        now = np.square(error).mean()
        if now < 1e-5 or abs(loss - now) < 1e-8:
            break
        loss, start = now, start + 0.1 / frames * bank @ error
    np.testing.assert_allclose(made, np.maximum(start, 0), atol=1e-9)


def test_speech_is_found_where_it_begins():
    quiet = noise(2 * RATE) * 1e-3
    voice = sum(tone(2 * RATE, 150.0 * k) / k for k in range(1, 9))
    found = audio.Vad(RATE)(np.concatenate([quiet, quiet + voice]))
    assert len(found) == pytest.approx(2 * RATE, rel=0.1)


def test_of_silence_the_end_is_left():
    quiet = np.zeros(4 * RATE, np.float32)
    assert audio.Vad(RATE)(quiet).shape == (17600,)
    assert audio.Vad(RATE)(quiet[:RATE]).shape == (RATE,)


@pytest.mark.parametrize("pitch", [110.0, 230.0])
def test_the_pitch_of_a_tone(pitch):
    found = audio.DetectPitchFrequency(RATE)(sine(pitch))
    np.testing.assert_allclose(found, pitch, rtol=0.05)


def test_means_of_windows_that_are_wider_than_the_frames():
    x = noise(4, 3).astype(np.float32)
    np.testing.assert_allclose(audio.SlidingWindowCmn(center=True)(x), x - x.mean(0), atol=1e-6)


def test_a_nan_stays_where_it_is():
    wave = noise(4000).astype(np.float32)
    wave[2000] = np.nan
    spectrum = audio.MelSpectrogram()(wave)
    assert np.isnan(spectrum[:, 10:12]).all()
    assert np.isfinite(spectrum[:, :10]).all()
    assert np.isfinite(spectrum[:, 12:]).all()
    assert np.isfinite(audio.Resample(16000, 8000)(wave)[:900]).all()


@pytest.mark.parametrize("inputs", [(16000,), (3, 4000), (2, 2, 900)])
@pytest.mark.parametrize("make", [audio.MFCC, audio.LFCC, audio.MelSpectrogram])
def test_in_a_pipeline_as_alone(make, inputs, no_leaks):
    waves = noise(5, *inputs).astype(np.float32) * np.array([1e-4, 1, 3, 1e-3, 2], np.float32).reshape(
        5, *[1] * len(inputs)
    )
    data = ds.NumpySlicesDataset({"x": waves}, shuffle=False).map(make(), "x").batch(5)
    [row] = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    np.testing.assert_array_equal(row[0], np.stack([make()(wave) for wave in waves]))


def test_a_row_that_is_too_short_is_named(no_leaks):
    rows = [np.ones(500, np.float32), np.ones(100, np.float32)]
    data = ds.GeneratorDataset(lambda: iter([(row,) for row in rows]), ["x"]).map(audio.MelSpectrogram(), "x")
    with pytest.raises(DataError, match=r"(?s)MelSpectrogram: Padding size.*row: 1"):
        list(data.create_dict_iterator(1, output_numpy=True))


def test_settings_given_as_a_dict_are_left_as_they_were():
    given = {"n_fft": 64, "n_mels": 10}
    made = audio.MFCC(n_mfcc=8, melkwargs=given)
    assert given == {"n_fft": 64, "n_mels": 10}
    assert made.melkwargs["hop_length"] == 32
    wave = noise(200)
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again(wave), made(wave))


def test_a_filter_bank_that_was_given_is_the_users_own():
    audio.melscale_fbanks(21, 0, 8000, 6, 16000)[:] = 7
    assert audio.melscale_fbanks(21, 0, 8000, 6, 16000).max() <= 1
