"""Device steps of transforms: the GPU kernel, its arguments, the supported values, and the accuracy.

Everything that must agree with the host (the position of a random crop, the levels of an adjusted brightness) is
computed by the transform itself, here; the kernels only move pixels and compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.values.offload import OffloadStep, ValueSpec
from millrace._src.data.kernels.vision import color as colour
from millrace._src.data.kernels.vision.enums import Inter
from millrace._src.data.kernels.vision.resize import target_size

from .argument_types import data_type
from .base import Transform
from .generic import TypeCast
from .vision import color as colours
from .vision import crop as crops
from .vision import normalize as layout
from .vision import random_color as random_colour
from .vision.decode import Decode

__all__ = ["device_step_for"]

# Types with the same arithmetic in NumPy and on a GPU.
_NUMBERS = frozenset(
    np.dtype(name)
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
)
_UINT8, _FLOAT32, _FLOAT16 = np.dtype(np.uint8), np.dtype(np.float32), np.dtype(np.float16)
_NARROW = frozenset(np.dtype(name) for name in ("bool", "uint8", "int8"))

# Maximum difference of decoding, grey and blending on a GPU from the host's results; tests check it.
JPEG_BOUND = (
    "nvJPEG rounds differently, and mixes colours of neighbouring pixels differently where they are stored at half the "
    "size: brightness within 3 levels of 255 in the mean"
)
BLEND_BOUND = "1 level of 255"


def device_step_for(op: Transform) -> OffloadStep | None:
    """The device step of a transform, or None."""
    make = _DEVICE_STEPS.get(type(op))
    return None if make is None else make(op)


def _is_image(spec: ValueSpec) -> bool:
    return len(spec[0]) in (2, 3) and spec[1] in _NUMBERS and all(spec[0])


def _accept_rgb(spec: ValueSpec) -> ValueSpec | None:
    """Accept images of three channels and 256 levels."""
    return spec if len(spec[0]) == 3 and spec[0][2] == 3 and spec[1] == _UINT8 and all(spec[0]) else None


# --- values and channel order ---------------------------------------------------------------------------------------


def _hwc_to_chw(op: Any) -> OffloadStep:
    def accepts(spec: ValueSpec) -> ValueSpec | None:
        shape = spec[0]
        if not _is_image(spec):
            return None
        return spec if len(shape) == 2 else ((shape[2], shape[0], shape[1]), spec[1])

    return OffloadStep("HWC2CHW", "planes", accepts, is_profitable=True)


def _normalize(op: layout.Normalize) -> OffloadStep:
    def accepts(spec: ValueSpec) -> ValueSpec | None:
        if not _is_image(spec):
            return None
        shape = spec[0]
        channels = 1 if len(shape) == 2 else shape[-1 if op.is_hwc else -3]
        return (shape, _FLOAT32) if len(op.mean) in (1, channels) else None

    args = {"mean": op.mean, "std": op.std, "is_hwc": op.is_hwc}
    return OffloadStep("Normalize", "normalize", accepts, args, is_profitable=True)


def _rescale(op: layout.Rescale) -> OffloadStep:
    def accepts(spec: ValueSpec) -> ValueSpec | None:
        fits = spec[1] in _NUMBERS and op.rescale >= 0
        return (spec[0], _FLOAT32) if fits else None

    return OffloadStep(
        "Rescale", "rescale", accepts, {"factor": op.rescale, "shift": op.shift}, is_profitable=True
    )


def _is_exact_cast(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether a GPU converts to the same numbers: floats beyond an integer's range depend on the processor."""
    if source not in _NUMBERS or target not in _NUMBERS:
        return False
    if source.kind == "f" and target.kind in "iu":
        return False
    return target != _FLOAT16 or source in _NARROW or source in (_FLOAT16, _FLOAT32)


def _cast(op: Any) -> OffloadStep | None:
    target = data_type(op.data_type)
    if target not in _NUMBERS:
        return None

    def accepts(spec: ValueSpec) -> ValueSpec | None:
        return (spec[0], target) if _is_exact_cast(spec[1], target) else None

    return OffloadStep(type(op).__name__, "cast", accepts, {"dtype": target.name})


def _to_tensor(op: layout.ToTensor) -> OffloadStep | None:
    target = np.dtype(op.output_type)
    if not _is_exact_cast(_FLOAT32, target):
        return None

    def accepts(spec: ValueSpec) -> ValueSpec | None:
        shape = spec[0]
        if not _is_image(spec):
            return None
        return (1, *shape) if len(shape) == 2 else (shape[2], shape[0], shape[1]), target

    return OffloadStep("ToTensor", "to_tensor", accepts, {"dtype": target.name}, is_profitable=True)


# --- flips and crops ------------------------------------------------------------------------------------------------


def _flip(across: bool) -> Callable[[Any], OffloadStep]:
    def make(op: Any) -> OffloadStep:
        return OffloadStep(
            type(op).__name__, "mirror", lambda spec: spec if _is_image(spec) else None, {"across": across}
        )

    return make


def _accept_crop(
    size: tuple[int, int], top: int = 0, left: int = 0
) -> Callable[[ValueSpec], ValueSpec | None]:
    """Accept images that contain a crop of this size at this offset."""

    def accepts(spec: ValueSpec) -> ValueSpec | None:
        shape = spec[0]
        fits = _is_image(spec) and shape[0] >= size[0] + top and shape[1] >= size[1] + left
        return ((*size, *shape[2:]), spec[1]) if fits else None

    return accepts


def _crop(op: crops.Crop) -> OffloadStep:
    top, left = op.coordinates

    def crop_box(height: int, width: int) -> tuple[int, ...]:
        return (top, left, *op.size)

    return OffloadStep(
        "Crop", "part", _accept_crop(op.size, top, left), row_params=crop_box, never_shrinks=False
    )


def _center_crop(op: crops.CenterCrop) -> OffloadStep:
    def crop_box(height: int, width: int) -> tuple[int, ...]:
        return ((height - op.size[0]) // 2, (width - op.size[1]) // 2, *op.size)

    return OffloadStep("CenterCrop", "part", _accept_crop(op.size), row_params=crop_box, never_shrinks=False)


def _random_crop(op: crops.RandomCrop) -> OffloadStep | None:
    if any(op.padding):
        return None

    def crop_box(height: int, width: int, down: float, right: float) -> tuple[int, ...]:
        tall, wide = op.size
        return crops.random_offset(down, height - tall), crops.random_offset(right, width - wide), tall, wide

    return OffloadStep("RandomCrop", "part", _accept_crop(op.size), row_params=crop_box, never_shrinks=False)


def _accept_resize(spec: ValueSpec, size: Any, inter: Inter) -> ValueSpec | None:
    """Accept images to resize: types other than uint8 are summed in another order on a GPU."""
    shape = spec[0]
    if not _is_image(spec) or (spec[1] != _UINT8 and inter is not Inter.NEAREST):
        return None
    target = target_size(size, *shape[:2])
    return ((*target, *shape[2:]), spec[1]) if max(target) < 1 << 14 and min(target) else None


def _resize_step(op: Any, size: Any, source_and_size: Callable[..., Any]) -> OffloadStep | None:
    if op.interpolation not in (Inter.LINEAR, Inter.NEAREST):
        return None

    def accepts(spec: ValueSpec) -> ValueSpec | None:
        return _accept_resize(spec, size, op.interpolation)

    args = {"linear": op.interpolation is Inter.LINEAR}
    return OffloadStep(
        type(op).__name__, "resized", accepts, args, row_params=source_and_size, never_shrinks=False
    )


def _resize(op: crops.Resize) -> OffloadStep | None:
    def source_and_size(height: int, width: int) -> tuple[Any, ...]:
        return (0, 0, height, width), target_size(op.size, height, width)

    return _resize_step(op, op.size, source_and_size)


def _random_resized_crop(op: crops.RandomResizedCrop) -> OffloadStep | None:
    def source_and_size(height: int, width: int, params: Any) -> tuple[Any, ...]:
        return crops.choose_crop_box(params, op.ratio, height, width), op.size

    return _resize_step(op, op.size, source_and_size)


def _resized_crop(op: crops.ResizedCrop) -> OffloadStep | None:
    step = _resize_step(op, op.size, lambda height, width: ((op.top, op.left, op.height, op.width), op.size))
    if step is None:
        return None
    within = _accept_crop((op.height, op.width), op.top, op.left)
    fits = step.accepts
    return OffloadStep(
        step.op,
        step.kernel,
        lambda spec: fits(spec) if within(spec) else None,
        step.args,
        step.row_params,
        never_shrinks=False,
    )


def _decode(op: Decode) -> OffloadStep | None:
    if op.to_pil:
        return None
    # the size is read from the header where the image is decoded
    return OffloadStep("Decode", "decode", lambda spec: None, tolerance_text=JPEG_BOUND, never_shrinks=False)


# --- colours --------------------------------------------------------------------------------------------------------

_LEVELS = np.arange(256, dtype=np.uint8).reshape(16, 16)
_LEVELS3 = np.repeat(_LEVELS[:, :, None], 3, axis=2)


def _lookup_table(levels: Callable[..., Any]) -> Callable[[Any], OffloadStep]:
    """A lookup table of the 256 levels, computed by the host's function."""

    def make(op: Any) -> OffloadStep:
        def table(height: int, width: int, *params: Any) -> Any:
            return np.asarray(levels(op, *params)).reshape(256, -1)[:, 0]

        return OffloadStep(type(op).__name__, "levels", _accept_rgb, row_params=table)

    return make


def _blend(kernel: str, factor: Callable[[Any], float]) -> Callable[[Any], OffloadStep]:
    def make(op: Any) -> OffloadStep:
        args = {"factor": float(np.float32(factor(op)))}
        return OffloadStep(type(op).__name__, kernel, _accept_rgb, args, tolerance_text=BLEND_BOUND)

    return make


_DEVICE_STEPS: dict[type[Transform], Callable[[Any], OffloadStep | None]] = {
    TypeCast: _cast,
    layout.HWC2CHW: _hwc_to_chw,
    layout.HorizontalFlip: _flip(across=True),
    layout.Normalize: _normalize,
    layout.RandomHorizontalFlip: _flip(across=True),
    layout.RandomVerticalFlip: _flip(across=False),
    layout.Rescale: _rescale,
    layout.ToTensor: _to_tensor,
    layout.ToType: _cast,
    layout.VerticalFlip: _flip(across=False),
    crops.CenterCrop: _center_crop,
    crops.Crop: _crop,
    crops.RandomCrop: _random_crop,
    crops.RandomResizedCrop: _random_resized_crop,
    crops.Resize: _resize,
    crops.ResizedCrop: _resized_crop,
    Decode: _decode,
    colours.AdjustBrightness: _lookup_table(lambda op: colour.brightness(_LEVELS, op.brightness_factor)),
    colours.AdjustContrast: _blend("contrast", lambda op: op.contrast_factor),
    colours.AdjustGamma: _lookup_table(lambda op: op.row(_LEVELS3)),
    colours.AdjustSaturation: _blend("saturation", lambda op: op.saturation_factor),
    colours.Invert: _lookup_table(lambda op: op.row(_LEVELS3)),
    colours.Posterize: _lookup_table(lambda op: op.row(_LEVELS3)),
    colours.Solarize: _lookup_table(lambda op: op.row(_LEVELS3)),
    random_colour.RandomInvert: _lookup_table(lambda op, *params: op.row(_LEVELS3, *params)),
    random_colour.RandomPosterize: _lookup_table(lambda op, *params: op.row(_LEVELS3, *params)),
    random_colour.RandomSolarize: _lookup_table(lambda op, *params: op.row(_LEVELS3, *params)),
}
