"""JPEG decoding on a GPU with nvJPEG.

torchvision uses nvJPEG on a stream without priority: its kernels queue behind a step that occupies the GPU, and a batch
takes seconds instead of milliseconds (docs/design/2026-11-16-feeding-a-gpu.md). Here it runs on the current stream,
which has a high priority.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import DeviceQueueError, MissingExtra
from millrace._src.core.log import get_logger
from millrace._src.core.optional import require

from .crop_resize import Images

__all__ = ["decode_jpeg_batch"]

log = get_logger(__name__)

# nvjpeg.h: backends, fastest first, and the interleaved output format
_HARDWARE, _GPU, _DEFAULT = 3, 2, 0
_RGB_INTERLEAVED = 5
# Setting up a decoder for a number of images synchronizes the GPU: groups are padded to a multiple of this number, with
# this many cached decoders per size, used in turn, since one of them is busy.
_FULL, _STATES = 8, 2
# Own status: the backend is not available.
_NONE = -1

Sizes = Sequence[tuple[int, int]]


def decode_jpeg_batch(encoded: Sequence[torch.Tensor], sizes: Sizes, device: torch.device) -> Images:
    """Decode JPEG bytes in host memory, with known sizes, to RGB images on the device."""
    if device.type != "cuda":  # the CPU stands in for the GPU in tests
        require("torchvision", extra="gpu", purpose="Decode().device('GPU')")
        io: Any = require("torchvision.io", extra="gpu", purpose="Decode().device('GPU')")
        return Images.of_planes([io.decode_jpeg(one, mode=io.ImageReadMode.RGB) for one in encoded])
    return _load_decoder(device)(encoded, sizes)


class _Image(ctypes.Structure):
    _fields_ = [("channel", ctypes.c_void_p * 4), ("pitch", ctypes.c_size_t * 4)]


class _State:
    """Buffers of a batch during decoding."""

    def __init__(self, library: Any, handle: Any, count: int) -> None:
        self.pointer = ctypes.c_void_p()
        self.done: Any = None
        self.status = library.nvjpegJpegStateCreate(handle, ctypes.byref(self.pointer))
        if not self.status:
            set_up = library.nvjpegDecodeBatchedInitialize
            self.status = set_up(handle, self.pointer, count, 1, _RGB_INTERLEAVED)


class Nvjpeg:
    """nvJPEG decoders of one device; not thread-safe."""

    def __init__(self, library: Any, device: torch.device) -> None:
        self.library, self.device = library, device
        self._lock = threading.Lock()
        self._handles: dict[int, Any] = {}
        self._states: dict[tuple[int, int], deque[_State]] = {}

    def __call__(self, encoded: Sequence[torch.Tensor], sizes: Sizes) -> Images:
        count = len(encoded)
        filled = -(-count // _FULL) * _FULL
        encoded = [*encoded, *[encoded[0]] * (filled - count)]
        shapes = np.array([*sizes, *[sizes[0]] * (filled - count)], np.int64)
        areas = shapes[:, 0] * shapes[:, 1] * 3
        base = np.concatenate([[0], np.cumsum(areas)[:-1]])
        with self._lock, torch.cuda.device(self.device):
            flat = torch.empty(int(areas.sum()), dtype=torch.uint8, device=self.device)
            statuses = {}
            for backend in (_HARDWARE, _GPU, _DEFAULT):
                status = self._decode(backend, encoded, shapes, flat.data_ptr() + base)
                if not status:
                    base, shapes = base[:count], shapes[:count]
                    steps = np.stack([shapes[:, 1] * 3, np.full(count, 3), np.ones_like(base)], 1)
                    return Images(flat, base, shapes, steps, 3)
                statuses[backend] = status
        raise DeviceQueueError(
            f"nvJPEG cannot decode an image of this batch (status {statuses}); without device('GPU') the host decodes "
            "it, and an error names the file"
        )

    def _decode(self, backend: int, encoded: Sequence[torch.Tensor], shapes: Any, pointers: Any) -> int:
        """Decode to these pointers. Returns 0 for success, else nvJPEG's status."""
        handle = self._handle(backend)
        if handle is None:
            return _NONE
        count = len(encoded)
        stream = torch.cuda.current_stream(self.device)
        state = self._state(backend, handle, count)
        if state is None:
            return _NONE
        self._check(handle, encoded, shapes)
        data = (ctypes.c_void_p * count)(*[one.data_ptr() for one in encoded])
        lengths = (ctypes.c_size_t * count)(*[one.numel() for one in encoded])
        images = (_Image * count)()
        for image, pointer, width in zip(images, pointers.tolist(), shapes[:, 1].tolist(), strict=True):
            image.channel[0], image.pitch[0] = pointer, 3 * width
        status = self.library.nvjpegDecodeBatched(
            handle, state.pointer, data, lengths, images, ctypes.c_void_p(stream.cuda_stream)
        )
        state.done = torch.cuda.Event()
        state.done.record(stream)
        return int(status)

    def _check(self, handle: Any, encoded: Sequence[torch.Tensor], shapes: Any) -> None:
        """Check that nvJPEG's output fits into its buffer: a file may declare two different sizes."""
        channels, layout = ctypes.c_int(), ctypes.c_int()
        widths, heights = (ctypes.c_int * 4)(), (ctypes.c_int * 4)()
        for one, shape in zip(encoded, shapes.tolist(), strict=True):
            status = self.library.nvjpegGetImageInfo(
                handle,
                ctypes.c_void_p(one.data_ptr()),
                ctypes.c_size_t(one.numel()),
                ctypes.byref(channels),
                ctypes.byref(layout),
                widths,
                heights,
            )
            if status or [heights[0], widths[0]] != shape:
                raise DeviceQueueError(
                    f"a JPEG header has {shape[0]} x {shape[1]} pixels, and nvJPEG finds {heights[0]} x {widths[0]} "
                    f"(status {status}); without device('GPU') the host decodes it, and an error names the file"
                )

    def _handle(self, backend: int) -> Any:
        if backend not in self._handles:
            handle = ctypes.c_void_p()
            status = self.library.nvjpegCreateEx(backend, None, None, 0, ctypes.byref(handle))
            log.info("nvJPEG's decoder %d: status %d", backend, status)
            self._handles[backend] = None if status else handle
        return self._handles[backend]

    def _state(self, backend: int, handle: Any, count: int) -> _State | None:
        """An idle decoder for this number of images; None if it cannot be set up."""
        states = self._states.setdefault((backend, count), deque())
        if len(states) < _STATES:
            states.appendleft(_State(self.library, handle, count))
            return None if states[0].status else states[0]
        states.rotate(1)
        if states[0].done is not None:
            states[0].done.synchronize()
        return None if states[0].status else states[0]


@functools.cache
def _load_decoder(device: torch.device) -> Nvjpeg:
    for path in _find_libraries():
        try:
            return Nvjpeg(ctypes.CDLL(path), device)
        except OSError as error:
            log.debug("%s is no usable nvJPEG: %s", path, error)
    require("torchvision", extra="gpu", purpose="Decode().device('GPU')")
    raise MissingExtra(
        "Decode().device('GPU') needs NVIDIA's library nvJPEG. torchvision's CUDA wheels include it; the "
        "installed one does not. Install the build that matches your PyTorch"
    )


def _find_libraries() -> Iterator[str]:
    """Possible paths of nvJPEG: next to PyTorch, in torchvision, in a CUDA installation."""
    packages = Path(torch.__file__).parents[1]
    for pattern in ("nvidia/**/libnvjpeg.so*", "torchvision.libs/libnvjpeg*"):
        yield from map(str, sorted(packages.glob(pattern)))
    cuda = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    yield from map(str, sorted(cuda.glob("lib64/libnvjpeg.so*")))
    library = ctypes.util.find_library("nvjpeg")
    if library:
        yield library
