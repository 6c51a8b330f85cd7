"""Audio files as float32 waveforms: WAV and NIST SPHERE natively, others through soundfile."""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.core.optional import require

__all__ = ["MAX_AUDIO_BYTES", "read_audio", "read_sphere", "read_wav"]

Wave = npt.NDArray[np.float32]

# Larger files are refused: a day of speech at 16 kHz has less than three gigabytes.
MAX_AUDIO_BYTES = 4 << 30

# MindSpore's scale: 16-bit samples are divided by the largest one, so the smallest is a little below -1.
_LARGEST = {1: 127.0, 2: 32767.0, 3: 8388607.0, 4: 2147483647.0}
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE


def read_audio(path: str) -> tuple[Wave, int]:
    """Samples and sample rate of an audio file of any supported format.

    >>> import wave
    >>> with wave.open("a.wav", "wb") as file:
    ...     file.setparams((1, 2, 8000, 2, "NONE", ""))
    ...     file.writeframes(bytes([0, 0, 255, 127]))
    >>> samples, rate = read_audio("a.wav")
    >>> samples.tolist(), rate
    ([[0.0, 1.0]], 8000)
    """
    with open(path, "rb") as file:
        start = file.read(8)
    if start[:4] == b"RIFF":
        return read_wav(path)
    if start == b"NIST_1A\n":
        return read_sphere(path)
    soundfile = require("soundfile", extra="audio", purpose=f"reading {path} (neither WAV nor SPHERE)")
    try:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except RuntimeError as error:
        raise FormatError(f"not a sound file that can be read: {error}", file=path) from error
    return np.ascontiguousarray(samples.T), int(rate)


def read_wav(path: str) -> tuple[Wave, int]:
    """Samples and sample rate of a WAV file: PCM of 8 to 32 bits or floats, any number of channels."""
    file_size = os.path.getsize(path)
    if file_size > MAX_AUDIO_BYTES:
        raise FormatError(f"a sound file of more than {MAX_AUDIO_BYTES} bytes cannot be read", file=path)
    with open(path, "rb") as file:
        head = file.read(12)
        if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WAVE":
            raise FormatError("Invalid file, this is not a WAV file", file=path)
        layout: tuple[int, ...] | None = None
        while True:
            chunk = file.read(8)
            if len(chunk) < 8:
                raise FormatError("the WAV file has no samples (cut short?)", file=path)
            chunk_id, size = struct.unpack("<4sI", chunk)
            if chunk_id == b"fmt ":
                body = file.read(min(size, 40))
                if len(body) < 16:
                    raise FormatError("the WAV file's description is cut short", file=path)
                layout = struct.unpack("<HHIIHH", body[:16])
                if layout[0] == _EXTENSIBLE and len(body) >= 26:
                    layout = (struct.unpack("<H", body[24:26])[0], *layout[1:])
                file.seek(max(0, size - 40) + size % 2, os.SEEK_CUR)
            elif chunk_id == b"data":
                if layout is None:
                    raise FormatError("the WAV file's samples come before their description", file=path)
                return _decode_samples(file.read(min(size, file_size)), size, layout, path), layout[2]
            else:
                file.seek(size + size % 2, os.SEEK_CUR)


def _decode_samples(data: bytes, size: int, layout: tuple[int, ...], path: str) -> Wave:
    sample_format, channels, _, _, _, bits = layout
    width = (bits + 7) // 8
    if not 1 <= channels <= 256 or sample_format not in (_PCM, _FLOAT) or width not in (1, 2, 3, 4, 8):
        raise FormatError(
            f"a WAV file of format {sample_format} with {channels} channels of {bits} bits cannot be read",
            file=path,
        )
    # an interrupted recorder leaves 0 or the maximum as the length
    if len(data) < size and size < 0xFFFFFF00:
        raise FormatError(f"the WAV file is cut short: {len(data)} of {size} bytes of samples", file=path)
    data = data[: len(data) // (width * channels) * (width * channels)]
    if sample_format == _FLOAT:
        if width not in (4, 8):
            raise FormatError(f"floats of {bits} bits cannot be read", file=path)
        flat: npt.NDArray[Any] = np.frombuffer(data, f"<f{width}").astype(np.float32)
    elif width == 1:  # 8-bit samples are unsigned
        flat = (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / np.float32(_LARGEST[1])
    elif width == 3:
        bytes_ = np.frombuffer(data, np.uint8).reshape(-1, 3).astype(np.int32)
        flat = bytes_[:, 0] | bytes_[:, 1] << 8 | (bytes_[:, 2] ^ 0x80) - 0x80 << 16
        flat = (flat / _LARGEST[3]).astype(np.float32)
    elif width in (2, 4):
        flat = (np.frombuffer(data, f"<i{width}") / _LARGEST[width]).astype(np.float32)
    else:
        raise FormatError(f"integers of {bits} bits cannot be read", file=path)
    return np.ascontiguousarray(flat.reshape(-1, channels).T)


def read_sphere(path: str, start: float = 0.0, end: float | None = None) -> tuple[Wave, int]:
    """Samples and sample rate of a 16-bit NIST SPHERE file, or of the segment from ``start`` to ``end`` (seconds).

    >>> with open("a.sph", "wb") as file:
    ...     head = b"NIST_1A\\n   1024\\nsample_rate -i 8\\nsample_byte_format -s2 01\\nend_head\\n"
    ...     _ = file.write(head.ljust(1024) + bytes([0, 0, 255, 127]))
    >>> read_sphere("a.sph")[0].tolist()
    [[0.0, 1.0]]
    """
    with open(path, "rb") as file:
        first = file.read(16)
        if first[:8] != b"NIST_1A\n" or not first[8:].strip().isdigit() or int(first[8:]) > 1 << 20:
            raise FormatError("Invalid file, this is not a SPHERE file", file=path)
        size = int(first[8:])
        text = file.read(size - 16).decode("latin-1").split("end_head")[0]
        parts = [line.split(None, 2) for line in text.splitlines()]
        fields = {part[0]: part[2] for part in parts if len(part) == 3}
        try:
            rate, width = int(fields["sample_rate"]), int(fields.get("sample_n_bytes", "2"))
            channels = int(fields.get("channel_count", "1"))
        except (KeyError, ValueError) as error:
            raise FormatError(f"the SPHERE file's header is damaged: {error}", file=path) from None
        coding = fields.get("sample_coding", "pcm")
        if width != 2 or not 1 <= channels <= 256 or not coding.startswith("pcm") or "," in coding:
            raise FormatError(
                f"a SPHERE file of {width} bytes a sample, coded {coding!r}, cannot be read", file=path
            )
        order = ">" if fields.get("sample_byte_format", "01").strip() == "10" else "<"
        if not 0 < rate < 1 << 31 or not 0 <= start <= (start if end is None else end) < 1 << 31:
            raise FormatError(f"seconds {start} to {end} at {rate} Hz cannot be cut out", file=path)
        low = int(start * rate) * 2 * channels
        file.seek(size + low)
        wanted = MAX_AUDIO_BYTES if end is None else int(end * rate) * 2 * channels - low
        data = file.read(min(wanted, os.fstat(file.fileno()).st_size))
    if end is not None and len(data) < wanted:
        raise FormatError(f"the SPHERE file ends before second {end}", file=path)
    flat = np.frombuffer(data[: len(data) // (2 * channels) * 2 * channels], order + "i2")
    return np.ascontiguousarray((flat / _LARGEST[2]).astype(np.float32).reshape(-1, channels).T), rate
