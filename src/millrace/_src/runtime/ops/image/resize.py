"""Image resizing: nearest, linear, cubic, area; interpolate, upsample."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import REAL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ResizeArea",
    "ResizeBicubic",
    "ResizeBilinearV2",
    "ResizeLinear1D",
    "ResizeNearestNeighbor",
    "ResizeNearestNeighborV2",
    "interpolate",
    "interpolate_mint",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_linear",
    "resize_nearest",
    "resize_nearest_to",
    "upsample_mint",
]

_RANKS = {
    "nearest": (3, 4, 5),
    "linear": (3,),
    "bilinear": (4,),
    "bicubic": (4,),
    "area": (3, 4, 5),
    "nearest-exact": (3, 4),
    "trilinear": (5,),
}


def _output_size(name: str, x: Tensor, size: Any, count: int) -> tuple[int, ...]:
    """Output sizes of the last axes."""
    if x.ndim != count + 2:
        raise ArgumentValueError(
            f"For '{name}', the input must have {count + 2} axes, but got {list(x.shape)}."
        )
    if isinstance(size, Tensor):
        size = to_python_list(size)
    if not isinstance(size, (tuple, list)) or any(
        isinstance(n, bool) or not isinstance(n, int) for n in size
    ):
        raise ArgumentTypeError(f"For '{name}', 'size' must be a tuple of {count} ints, but got {size!r}.")
    if len(size) != count or min(size) < 1:
        raise ArgumentValueError(
            f"For '{name}', 'size' must be a tuple of {count} positive ints, but got {tuple(size)}."
        )
    return tuple(size)


def _source_coordinates(
    length: int, wanted: int, align_corners: bool, half: bool, device: torch.device
) -> Tensor:
    """Source coordinate of each output element."""
    at = torch.arange(wanted, dtype=torch.float32, device=device)
    if align_corners:
        return at * ((length - 1) / (wanted - 1) if wanted > 1 else 0.0)
    return (at + 0.5) * (length / wanted) - 0.5 if half else at * (length / wanted)


def _nearest(x: Tensor, size: tuple[int, ...], align_corners: bool, half: bool) -> Tensor:
    output = x
    for axis, wanted in enumerate(size, 2):
        length = x.shape[axis]
        at = _source_coordinates(length, wanted, align_corners, False, x.device)
        if half:
            at = (torch.arange(wanted, dtype=torch.float32, device=x.device) + 0.5) * (length / wanted)
        index = (torch.floor(at + 0.5) if align_corners else torch.floor(at)).long().clamp_(0, length - 1)
        output = output.index_select(axis, index)
    return output


def _linear(x: Tensor, size: tuple[int, ...], align_corners: bool, half: bool) -> Tensor:
    """Linear interpolation along each axis in turn; the first elements of input and output are aligned."""
    output = x
    for axis, wanted in enumerate(size, 2):
        length = x.shape[axis]
        at = _source_coordinates(length, wanted, align_corners, half, x.device).clamp_(0, length - 1)
        first = at.floor()
        share = (at - first).to(x.dtype).reshape(-1, *(1,) * (x.ndim - axis - 1))
        low = first.long()
        high = (low + 1).clamp_max_(length - 1)
        output = torch.lerp(output.index_select(axis, low), output.index_select(axis, high), share)
    return output


@op(accepts=REAL, dtype=SAME)
def resize_nearest(
    input_x: Tensor, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Nearest-neighbor resizing; as in MindSpore, `half_pixel_centers` has no effect in this class."""
    wanted = _output_size("ResizeNearestNeighbor", input_x, size, 2)
    if not align_corners and input_x.is_floating_point():
        return F.interpolate(input_x, wanted, mode="nearest")
    return _nearest(input_x, wanted, align_corners, False)


@op(accepts=REAL, dtype=SAME)
def resize_nearest_to(
    input: Tensor, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Nearest-neighbor resizing."""
    _check_alignment("ResizeNearestNeighborV2", align_corners, half_pixel_centers)
    wanted = _output_size("ResizeNearestNeighborV2", input, size, 2)
    return _nearest(input, wanted, align_corners, half_pixel_centers)


def _check_alignment(name: str, align_corners: bool, half_pixel_centers: bool) -> None:
    if align_corners and half_pixel_centers:
        raise ArgumentValueError(
            f"For '{name}', 'align_corners' and 'half_pixel_centers' can't be True at the same time."
        )


@op(dtype=UNCHECKED)
def resize_bilinear(
    image: Tensor, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Bilinear resizing."""
    _check_alignment("ResizeBilinearV2", align_corners, half_pixel_centers)
    wanted = _output_size("ResizeBilinearV2", image, size, 2)
    if not image.is_floating_point():
        image = image.float()
    if align_corners or half_pixel_centers:
        return F.interpolate(image, wanted, mode="bilinear", align_corners=align_corners)
    return _linear(image, wanted, False, False)


def _resize_cubic(x: Tensor, size: tuple[int, ...], align_corners: bool, half: bool) -> Tensor:
    """Cubic interpolation along each axis. As in MindSpore, with half pixels the kernel is flatter and elements beyond
    the edge are skipped, otherwise the edge is repeated; positions are rounded to 1/1024 of an element.
    """
    output, sharp = x, -0.5 if half else -0.75
    for axis, wanted in enumerate(size, 2):
        length = x.shape[axis]
        at = _source_coordinates(length, wanted, align_corners, half, x.device)
        first = at.floor()
        t = (torch.round((at - first) * 1024) / 1024).to(x.dtype)
        near = [
            ((sharp * (d - 5) * d + 8 * sharp) * d - 4 * sharp)
            if far
            else (((sharp + 2) * d - (sharp + 3)) * d * d + 1)
            for d, far in ((t + 1, True), (t, False), (1 - t, False), (2 - t, True))
        ]
        neighbors = [first.long() + shift for shift in (-1, 0, 1, 2)]
        if half:
            near = [w * ((p >= 0) & (p < length)) for w, p in zip(near, neighbors, strict=True)]
            whole = near[0] + near[1] + near[2] + near[3]
            near = [w / whole for w in near]
        shape = (-1, *(1,) * (x.ndim - axis - 1))
        parts = [
            output.index_select(axis, p.clamp(0, length - 1)) * w.reshape(shape)
            for p, w in zip(neighbors, near, strict=True)
        ]
        output = parts[0] + parts[1] + parts[2] + parts[3]
    return output


@op(dtype=UNCHECKED)
def resize_bicubic(
    images: Tensor, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Bicubic resizing."""
    _check_alignment("ResizeBicubic", align_corners, half_pixel_centers)
    wanted = _output_size("ResizeBicubic", images, size, 2)
    if not images.is_floating_point():
        images = images.float()
    return _resize_cubic(images, wanted, align_corners, half_pixel_centers)


@op(dtype=UNCHECKED)
def resize_area(images: Tensor, size: Any, align_corners: bool = False) -> Tensor:
    """Area resizing of (N, H, W, C): the mean over the area that each output element covers."""
    wanted = _output_size("ResizeArea", images, size, 2)
    output = images.float().movedim(-1, 1)
    for axis, count in enumerate(wanted, 2):
        length = output.shape[axis]
        scale = (length - 1) / (count - 1) if align_corners and count > 1 else length / count
        starts = torch.arange(count, dtype=torch.float32, device=images.device).reshape(-1, 1) * scale
        cells = torch.arange(length, dtype=torch.float32, device=images.device)
        # positions beyond the end use the last element
        end = torch.where(cells == length - 1, float("inf"), cells + 1)
        cover = (torch.minimum(starts + scale, end) - torch.maximum(starts, cells)).clamp_min(0) / scale
        output = torch.movedim(torch.movedim(output, axis, -1) @ cover.T, -1, axis)
    return output.movedim(1, -1)


@op(dtype=SAME)
def resize_linear(x: Tensor, size: Any, coordinate_transformation_mode: str = "align_corners") -> Tensor:
    """Linear resizing along the last axis of (N, C, L)."""
    known = ("align_corners", "half_pixel")
    if coordinate_transformation_mode not in known:
        raise ArgumentValueError(
            f"For 'ResizeLinear1D', 'coordinate_transformation_mode' must be one of {known}, but got "
            f"{coordinate_transformation_mode!r}."
        )
    wanted = _output_size("ResizeLinear1D", x, size, 1)
    return F.interpolate(x, wanted, mode="linear", align_corners=coordinate_transformation_mode == known[0])


# --- interpolate ------------------------------------------------------------------------------------------------


@op("ops", "ops:upsample", dtype=UNCHECKED)
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Resize the input to a size, or by a factor, in one of seven modes. Factors work in every mode."""
    if mode not in _RANKS:
        raise ArgumentValueError(f"For 'interpolate', 'mode' must be in '{list(_RANKS)}', but got {mode}")
    if input.ndim not in _RANKS[mode]:
        raise ArgumentValueError(
            f"For 'interpolate', {mode} only support '{list(_RANKS[mode])}'D, but got {input.ndim}D"
        )
    if align_corners is not None and mode in ("nearest", "area", "nearest-exact"):
        raise ArgumentValueError(
            f"For 'interpolate', 'align_corners' option cannot currently be set with the mode = {mode}, and dim = "
            f"{input.ndim}D"
        )
    if mode == "bicubic" and size is not None and scale_factor is None:
        wanted = _output_size("interpolate", input, (size, size) if isinstance(size, int) else size, 2)
        return _resize_cubic(input, wanted, bool(align_corners), not align_corners)
    return _interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


@op("mint.nn.functional:interpolate", dtype=UNCHECKED)
def interpolate_mint(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Resize the input to a size, or by a factor."""
    known = [known for known in _RANKS if known not in ("area", "nearest-exact")]
    if mode not in known or input.ndim not in _RANKS[mode]:
        raise ArgumentValueError(
            f"For 'interpolate', 'mode' must be in '{known}' and fit the input, but got {mode} and {input.ndim}D"
        )
    return _interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


def _interpolate(
    input: Tensor,
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: bool | None,
    recompute_scale_factor: bool | None,
) -> Tensor:
    if size is not None and scale_factor is not None:
        raise ArgumentValueError("For 'interpolate', 'size' and 'scale_factor' cannot be set simultaneously")
    if size is None and scale_factor is None:
        raise ArgumentValueError("For 'interpolate', 'size' and 'scale_factor' cannot be both empty")
    if size is not None:
        parts = list(size) if isinstance(size, (tuple, list)) else [size]
        for axis_index, part in enumerate(parts):
            if isinstance(part, bool) or not isinstance(part, int):
                raise ArgumentTypeError(
                    f"For 'interpolate', the 'size[{axis_index}]' must be int, but got '{type(part).__name__}'"
                )
    return F.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


@op("mint.nn.functional:upsample", dtype=UNCHECKED)
def upsample_mint(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resize the input to a size, or by a factor."""
    return interpolate_mint.raw(input, size, scale_factor, mode, align_corners)


ResizeNearestNeighbor = primitive("ResizeNearestNeighbor", resize_nearest)
ResizeNearestNeighborV2 = primitive(
    "ResizeNearestNeighborV2", resize_nearest_to, init=("align_corners", "half_pixel_centers")
)
ResizeBilinearV2 = primitive(
    "ResizeBilinearV2", resize_bilinear, init=("align_corners", "half_pixel_centers")
)
ResizeBicubic = primitive("ResizeBicubic", resize_bicubic, init=("align_corners", "half_pixel_centers"))
ResizeArea = primitive("ResizeArea", resize_area, init=("align_corners",))
ResizeLinear1D = primitive("ResizeLinear1D", resize_linear, init=("coordinate_transformation_mode",))
