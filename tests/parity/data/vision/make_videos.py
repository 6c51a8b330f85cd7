"""Write the videos of files/, with PyAV. Run once, by hand; the files are kept.

Also used by the tests that make videos of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import av
import numpy as np

from tests.parity.data.vision.inputs import FILES, smooth


def picture(i: int, height: int, width: int) -> np.ndarray:
    """A scene that moves and changes its light from frame to frame."""
    return np.roll(smooth(height, width), 3 * i, axis=1) // 2 + np.uint8(12 * (i % 10))


def write(
    path: str | os.PathLike[str],
    frames: int = 10,
    codec: str = "mpeg4",
    size: tuple[int, int] = (32, 48),
    pixels: str = "yuv420p",
    rate: int = 25,
    between: int = 0,
    group: int = 4,
    time: Callable[[int], int] = lambda i: i,
    sound: str | None = None,
    channels: str = "stereo",
    pieces: int = 8,
    hertz: int = 16000,
) -> None:
    """A video of some frames (none at all for 0), with B frames (`between`), with sound."""
    with av.open(os.fspath(path), "w") as out:
        image = out.add_stream(codec, rate=rate) if frames else None
        if image is not None:
            image.height, image.width = size
            image.pix_fmt = pixels
            image.gop_size, image.max_b_frames = group, between
        audio = out.add_stream(sound, rate=hertz, layout=channels) if sound else None
        for i in range(frames):
            frame = av.VideoFrame.from_ndarray(picture(i, *size), "rgb24")
            frame.pts, frame.time_base = time(i), Fraction(1, rate)
            out.mux(image.encode(frame))
        if image is not None:
            out.mux(image.encode(None))
        if audio is not None:
            for frame in waves(audio, channels, pieces, hertz):
                out.mux(audio.encode(frame))
            out.mux(audio.encode(None))


def waves(stream: Any, channels: str, pieces: int, hertz: int) -> Any:
    """Pieces of sound: a ramp in whole numbers, a tone otherwise; the channels differ in sign."""
    form = stream.codec_context.format.name
    length = stream.codec_context.frame_size or 1000
    signs = np.array([1, -1])[: 1 if channels == "mono" else 2, None]
    for i in range(pieces):
        t = np.arange(i * length, (i + 1) * length)
        if form.startswith("s16"):
            samples = (signs * (t % 30000)).astype(np.int16)
        else:
            samples = (signs * np.sin(t * 2 * np.pi * 440 / hertz) / 2).astype(np.float32)
        if not form.endswith("p"):
            samples = samples.T.reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), form, channels)
        frame.sample_rate, frame.pts, frame.time_base = hertz, i * length, Fraction(1, hertz)
        yield frame


def main() -> None:
    write(FILES / "plain.mp4", sound="aac")
    write(FILES / "between.mp4", 20, "libx264", between=2, group=8)
    write(FILES / "mono.avi", 7, rate=10, sound="pcm_s16le", channels="mono")
    write(FILES / "odd.avi", 4, "ffv1", (33, 47), "yuv444p")
    write(FILES / "late.mkv", 5, "ffv1", (16, 24), "gray", time=lambda i: 5 + i * i)
    write(FILES / "sound.mp4", 0, sound="aac")
    write(FILES / "bare.h264", 6, "libx264")
    whole = (FILES / "plain.mp4").read_bytes()
    (FILES / "cut.mp4").write_bytes(whole[: len(whole) // 2])


if __name__ == "__main__":
    main()
