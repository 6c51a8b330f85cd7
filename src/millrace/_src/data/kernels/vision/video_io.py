"""Read video files: frames and audio, timestamps, single frames."""

from __future__ import annotations

import bisect
import os
from fractions import Fraction
from typing import Any

import numpy as np

from millrace._src.core.args import check_type
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError
from millrace._src.core.public import public

from . import video_decode as video
from .validation import Array

__all__ = ["VideoDecoder", "read_video", "read_video_timestamps"]


def _check_text(value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"Input {name} is not of type {str}, but got: {type(value)}.")


def _check_time(value: Any, name: str) -> None:
    if not isinstance(value, (float, Fraction, int)):
        raise ArgumentTypeError(
            f"Input {name} is not of type [{float}, {Fraction}, {int}], but got: {type(value)}"
        )


@public("dataset.vision")
def read_video(
    filename: str,
    start_pts: float | Fraction | int = 0,
    end_pts: float | Fraction | int | None = None,
    pts_unit: str = "pts",
) -> tuple[Array, Array, dict[str, Any]]:
    """Read frames <T,H,W,C> as RGB, audio <C,L> and rates of a video file, from start to end, both included.

    Needs PyAV: ``pip install av``. Frames, times and audio equal MindSpore's, except that pixels differ by up to 3 and
    audio in floats by up to 1e-6: its FFmpeg is built without vector code and rounds differently. A truncated file is
    an error, where MindSpore gives the frames before the cut. Interleaved audio of several channels (PCM) is split
    into its channels, where MindSpore mixes them up. From PyAV 19 on, the audio ends as the file declares, where
    MindSpore includes the silence that fills the last packet. ``config.set_max_video_bytes`` limits the result.

    >>> import cv2
    >>> writer = cv2.VideoWriter("a.avi", cv2.VideoWriter_fourcc(*"MJPG"), 25, (32, 16))
    >>> for i in range(5):
    ...     _ = writer.write(np.full((16, 32, 3), 50 * i, np.uint8))
    >>> writer.release()
    >>> video, audio, rates = read_video("a.avi", start_pts=0.04, end_pts=0.12, pts_unit="sec")
    >>> video.shape, audio.shape, rates
    ((3, 16, 32, 3), (1, 0), {'video_fps': 25.0})
    """
    _check_text(filename, "filename")
    _check_time(start_pts, "start_pts")
    if start_pts < 0:
        raise ArgumentValueError(f"Not supported start_pts for {start_pts}. The start_pts should be >= 0.")
    if end_pts is not None:
        _check_time(end_pts, "end_pts")
        if end_pts < start_pts:
            raise ArgumentValueError(
                f"Not supported end_pts for {end_pts}. start_pts = {start_pts}. The end_pts should be >= start_pts."
            )
    _check_text(pts_unit, "pts_unit")
    if pts_unit not in ("pts", "sec"):
        raise ArgumentValueError(f"Not supported pts_unit for {pts_unit}")
    _check_file(filename, ArgumentValueError)
    return video.decode(filename, "ReadVideo", start_pts, end_pts, pts_unit)


def _check_file(filename: str, error_class: type[Exception]) -> None:
    if not filename or not os.path.exists(filename):
        raise error_class(f"Invalid file path, {filename} does not exist.")
    if not os.path.isfile(filename):
        raise error_class(f"Invalid file path, {filename} is not a regular file.")


@public("dataset.vision")
def read_video_timestamps(filename: str, pts_unit: str = "pts") -> tuple[list[Any], float | None]:
    """Read the timestamps of all frames of a video file, in its time base or in seconds, and the frame rate.

    Seconds have 64 bits; MindSpore's are rounded to 32. A file without frames gives ([], None).

    >>> import cv2
    >>> writer = cv2.VideoWriter("a.avi", cv2.VideoWriter_fourcc(*"MJPG"), 25, (32, 16))
    >>> for i in range(5):
    ...     _ = writer.write(np.full((16, 32, 3), 50 * i, np.uint8))
    >>> writer.release()
    >>> read_video_timestamps("a.avi"), read_video_timestamps("a.avi", "sec")[0][1]
    (([0, 1, 2, 3, 4], 25.0), 0.04)
    """
    _check_text(filename, "filename")
    _check_text(pts_unit, "pts_unit")
    op = "ReadVideoTimestamps"
    _check_file(filename, DataError)
    if pts_unit not in ("pts", "sec"):
        raise DataError(f"{op}: Not supported pts_unit for {pts_unit}; it is 'pts' or 'sec'.")
    with video.open_container(filename, op) as container:
        stream = video.video_stream(container, op)
        times = video.frame_times(container, stream) if stream is not None else []
        if not times:
            return [], None
        rate = float(stream.average_rate) if stream.average_rate else None
        return (times if pts_unit == "pts" else [float(t * stream.time_base) for t in times]), rate


@public("dataset.vision")
class VideoDecoder:
    """Decode single frames of a video file, and read its metadata.

    Needs PyAV: ``pip install av``. MindSpore decodes single frames only on Ascend devices, and only
    H.264 and H.265; here they are decoded on the CPU, from every format. The file is reopened for each call.

    >>> import cv2
    >>> writer = cv2.VideoWriter("a.avi", cv2.VideoWriter_fourcc(*"MJPG"), 25, (32, 16))
    >>> for i in range(5):
    ...     _ = writer.write(np.full((16, 32, 3), 50 * i, np.uint8))
    >>> writer.release()
    >>> decoder = VideoDecoder("a.avi")
    >>> decoder.metadata["num_frames"], decoder.get_frames_at([4, 0])[:, 0, 0, 1].tolist()
    (5, [200, 0])
    """

    def __init__(self, source: str) -> None:
        if not isinstance(source, str):
            raise ArgumentTypeError(f"path: {source} is not string")
        path = os.path.realpath(source)
        if not os.path.isfile(path) or not os.access(path, os.R_OK):
            raise ArgumentValueError(f"The file {path} does not exist or permission denied!")
        self.source = source
        with video.open_container(source, "VideoDecoder") as container:
            stream = self._stream(container)
            self._index = _FrameIndex(container, stream)
            self._metadata = _metadata(container, stream, len(self._index))

    def _stream(self, container: Any) -> Any:
        stream = video.video_stream(container, "VideoDecoder")
        if stream is None:
            raise DataError(f"VideoDecoder: {self.source} has no video in it, only sound or other data.")
        return stream

    @property
    def metadata(self) -> dict[str, Any]:
        """width, height, duration_seconds, num_frames and average_fps of the video; unknown values are None."""
        return dict(self._metadata)

    def get_frames_at(self, indices: list[int]) -> Array:
        """Decode the frames at these indices, in the given order, as uint8 <T,H,W,C>."""
        check_type(indices, (list,), "indices")
        for i, index in enumerate(indices):
            check_type(index, (int,), f"indices[{i}]")
        if not indices:
            return np.empty(0, np.uint8)
        for i, index in enumerate(indices):
            if not 0 <= index < len(self._index):
                raise ArgumentValueError(
                    f"Input Invalid frame index[{i}]={index} is not within the required interval of "
                    f"[0, {len(self._index)})."
                )
        with video.open_container(self.source, "VideoDecoder") as container:
            stream = self._stream(container)
            frames = self._index.frames(container, stream, sorted(set(indices)))
        missing = [index for index in indices if index not in frames]
        if missing:
            raise DataError(
                f"VideoDecoder: {self.source} changed or is damaged: no frame {missing[0]} in it."
            )
        return np.stack([frames[index] for index in indices])


def _metadata(container: Any, stream: Any, frames: int) -> dict[str, Any]:
    rate = stream.average_rate
    seconds: Any = None
    if stream.duration is not None:
        seconds = stream.duration * stream.time_base
    elif rate:
        seconds = frames / rate
    return {
        "width": stream.width,
        "height": stream.height,
        "duration_seconds": None if seconds is None else round(float(seconds), 6),
        "num_frames": frames,
        "average_fps": float(rate) if rate else None,
    }


class _FrameIndex:
    """Timestamps and key frames of a stream, from its packets; nothing is decoded."""

    def __init__(self, container: Any, stream: Any) -> None:
        packets = [p for p in container.demux(stream) if p.size]
        self.count = len(packets)
        timed = all(p.pts is not None for p in packets)
        self.times = sorted(p.pts for p in packets) if timed else []
        self.keys = sorted(p.pts for p in packets if p.is_keyframe) if timed else []

    def __len__(self) -> int:
        return self.count

    def frames(self, container: Any, stream: Any, numbers: list[int]) -> dict[int, Array]:
        """The frames at these indices, in ascending order."""
        if len(set(self.times)) == self.count:
            frames = self._decode_by_seeking(container, stream, numbers)
            if len(frames) == len(numbers):
                return frames
            container.seek(0, stream=stream)
        return self._decode_by_counting(container, stream, set(numbers))

    def _decode_by_seeking(self, container: Any, stream: Any, numbers: list[int]) -> dict[int, Array]:
        """Seek to the key frame before each frame. A file with wrong timestamps gives fewer frames than requested."""
        converter = video.FrameConverter(stream)
        decoded: dict[int, Array] = {}
        frames: Any = ()
        current = -1
        for number in numbers:
            time = self.times[number]
            key = self.keys[max(0, bisect.bisect_right(self.keys, time) - 1)] if self.keys else self.times[0]
            if not decoded or key > current:
                container.seek(key, stream=stream)
                frames = container.decode(stream)
            for frame in frames:
                current = -1 if frame.pts is None else frame.pts
                if current >= time:
                    break
            if current == time:
                decoded[number] = converter.to_rgb(frame)
        return decoded

    def _decode_by_counting(self, container: Any, stream: Any, numbers: set[int]) -> dict[int, Array]:
        converter, last = video.FrameConverter(stream), max(numbers)
        frames = {}
        for number, frame in enumerate(container.decode(stream)):
            if number in numbers:
                frames[number] = converter.to_rgb(frame)
            if number == last:
                break
        return frames
