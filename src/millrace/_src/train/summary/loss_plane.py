"""Loss over a plane of weights: directions, training path, and image."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

__all__ = ["Landscape", "coordinates", "filter_normalize", "principal_directions"]

Array = np.ndarray[Any, Any]

# From low to high: dark, green, bright.
_COLOURS = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], np.float64)
_PATH, _END, _NOTHING = (220, 40, 40), (255, 255, 255), (160, 160, 160)
_PIXELS = 256  # approximate width of an image


def principal_directions(points: Array) -> tuple[Array, Array]:
    """Principal directions of points relative to the last point (PCA)."""
    away = points[:-1] - points[-1]
    _, _, directions = np.linalg.svd(away - away.mean(0), full_matrices=False)
    if len(directions) < 2:
        directions = np.vstack([directions, np.zeros_like(directions)])
    return directions[0], directions[1]


def filter_normalize(direction: Array, weights: list[Array]) -> Array:
    """Filter normalization: scale the direction of each weight to the weight's norm."""
    parts, at = [], 0
    for weight in weights:
        part = direction[at : at + weight.size]
        at += weight.size
        length = np.linalg.norm(part)
        parts.append(part * (np.linalg.norm(weight) / length) if length else part)
    return np.concatenate(parts)


def coordinates(points: Array, v: Array, w: Array) -> Array:
    """Coordinates of the projections of points on the plane through the last one."""
    solution: Array = np.linalg.lstsq(np.stack([v, w], 1), (points - points[-1]).T, rcond=None)[0]
    return solution.T


@dataclasses.dataclass(frozen=True)
class Landscape:
    """Losses `z` (y, x) on a grid, the training path (x, y and loss of each point), and its end."""

    x: Array
    y: Array
    z: Array
    path: Array
    end: tuple[float, float, float]
    about: dict[str, Any]

    def text(self) -> str:
        """All numbers as JSON."""
        rounded = {name: _to_json_list(getattr(self, name)) for name in ("x", "y", "z", "path")}
        return json.dumps({**rounded, "convergence_point": _to_json_list(np.array(self.end)), **self.about})

    def to_image(self) -> Array:
        """Image (height, width, 3): dark is low, red is the path, white its end; y grows upwards."""
        scale = max(1, _PIXELS // len(self.x))
        pixels = _colorize(self.z[::-1]).repeat(scale, 0).repeat(scale, 1)
        for x, y, _ in self.path:
            self._dot(pixels, x, y, scale, _PATH)
        self._dot(pixels, *self.end[:2], scale, _END)
        return pixels

    def _dot(self, pixels: Array, x: float, y: float, scale: int, colour: tuple[int, int, int]) -> None:
        column = int(_axis_fraction(x, self.x) * (pixels.shape[1] - 1))
        row = int((1 - _axis_fraction(y, self.y)) * (pixels.shape[0] - 1))
        half = max(1, scale // 6)
        pixels[max(0, row - half) : row + half + 1, max(0, column - half) : column + half + 1] = colour


def _axis_fraction(value: float, axis: Array) -> float:
    """Position along an axis, from 0 to 1."""
    span = axis[-1] - axis[0]
    return float(np.clip((value - axis[0]) / span, 0, 1)) if span else 0.5


def _colorize(z: Array) -> Array:
    known = np.isfinite(z)
    low, high = (z[known].min(), z[known].max()) if known.any() else (0.0, 1.0)
    # losses grow by orders of magnitude away from the path: a linear scale would show a single color
    height = np.log1p(np.where(known, z, high) - low) / (np.log1p(high - low) or 1.0)
    stops = np.linspace(0, 1, len(_COLOURS))
    channels = [np.interp(height, stops, _COLOURS[:, channel]) for channel in range(3)]
    pixels = np.stack(channels, -1).round().astype(np.uint8)
    pixels[~known] = _NOTHING
    return pixels


def _to_json_list(values: Array) -> Any:
    """Convert numbers to JSON; infinities and NaN become null."""
    return [
        _to_json_list(each) if np.ndim(each) else (float(f"{each:.7g}") if np.isfinite(each) else None)
        for each in values
    ]
