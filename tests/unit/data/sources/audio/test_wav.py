"""Sound files of every width, and damaged ones."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.audio_files import read_audio, read_sphere, read_wav
from millrace._src.data.sources.audio.tedlium import TedliumDataset
from tests.parity.data.small_sources import audio_folders
from tests.parity.data.small_sources.tiny import samples, sph, wav


def riff(sample_format, width, data, channels=1, extra=b""):
    layout = (
        struct.pack("<HHIIHH", sample_format, channels, 8000, 8000 * width, width * channels, width * 8)
        + extra
    )
    body = b"fmt " + struct.pack("<I", len(layout)) + layout + b"LIST" + struct.pack("<I", 3) + b"abc\0"
    body += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


@pytest.mark.parametrize(
    ("sample_format", "width", "data", "wanted"),
    [
        (1, 1, bytes([1, 128, 255]), [-1, 0, 1]),
        (1, 2, struct.pack("<3h", -32767, 0, 32767), [-1, 0, 1]),
        (1, 3, b"\x01\x00\x80" + bytes(3) + b"\xff\xff\x7f", [-1, 0, 1]),
        (1, 4, struct.pack("<3i", -(2**31) + 1, 0, 2**31 - 1), [-1, 0, 1]),
        (3, 4, struct.pack("<3f", -1, 0, 0.5), [-1, 0, 0.5]),
        (3, 8, struct.pack("<3d", -1, 0, 0.5), [-1, 0, 0.5]),
    ],
)
def test_every_width(tmp_path, sample_format, width, data, wanted):
    path = tmp_path / "a.wav"
    path.write_bytes(riff(sample_format, width, data))
    waveform, rate = read_wav(str(path))
    assert (waveform.tolist(), rate, waveform.dtype) == ([wanted], 8000, np.float32)
    extensible = struct.pack("<HHIH", 22, width * 8, 0, sample_format) + bytes(14)
    path.write_bytes(riff(0xFFFE, width, data, extra=extensible))
    assert read_wav(str(path))[0].tolist() == [wanted]


def test_channels_are_apart(tmp_path):
    wav(tmp_path / "a.wav", 5, frames=3, channels=2)
    wanted = samples(5, 6).reshape(3, 2).T / np.float32(32767)
    assert np.allclose(read_wav(str(tmp_path / "a.wav"))[0], wanted)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(offset=st.integers(0, 123), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_wav_is_refused_or_read(tmp_path, offset, byte, cut):
    path = wav(tmp_path / "a.wav", 1)
    data = bytearray(path.read_bytes())
    data[offset] = byte
    path.write_bytes(bytes(data[:offset] if cut else data))
    error = None
    try:
        read_wav(str(path))
    except FormatError as caught:
        error = caught
    assert error is None or str(path) in str(error)


def test_other_formats_through_soundfile(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    soundfile.write(tmp_path / "a.flac", np.array([0, 0.5, -0.5]), 8000, subtype="PCM_16")
    waveform, rate = read_audio(str(tmp_path / "a.flac"))
    assert (waveform.tolist(), rate) == ([[0, 0.5, -0.5]], 8000)


def test_sphere_of_either_byte_order(tmp_path):
    path = sph(tmp_path / "a.sph", 4, frames=64, rate=16)
    little, rate = read_sphere(str(path), 1.0, 2.0)
    assert rate == 16
    assert np.allclose(little, samples(4, 64)[16:32] / np.float32(32767))
    data = path.read_bytes()
    swapped = np.frombuffer(data[1024:], "<i2").astype(">i2").tobytes()
    path.write_bytes(data[:1024].replace(b"-s2 01", b"-s2 10") + swapped)
    assert np.array_equal(read_sphere(str(path), 1.0, 2.0)[0], little)
    with pytest.raises(FormatError, match="ends before"):
        read_sphere(str(path), 3.0, 9.0)


def test_tedlium_gives_the_sound_of_each_cut(tmp_path):
    audio_folders.tedlium3(tmp_path)
    data = TedliumDataset(str(tmp_path), "release3", shuffle=False)
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [str(row["talk_id"]) for row in rows[:2]] == ["Al_2009", "Zed_2001"]
    assert np.allclose(rows[1]["waveform"], samples(0, 800) / np.float32(32767))
    assert np.allclose(rows[4]["waveform"], samples(1, 4000)[1600:3200] / np.float32(32767))
