"""Split a chain of transforms into host work and device work, and pack the rows for the transfer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from millrace._src.core.random.rng import RandomStream
from millrace._src.core.settings import Settings
from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values.offload import (
    ENCODED,
    PIXELS,
    READY,
    SIZED,
    STAGE_FINISHED,
    OffloadStep,
    ValueSpec,
    pack_value,
)
from millrace._src.data.transforms.base import FusedTransform, Transform

__all__ = ["HostDeviceSplit", "jpeg_size"]

_UINT8 = np.dtype(np.uint8)


@stable_id("transforms.Cut")
class HostDeviceSplit(FusedTransform):
    """Prepares rows for the device: each with its form, and the random numbers of the offloaded transforms.

    A row for which the device would give another result (a Pillow image, text, five dimensions) is transformed on the
    host, and so is a row that fails: the error messages come from the host. For transforms that accept images of
    different sizes, rows are packed as bytes, with their shapes in another column.
    """

    def __init__(self, parts: Sequence[Transform], settings: Settings, share: Any = None) -> None:
        super().__init__(parts)
        self.settings, self.share = settings, share
        self._steps: tuple[OffloadStep, ...] | None = None
        self._known: dict[tuple[Any, ...], bool] = {}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_steps": None, "_known": {}}

    @property
    def steps(self) -> tuple[OffloadStep, ...]:
        """The steps on the device, in order."""
        if self._steps is None:
            steps = tuple(part.device_step() for part in self.operations)
            assert all(step is not None for step in steps)
            self._steps = steps  # type: ignore[assignment]
        return self._steps  # type: ignore[return-value]

    @property
    def sized(self) -> int:
        """The number of steps until all images have one size; 0 if they have it from the start."""
        if self.steps[0].kernel not in SIZED:
            return 0
        return next((i for i, step in enumerate(self.steps) if step.kernel not in SIZED), len(self.steps))

    @property
    def decodes(self) -> bool:
        """Whether rows come encoded."""
        return self.steps[0].kernel == "decode"

    @property
    def shown(self) -> str:
        return "to the GPU: " + super().shown

    def __repr__(self) -> str:
        return self.shown

    def fused_row_function(self, streams: Sequence[RandomStream | None]) -> Callable[..., Any]:
        """A function of (i, value) that returns the value, its form, its shape if packed, and its random numbers."""
        parts, sized = self.operations, self.sized
        random_params = [
            () if stream is None else part.params(stream) for part, stream in zip(parts, streams, strict=True)
        ]
        flat = [column for columns in random_params for column in columns]
        on_host = _HostTransforms(self, streams)

        def call(i: int, x: Any) -> Any:
            form, value, size = self._form(on_host, i, x)
            extra = [_FORMS[form]]
            if sized:
                value, spec = pack_value(value, size)
                extra.append(spec)
            return (value, *extra, *(np.asarray(column[i]) for column in flat))

        return call

    def batch(self, xs: Any) -> Any:
        """All rows of a column with one size at once, if no transform is random."""
        if (
            self.sized
            or any(part.random for part in self.operations)
            or not self._fits(xs.shape[1:], xs.dtype)
        ):
            return None
        return xs, np.full(len(xs), READY, np.int8)

    def _form(self, on_host: _HostTransforms, i: int, x: Any) -> tuple[int, Any, tuple[int, ...]]:
        """The form of a row, the value to transfer, and its decoded size if that is known only here."""
        if self.decodes:
            encoded = _bytes_of(x)
            size = None if encoded is None else jpeg_size(encoded)
            fits = size is not None and self._fits((*size, 3), _UINT8, 1)
            if fits and encoded is not None and size is not None and not self._decodes_on_host(encoded):
                return ENCODED, encoded, size
            decoded = on_host(i, x, 0, self.sized)
            if type(decoded) is np.ndarray and self._fits(decoded.shape, decoded.dtype, self.sized):
                return READY, decoded, ()
            return STAGE_FINISHED, on_host(i, decoded, self.sized, len(self.operations)), ()
        elif type(x) is np.ndarray and self._fits(x.shape, x.dtype):
            return (PIXELS if self.sized else READY), x, ()
        return STAGE_FINISHED, on_host(i, x, 0, len(self.operations)), ()

    def _decodes_on_host(self, encoded: np.ndarray[Any, Any]) -> bool:
        """Whether the host decodes this image: a fraction of all, chosen by their bytes, so the same in every epoch."""
        share = 0.0 if self.share is None else self.share.get()
        if share <= 0:
            return False
        size = len(encoded)
        sample = int(encoded[size // 2]) << 8 | int(encoded[size // 3])
        return (size * 2654435761 + sample * 40503 & 0xFFFF) < share * 0x10000

    def _fits(self, shape: tuple[int, ...], dtype: np.dtype[Any], first: int = 0) -> bool:
        """Whether the device accepts values of this shape and dtype from that step to the last."""
        spec: ValueSpec | None = (shape, dtype)
        known = self._known.get((first, shape, dtype))
        if known is None:
            if len(self._known) > 4096:
                self._known.clear()  # images of many sizes: later ones will have others
            for step in self.steps[first:]:
                spec = None if spec is None else step.accepts(spec)
            known = self._known[first, shape, dtype] = spec is not None
        return known


class _HostTransforms:
    """The transforms on the host, for rows that are not processed on the device."""

    def __init__(self, split: HostDeviceSplit, streams: Sequence[RandomStream | None]) -> None:
        self.split, self.streams = split, streams
        self._calls_by_range: dict[tuple[int, int], list[Callable[..., Any]]] = {}

    def __call__(self, i: int, x: Any, start: int, end: int) -> Any:
        """Apply the transforms from start to end to row i."""
        calls = self._calls_by_range.get((start, end))
        if calls is None:
            calls = self._calls_by_range[start, end] = list(self._calls(start, end))
        for call in calls:
            x = call(i, x)
        return x

    def _calls(self, index: int, end: int) -> Iterator[Callable[..., Any]]:
        parts = self.split.operations
        while index < end:
            joined = parts[index].fuse(parts[index + 1 : end], self.split.settings)
            if joined is None:
                yield parts[index].row_function(self.streams[index])
                index += 1
            else:
                yield joined.fused_row_function(self.streams[index : index + len(joined.operations)])
                index += len(joined.operations)


_FORMS = {form: np.array(form, np.int8) for form in (ENCODED, PIXELS, READY, STAGE_FINISHED)}


def _bytes_of(x: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(x, bytes):
        return np.frombuffer(x, np.uint8)
    if type(x) is np.ndarray and x.dtype == np.uint8 and x.ndim == 1:
        return x
    return None


def jpeg_size(encoded: np.ndarray[Any, Any]) -> tuple[int, int] | None:
    """The height and width of a JPEG that a GPU decodes: 8 bits, grey or YCbCr, complete; None for others."""
    data = memoryview(np.ascontiguousarray(encoded).data)
    if len(data) < 128 or bytes(data[:2]) != b"\xff\xd8" or bytes(data[-2:]) != b"\xff\xd9":
        return None
    offset = 2
    while offset + 9 < len(data) and data[offset] == 0xFF:
        marker, length = data[offset + 1], (data[offset + 2] << 8) + data[offset + 3]
        if marker in (0xC0, 0xC1, 0xC2):
            size = (data[offset + 5] << 8) + data[offset + 6], (data[offset + 7] << 8) + data[offset + 8]
            return size if data[offset + 4] == 8 and data[offset + 9] in (1, 3) and all(size) else None
        if marker == 0xEE:  # Adobe's: colours may not be YCbCr
            return None
        offset += 2 + length
    return None
