"""Levels, delays, codecs and decibels: what goldens do not say."""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset.audio as A
from tests.parity.data.audio.inputs import noise


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_mu_law_there_and_back(kind):
    x = noise(500).astype(kind)
    levels = A.MuLawEncoding()(x)
    assert levels.min() >= 0
    assert levels.max() <= 255
    assert np.abs(A.MuLawDecoding()(levels) - x).max() < 0.025


def test_a_shift_below_zero_is_one_above_zero_upside_down():
    x = noise(200)
    np.testing.assert_array_equal(A.DCShift(-0.5, 0.02)(x), -A.DCShift(0.5, 0.02)(-x))


def test_decibels_there_and_back():
    x = np.abs(noise(6, 7)) + 0.01
    np.testing.assert_allclose(A.DBToAmplitude(1.0, 1.0)(A.AmplitudeToDB()(x)), x, rtol=1e-6)


def test_amin_bounds_the_values():
    made = A.AmplitudeToDB(amin=0.1)(np.array([[1.0, 0.01, 0.0]]))
    np.testing.assert_allclose(made, [[0, -10, -10]], atol=1e-6)


def test_the_loudest_value_is_that_of_its_own_row_in_a_column():
    xs = np.stack([np.full((2, 3), 1.0), np.full((2, 3), 1e-6)])
    xs[:, 0, 0] = 1e-9
    op = A.AmplitudeToDB(top_db=10.0)
    whole = op.batch(xs)
    np.testing.assert_array_equal(whole, np.stack([op(x) for x in xs]))
    assert whole[1, 0, 0] == pytest.approx(-70, abs=1e-3)


def _slow_flanger(x, delays, feedback, dry, wet):
    """One value after the other."""
    buffer, made, last = [], [], 0.0
    for t, value in enumerate(x):
        buffer.append(value + feedback * last)
        whole = int(delays[t])
        part = delays[t] - whole
        at = [buffer[t - k] if t >= k else 0.0 for k in (whole, whole + 1)]
        last = at[0] + (at[1] - at[0]) * part
        made.append(min(1.0, max(-1.0, value * dry + last * wet)))
    return np.array(made)


@pytest.mark.parametrize("regen", [0.0, 60.0, -60.0])
def test_flanger_is_what_one_value_after_the_other_gives(regen):
    rate, speed, depth = 8000, 2.0, 3.0
    x = noise(1, 2500)
    made = A.Flanger(rate, 0.0, depth, regen, 50.0, speed)(x)[0]
    period = int(rate / speed)
    point = (np.arange(2500) + int(0.75 * period + 0.5)) % period
    delays = (np.sin(point / period * 2 * np.pi) + 1) / 2 * int(depth / 1000 * rate + 0.5)
    feedback = regen / 100
    wet = 0.5 / 1.5 * (1 - abs(feedback))
    np.testing.assert_allclose(made, _slow_flanger(x[0], delays, feedback, 1 / 1.5, wet), atol=1e-9)


def test_phaser_is_what_one_value_after_the_other_gives():
    rate, longest = 8000, 24
    x = noise(3000)
    made = A.Phaser(rate, 0.5, 0.5, 3.0, 0.5, 2.0)(x)
    period = rate // 2
    point = (np.arange(3000) % period + int(0.25 * period + 0.5)) % period
    wave = (np.sin(point / period * 2 * np.pi) + 1) / 2 * (longest - 1) + 1
    delay = longest + 1 - (wave + 0.5).astype(int)
    y = np.zeros(3000)
    for t in range(3000):
        y[t] = 0.5 * x[t] + (0.5 * y[t - delay[t]] if t >= delay[t] else 0.0)
    np.testing.assert_allclose(made, np.clip(0.5 * y, -1, 1), atol=1e-9)


def test_nan_stays_where_it_is_where_values_are_changed_by_themselves():
    x = noise(2, 20).astype(np.float32)
    x[0, 3] = np.nan
    for op in (
        A.Contrast(),
        A.DCShift(0.3, 0.1),
        A.Gain(),
        A.Vol(2.0),
        A.MuLawDecoding(),
        A.Fade(2, 2),
        A.AmplitudeToDB(),
    ):
        assert np.flatnonzero(np.isnan(op(np.abs(x)))).tolist() == [3], op
    for op in (A.Overdrive(), A.Phaser(16000), A.Flanger(16000)):
        made = op(x)
        assert np.isnan(made[0, 3])
        assert not np.isnan(made[1]).any()


def test_levels_refuse_what_has_no_level():
    for value in (np.nan, np.inf):
        with pytest.raises(RuntimeError, match="MuLawEncoding: the waveform holds NaN or an infinity"):
            A.MuLawEncoding()(np.array([0.0, value]))
