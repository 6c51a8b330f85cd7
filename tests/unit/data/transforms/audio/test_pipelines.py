"""Audio transforms in a pipeline, and without the library they need."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.audio as A
from millrace._src.core import settings
from millrace._src.core.errors import DataError
from tests.parity.data.audio.inputs import noise


def waves(count=6, size=50):
    return ds.NumpySlicesDataset({"wave": noise(count, 2, size).astype(np.float32)}, shuffle=False)


def test_a_chain_gives_what_eager_calls_give(no_leaks):
    chain = [A.HighpassBiquad(16000, 500.0), A.Gain(3.0), A.Fade(5, 5), A.MuLawEncoding()]
    data = waves().map(chain, "wave").batch(3)
    made = np.concatenate([row["wave"] for row in data.create_dict_iterator(1, output_numpy=True)])
    for i, wave in enumerate(noise(6, 2, 50).astype(np.float32)):
        for op in chain:
            wave = op(wave)
        np.testing.assert_array_equal(made[i], wave)


def test_two_columns_come_of_a_complex_one(no_leaks):
    data = ds.NumpySlicesDataset({"x": noise(4, 3, 5, 2)}, shuffle=False)
    data = data.map(A.Magphase(), "x", ["size", "angle"])
    for i, row in enumerate(data.create_dict_iterator(1, output_numpy=True)):
        value = noise(4, 3, 5, 2)[i]
        np.testing.assert_allclose(row["size"], np.hypot(value[..., 0], value[..., 1]))
        np.testing.assert_allclose(row["angle"], np.arctan2(value[..., 1], value[..., 0]))


def test_a_wave_that_is_wrong_is_named(no_leaks):
    rows = [(np.ones(4, np.float32),), (np.ones(4, np.int16),)]
    data = ds.GeneratorDataset(rows, ["wave"], shuffle=False).map(A.LowpassBiquad(16000, 500.0), "wave")
    with settings.override(executor="inline"), pytest.raises(DataError) as caught:
        list(data.create_dict_iterator(1, output_numpy=True))
    text = str(caught.value)
    assert "LowpassBiquad: the data type of input tensor does not match" in text
    assert "row: 1" in text
    assert "wave" in text


def test_without_scipy_the_message_says_what_to_install(monkeypatch, no_leaks):
    monkeypatch.setitem(sys.modules, "scipy.signal", None)
    op = A.LowpassBiquad(16000, 500.0)
    words = "filtering a waveform needs 'scipy.signal', which is not installed: pip install"
    with pytest.raises(ImportError, match=words):
        op(np.ones(4, np.float32))
    with settings.override(executor="inline"), pytest.raises(Exception, match=words):
        list(waves().map(op, "wave").create_dict_iterator(1, output_numpy=True))
