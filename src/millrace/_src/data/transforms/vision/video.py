"""Decode encoded videos to frames and audio."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, DataError
from millrace._src.core.public import public
from millrace._src.data.kernels.vision import video_decode as video
from millrace._src.data.kernels.vision.validation import describe
from millrace._src.data.transforms.tensor_operation import TensorOperation

__all__ = ["DecodeVideo"]


@public("dataset.vision")
class DecodeVideo(TensorOperation):
    """Decode a video to frames <T,H,W,C> in RGB and audio <C,L>: one column in, two out.

    Takes a 1-D array of uint8. Needs PyAV: ``pip install av``. Frames and audio equal MindSpore's, except that pixels
    differ by up to 3 and audio in floats by up to 1e-6: its FFmpeg is built without vector code and rounds differently.
    A truncated video is an error, where MindSpore gives the frames before the cut. From PyAV 19 on, the audio ends
    where the file declares, where MindSpore includes the silence that fills the last packet.

    >>> import cv2
    >>> writer = cv2.VideoWriter("a.avi", cv2.VideoWriter_fourcc(*"MJPG"), 25, (32, 16))
    >>> for i in range(5):
    ...     _ = writer.write(np.full((16, 32, 3), 50 * i, np.uint8))
    >>> writer.release()
    >>> import millrace.dataset.vision as vision
    >>> video, audio = vision.DecodeVideo()(np.fromfile("a.avi", np.uint8))
    >>> video.shape, audio.shape
    ((5, 16, 32, 3), (1, 0))
    """

    _family = "vision"

    is_expensive = True

    def __init__(self) -> None:
        pass

    def row(self, x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.dtype.kind == "S" and x.size == 1:
            x = x.reshape(()).item()
        if isinstance(x, np.ndarray):
            if x.ndim != 1:
                raise DataError(
                    f"DecodeVideo: invalid input shape, only support 1D input, got rank: {x.ndim} ({describe(x)})."
                )
            if x.dtype != np.uint8:
                raise DataError(
                    f"DecodeVideo: the type of the elements of input data should be UINT8, but got {describe(x)}."
                )
            x = x.tobytes()
        if not len(x):
            raise DataError("DecodeVideo: the encoded video is empty (0 bytes).")
        # one thread: in a pipeline, the workers are the threads
        frames, sound, _ = video.decode(x, "DecodeVideo", threads=1)
        return frames, sound

    def as_input(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            raise ArgumentTypeError(f"Input should be ndarray, got {type(value)}.")
        return value
