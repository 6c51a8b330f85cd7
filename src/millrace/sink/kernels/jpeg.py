"""Decoding on a card: nvJPEG, called directly.

torchvision calls it too, but on a stream of no priority: beside a step that fills the card its kernels wait behind the
step's, and a batch takes seconds instead of milliseconds (docs/design/2026-11-16-feeding-a-gpu.md). Here it runs on the
stream that is current, which the sink gives priority.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from millrace.core.errors import MissingExtra, SinkError
from millrace.core.log import get_logger
from millrace.core.optional import install, require

from .sampling import Images

__all__ = ["decoded"]

log = get_logger(__name__)

# nvjpeg.h: the decoders to try, the fastest first, and pixels with their channels side by side
_HARDWARE, _GPU, _DEFAULT = 3, 2, 0
_RGB_INTERLEAVED = 5
# Batches that one decoder may have under way: each has buffers of its own, on the card and beside it.
_STATES = 4

Sizes = Sequence[tuple[int, int]]


def decoded(encoded: Sequence[torch.Tensor], sizes: Sizes, device: torch.device) -> Images:
    """RGB images on the device, of the bytes of JPEGs that are on the host and of known sizes."""
    if device.type != "cuda":  # a CPU stands for the card
        require("torchvision", extra="gpu", purpose="Decode().device('GPU')")
        io: Any = require("torchvision.io", extra="gpu", purpose="Decode().device('GPU')")
        return Images.of_planes([io.decode_jpeg(one, mode=io.ImageReadMode.RGB) for one in encoded])
    return _decoder(device)(encoded, sizes)


class _Image(ctypes.Structure):
    _fields_ = [("channel", ctypes.c_void_p * 4), ("pitch", ctypes.c_size_t * 4)]


class _State:
    """Buffers of one batch that is being decoded."""

    def __init__(self, library: Any, handle: Any) -> None:
        self.pointer = ctypes.c_void_p()
        self.batch = 0
        self.done: Any = None
        status = library.nvjpegJpegStateCreate(handle, ctypes.byref(self.pointer))
        if status:
            raise SinkError(f"nvJPEG has no memory for a decoder (status {status})")


class Nvjpeg:
    """Decoders of one device; one call at a time."""

    def __init__(self, library: Any, device: torch.device) -> None:
        self.library, self.device = library, device
        self._lock = threading.Lock()
        self._handles: dict[int, Any] = {}
        self._states: dict[int, list[_State]] = {}
        self._turn = 0

    def __call__(self, encoded: Sequence[torch.Tensor], sizes: Sizes) -> Images:
        shapes = np.array(sizes, np.int64)
        areas = shapes[:, 0] * shapes[:, 1] * 3
        base = np.concatenate([[0], np.cumsum(areas)[:-1]])
        with self._lock, torch.cuda.device(self.device):
            flat = torch.empty(int(areas.sum()), dtype=torch.uint8, device=self.device)
            statuses = {}
            for backend in (_HARDWARE, _GPU, _DEFAULT):
                status = self._decode(backend, encoded, shapes, flat.data_ptr() + base)
                if not status:
                    steps = np.stack([shapes[:, 1] * 3, np.full(len(base), 3), np.ones_like(base)], 1)
                    return Images(flat, base, shapes, steps, 3)
                statuses[backend] = status
        raise SinkError(
            f"nvJPEG cannot decode a picture of this batch (status {statuses}); without device('GPU') the host decodes "
            "it, and an error names the file"
        )

    def _decode(self, backend: int, encoded: Sequence[torch.Tensor], shapes: Any, places: Any) -> int:
        """0 where all were decoded, into these places; else what nvJPEG says."""
        handle = self._handle(backend)
        if handle is None:
            return -1
        stream = torch.cuda.current_stream(self.device)
        state = self._state(backend, handle)
        count = len(encoded)
        if state.batch != count:
            status = self.library.nvjpegDecodeBatchedInitialize(
                handle, state.pointer, count, 1, _RGB_INTERLEAVED
            )
            if status:
                return int(status)
            state.batch = count
        data = (ctypes.c_void_p * count)(*[one.data_ptr() for one in encoded])
        lengths = (ctypes.c_size_t * count)(*[one.numel() for one in encoded])
        images = (_Image * count)()
        for image, place, width in zip(images, places.tolist(), shapes[:, 1].tolist(), strict=True):
            image.channel[0], image.pitch[0] = place, 3 * width
        status = self.library.nvjpegDecodeBatched(
            handle, state.pointer, data, lengths, images, ctypes.c_void_p(stream.cuda_stream)
        )
        state.done = torch.cuda.Event()
        state.done.record(stream)
        return int(status)

    def _handle(self, backend: int) -> Any:
        if backend not in self._handles:
            handle = ctypes.c_void_p()
            status = self.library.nvjpegCreateEx(backend, None, None, 0, ctypes.byref(handle))
            log.info("nvJPEG's decoder %d: status %d", backend, status)
            self._handles[backend] = None if status else handle
        return self._handles[backend]

    def _state(self, backend: int, handle: Any) -> _State:
        """One whose last batch is done."""
        states = self._states.setdefault(backend, [])
        if len(states) < _STATES:
            states.append(_State(self.library, handle))
            return states[-1]
        self._turn = (self._turn + 1) % _STATES
        state = states[self._turn]
        if state.done is not None:
            state.done.synchronize()
        return state


@functools.cache
def _decoder(device: torch.device) -> Nvjpeg:
    for path in _libraries():
        try:
            return Nvjpeg(ctypes.CDLL(path), device)
        except OSError as error:
            log.debug("%s is no nvJPEG for here: %s", path, error)
    raise MissingExtra(
        "Decode().device('GPU') needs NVIDIA's library nvJPEG, which torchvision brings, and neither was found: "
        f"{install('gpu', 'torchvision')}"
    )


def _libraries() -> Iterator[str]:
    """Where nvJPEG may be: beside PyTorch, with torchvision, or in an installation of CUDA."""
    packages = Path(torch.__file__).parents[1]
    for pattern in ("nvidia/**/libnvjpeg.so*", "torchvision.libs/libnvjpeg*"):
        yield from map(str, sorted(packages.glob(pattern)))
    cuda = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    yield from map(str, sorted(cuda.glob("lib64/libnvjpeg.so*")))
    found = ctypes.util.find_library("nvjpeg")
    if found:
        yield found
