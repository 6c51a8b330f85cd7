"""Decode videos with FFmpeg (PyAV). Files may come from untrusted sources: formats and sizes are limited."""

from __future__ import annotations

import contextlib
import io
import math
import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, BinaryIO

import numpy as np

from millrace._src.core import settings
from millrace._src.core.errors import DataError
from millrace._src.core.log import get_logger
from millrace._src.core.optional import require

from .image_header import check_size
from .validation import Array

__all__ = ["FrameConverter", "TimeRange", "decode", "frame_times", "open_container", "video_stream"]

_log = get_logger(__name__)

# Containers of video files. Playlists are excluded: FFmpeg would open the files that they name.
_CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,avi,asf,matroska,webm,h264,hevc,mpegts,mpeg,mpegvideo,m4v,flv,ogg"


@contextlib.contextmanager
def open_container(source: str | bytes | memoryview, op: str) -> Iterator[Any]:
    """Open the container in a file or in bytes; errors of FFmpeg become errors that name the file."""
    av = require("av", extra="video", purpose="reading videos")
    name = repr(source) if isinstance(source, str) else f"a video of {len(source)} bytes"
    file: BinaryIO
    if isinstance(source, str):
        if os.path.getsize(source) == 0:
            raise DataError(f"{op}: {source} has invalid file size 0", file=source)
        file = open(source, "rb")  # noqa: SIM115 - closed below, after the container
    else:
        file = io.BytesIO(source)
    with file:
        try:
            rules = {"format_whitelist": _CONTAINERS, "protocol_whitelist": "none"}
            with av.open(file, container_options=rules, **_metadata_options(av)) as container:
                yield container
        except (av.error.FFmpegError, OSError) as error:
            raise DataError(f"{op}: Failed to read {name}: {_error_text(error)}; {_ADVICE}") from error


def _metadata_options(av: Any) -> dict[str, str]:
    """Options that accept metadata that is not UTF-8: PyAV 19 accepts it by default, and has no argument for it."""
    return {"metadata_errors": "replace"} if int(av.__version__.partition(".")[0]) < 19 else {}


_ADVICE = "it is not a video of a known format, or damaged, or cut short."


def _error_text(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).rstrip(".")


def video_stream(container: Any, op: str, threads: int = 0) -> Any:
    """The first video stream or None, ready to decode; raises an error if its frames are too large."""
    if not container.streams.video:
        return None
    stream = container.streams.video[0]
    if stream.codec_context is None or not stream.width or not stream.height:
        where = "" if container.name == "<none>" else f" in {container.name}"
        raise DataError(f"{op}: the video{where} has an unknown codec or no size: {_ADVICE}")
    check_size(op, (stream.height, stream.width))
    limit = settings.current().max_image_pixels
    if limit is not None:
        # frames may be larger than in the header of the container; FFmpeg rounds sizes up before it compares
        stream.codec_context.options = {"max_pixels": str(2 * limit + 2**16)}
    stream.codec_context.thread_count = threads
    stream.thread_type = "AUTO" if threads != 1 else "NONE"
    return stream


class TimeRange:
    """Times from start to end, both included, in a stream's time base; no end is no limit.

    >>> TimeRange(0.5, None, "sec", Fraction(1, 25)).low
    13
    """

    def __init__(self, start: Any = 0, end: Any = None, unit: str = "pts", base: Any = None) -> None:
        scale = Fraction(1) / base if unit == "sec" and base else 1
        self.low = _round_time(start * scale)
        self.high = math.inf if end is None else _round_time(end * scale)


def _round_time(value: Any) -> float:
    return value if isinstance(value, float) and math.isinf(value) else math.floor(value + Fraction(1, 2))


class _Clock:
    """Time of each frame; computed from the frame rate where the stream has none (raw H.264)."""

    def __init__(self, stream: Any) -> None:
        rate, base = stream.average_rate, stream.time_base
        self.step = round(1 / (rate * base)) if rate and base else 1
        self.count = 0

    def time(self, frame: Any) -> int:
        timestamp = frame.pts if frame.pts is not None else self.count * self.step
        self.count += 1
        return int(timestamp)


class _ByteBudget:
    """Counts the bytes of the result, and raises an error above the limit of the setting."""

    def __init__(self, op: str) -> None:
        self.op, self.bytes, self.most = op, 0, settings.current().max_video_bytes

    def add(self, size: int) -> None:
        self.bytes += size
        if self.most is not None and self.bytes > self.most:
            raise DataError(
                f"{self.op}: the decoded video takes more than {self.most} bytes; read a part of it "
                "(start_pts and end_pts of read_video), or change config.set_max_video_bytes."
            )


class FrameConverter:
    """Converts frames to pixels <H,W,C> in the size of their stream: the size of frames may change within it."""

    def __init__(self, stream: Any) -> None:
        av = require("av", extra="video", purpose="reading videos")
        self.reformatter = av.video.reformatter.VideoReformatter()
        self.wanted = {"width": stream.width, "height": stream.height, "format": "rgb24"}
        # separate threads cost more than they save; PyAV has the option since version 17
        if int(av.__version__.partition(".")[0]) >= 17:
            self.wanted["threads"] = 1

    def to_rgb(self, frame: Any) -> Array:
        pixels: Array = self.reformatter.reformat(frame, **self.wanted).to_ndarray()
        return pixels


def decode(
    source: str | bytes | memoryview,
    op: str,
    start: Any = 0,
    end: Any = None,
    unit: str = "pts",
    threads: int = 0,
) -> tuple[Array, Array, dict[str, Any]]:
    """Decode frames <T,H,W,C>, audio <C,L> and rates from start to end.

    The audio has no timestamps: as in MindSpore it is the same share of the whole as the frames.
    """
    with open_container(source, op) as container:
        stream = video_stream(container, op, threads)
        sound = container.streams.audio[0] if container.streams.audio else None
        if sound is not None and sound.codec_context is None:
            _log.warning("%s: %s has audio of an unknown codec, which is skipped", op, _source_name(source))
            sound = None
        if stream is None and sound is None:
            raise DataError(f"{op}: Neither audio nor visual is found in {_source_name(source)}: {_ADVICE}")
        meta: dict[str, Any] = {}
        if sound is not None:
            meta["audio_fps"] = sound.rate
        if stream is not None and stream.average_rate:
            meta["video_fps"] = float(stream.average_rate)
        frames, waves, first, count = _decode_streams(container, stream, sound, op, start, end, unit)
        shape = (stream.height, stream.width, 3) if stream is not None else (1, 1, 3)
        audio = _join_audio(waves, sound, op)
        if stream is not None:
            _warn_missing_frames(stream, count, source, op, whole=not start and end is None)
            if sound is not None and count:
                share = audio.shape[1] / count
                begin = math.floor(first * share + 0.5)
                audio = audio[:, begin : begin + math.floor(len(frames) * share + 0.5)]
    return _stack_frames(frames, shape), np.ascontiguousarray(audio), meta


def _decode_streams(
    container: Any, stream: Any, sound: Any, op: str, start: Any, end: Any, unit: str
) -> tuple[list[Array], list[Array], int, int]:
    """(frames in the range, all audio, index of the first frame in the range, number of all frames)."""
    budget = _ByteBudget(op)
    frames: list[Array] = []
    waves: list[Array] = []
    first = count = 0
    span, clock = TimeRange(), None
    if stream is not None:
        span, clock, converter = (
            TimeRange(start, end, unit, stream.time_base),
            _Clock(stream),
            FrameConverter(stream),
        )
        if not start and end is None:
            budget.add(stream.frames * stream.height * stream.width * 3)
            budget.bytes = 0
    for packet in container.demux([candidate for candidate in (stream, sound) if candidate is not None]):
        for frame in packet.decode():
            if clock is None or packet.stream is not stream:
                waves.append(_audio_samples(frame))
                budget.add(waves[-1].nbytes)
                continue
            time = clock.time(frame)
            if span.low <= time <= span.high:
                first = first if frames else count
                budget.add(stream.height * stream.width * 3)
                frames.append(converter.to_rgb(frame))
            elif time > span.high and sound is None:
                return frames, waves, first, count
            count += 1
    return frames, waves, first, count


def _audio_samples(frame: Any) -> Array:
    """Samples <C,L> of one audio frame, in the type they are stored in."""
    samples: Array = frame.to_ndarray()
    return samples if frame.format.is_planar else samples.reshape(-1, len(frame.layout.channels)).T


def _join_audio(waves: list[Array], stream: Any, op: str) -> Array:
    if not waves:
        return np.empty((len(stream.layout.channels) if stream is not None else 1, 0), np.float32)
    if len({(wave.shape[0], wave.dtype) for wave in waves}) > 1:
        raise DataError(f"{op}: the sound changes its number of channels or its type on the way.")
    return np.concatenate(waves, axis=1)


def _stack_frames(frames: list[Array], shape: tuple[int, ...]) -> Array:
    """One array of all frames; each frame is freed once it is copied."""
    stacked = np.empty((len(frames), *shape), np.uint8)
    for i in reversed(range(len(frames))):
        stacked[i] = frames.pop()
    return stacked


def _source_name(source: str | bytes | memoryview) -> str:
    return source if isinstance(source, str) else f"a video of {len(source)} bytes"


def _warn_missing_frames(stream: Any, count: int, source: Any, op: str, whole: bool) -> None:
    """Warn if a file holds fewer frames than its header announces, for example after an edit."""
    if whole and count < stream.frames:
        _log.warning(
            "%s: %s holds %d of the %d frames it announces", op, _source_name(source), count, stream.frames
        )


def frame_times(container: Any, stream: Any) -> list[int]:
    """Time of every frame, in the stream's time base, in order of presentation."""
    clock = _Clock(stream)
    return [clock.time(frame) for frame in container.decode(stream)]
