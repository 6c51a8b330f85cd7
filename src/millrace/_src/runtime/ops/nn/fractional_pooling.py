"""Fractional max and average pooling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, REAL, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.rng_state import op_generator

__all__ = [
    "FractionalAvgPool",
    "FractionalMaxPool",
    "FractionalMaxPool3DWithFixedKsize",
    "FractionalMaxPoolWithFixedKsize",
    "fractional_avg_pool",
    "fractional_max_pool",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]


def _pooling_boundaries(length: int, ratio: float, pseudo: bool, generator: torch.Generator | None) -> Tensor:
    """Boundaries of the pooling windows of an axis: lengths are the ratio, rounded up or down at random."""
    count = int(length / ratio)
    random_values = torch.rand(count, generator=generator, device="cpu")
    if pseudo:
        step = length / count
        slack = max(step - 1, 0) if step >= 1 else 0
        begin = torch.ceil(step * (torch.arange(count) + random_values[0] * min(slack, 1))).long()
        cuts = torch.cat([begin - begin[0], torch.tensor([length])])
        return cuts.clamp_max(length)
    short = length // count
    extra = torch.zeros(count, dtype=torch.int64).index_fill_(
        0, torch.argsort(random_values)[: length - short * count], 1
    )
    return torch.cat([torch.zeros(1, dtype=torch.int64), torch.cumsum(extra + short, 0)])


def _fractional_pool(
    name: str, x: Tensor, o: dict[str, Any], reduce: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Pool images (batch, height, width, channels) over windows of about the ratio's size; with the boundaries."""
    ratio = o["pooling_ratio"]
    if (
        not isinstance(ratio, (list, tuple))
        or len(ratio) != 4
        or not all(isinstance(part, float) for part in ratio)
    ):
        raise ArgumentTypeError(f"For '{name}', 'pooling_ratio' must be four floats, but got {ratio!r}.")
    if ratio[0] != 1.0 or ratio[3] != 1.0 or ratio[1] < 1.0 or ratio[2] < 1.0:
        raise ArgumentValueError(
            f"For '{name}', 'pooling_ratio' must be (1.0, rows, columns, 1.0) of at least 1.0, but got {ratio!r}."
        )
    if x.ndim != 4 or x.shape[1] < ratio[1] or x.shape[2] < ratio[2]:
        raise ArgumentValueError(
            f"For '{name}', 'x' must have the shape (N, H, W, C) and be as large as the ratio, but got {list(x.shape)}."
        )
    generator = op_generator(o["seed"], o["seed2"], torch.device("cpu"))
    cuts = [
        _pooling_boundaries(x.shape[1 + axis], ratio[1 + axis], o["pseudo_random"], generator)
        for axis in (0, 1)
    ]
    positions, inside = [], []
    for axis, cut in enumerate(cuts):
        begin, end = cut[:-1], cut[1:] + bool(o["overlapping"])
        end = end.clamp_max(x.shape[1 + axis]).unsqueeze(1)
        at = begin.unsqueeze(1) + torch.arange(math.ceil(ratio[1 + axis]) + 2)
        inside.append((at < end).to(x.device))
        positions.append(torch.minimum(at, end - 1).to(x.device))
    rows, columns = positions[0][:, None, :, None], positions[1][None, :, None, :]
    kept = inside[0][:, None, :, None] & inside[1][None, :, None, :]
    # (batch, row, column, window, channel)
    seen = x[:, rows, columns].flatten(3, 4)
    pooled = reduce(seen, kept.flatten(2).unsqueeze(-1))
    return pooled, cuts[0].to(x.device), cuts[1].to(x.device)


@op(accepts=REAL, dtype=UNCHECKED, random=True)
def fractional_max_pool(
    x: Tensor,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Fractional max pooling: windows have the ratio's size on average. Returns the row and column boundaries too."""
    return _fractional_pool("FractionalMaxPool", x, locals(), lambda seen, kept: seen.amax(3))


@op(accepts=REAL, dtype=UNCHECKED, random=True)
def fractional_avg_pool(
    x: Tensor,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Fractional average pooling: windows have the ratio's size on average. Returns the boundaries too."""

    def mean(seen: Tensor, kept: Tensor) -> Tensor:
        total = torch.where(kept, seen, 0).sum(3)
        count = kept.sum(2)
        return (
            total / count
            if seen.is_floating_point()
            else torch.div(total, count, rounding_mode="trunc").to(seen.dtype)
        )

    return _fractional_pool("FractionalAvgPool", x, locals(), mean)


FractionalMaxPool = primitive("FractionalMaxPool", fractional_max_pool)
FractionalAvgPool = primitive("FractionalAvgPool", fractional_avg_pool)


@op("ops", accepts=FLOATS, dtype=UNCHECKED, random=True)
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: Any = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Fractional 2-D max pooling; window positions are sampled, or given by `_random_samples` of shape (N, C, 2)."""
    result = F.fractional_max_pool2d(
        input, kernel_size, output_size, output_ratio, True, _check_samples(input, _random_samples)
    )
    return result if return_indices else result[0]


@op("ops", accepts=FLOATS, dtype=UNCHECKED, random=True)
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: Any = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Fractional 3-D max pooling; window positions are sampled, or given by `_random_samples` of shape (N, C, 3)."""
    result = F.fractional_max_pool3d(
        input, kernel_size, output_size, output_ratio, True, _check_samples(input, _random_samples)
    )
    return result if return_indices else result[0]


def _check_samples(input: Tensor, samples: Tensor | None) -> Tensor | None:
    return None if samples is None else samples.detach().to(input.dtype)


@op(accepts=FLOATS, dtype=UNCHECKED)
def fractional_max_pool2d_with_indices(
    input_x: Tensor, random_samples: Tensor, ksize: Any, output_shape: Any, data_format: str = "NCHW"
) -> tuple[Tensor, Tensor]:
    """Fractional 2-D max pooling with window positions from `random_samples`, with indices."""
    result: tuple[Tensor, Tensor] = fractional_max_pool2d.raw(
        input_x, ksize, output_shape, None, True, random_samples
    )
    return result


@op(accepts=FLOATS, dtype=UNCHECKED)
def fractional_max_pool3d_with_indices(
    x: Tensor, random_samples: Tensor, ksize: Any, output_shape: Any, data_format: str = "NCDHW"
) -> tuple[Tensor, Tensor]:
    """Fractional 3-D max pooling with window positions from `random_samples`, with indices."""
    if not isinstance(ksize, (int, float)):
        ksize = tuple(int(k) for k in ksize)  # MindSpore accepts integers given as floats
    result: tuple[Tensor, Tensor] = fractional_max_pool3d.raw(
        x, ksize, output_shape, None, True, random_samples
    )
    return result


FractionalMaxPoolWithFixedKsize = primitive(
    "FractionalMaxPoolWithFixedKsize", fractional_max_pool2d_with_indices
)
FractionalMaxPool3DWithFixedKsize = primitive(
    "FractionalMaxPool3DWithFixedKsize", fractional_max_pool3d_with_indices
)
