"""Protobuf encoding of TensorBoard events.

A field is a key (number and wire type) and a value; the numbers are those of TensorBoard's event.proto, summary.proto,
tensor.proto and graph.proto.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from millrace._src.core.io.protobuf import field, varint

__all__ = ["event", "graph_event", "histogram", "image", "png", "scalar", "text", "version_event"]


def _text_field(number: int, text: str) -> bytes:
    return field(number, text.encode())


def _integer_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def _double_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def _float_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + struct.pack("<f", value)


def version_event(wall_time: float) -> bytes:
    """First event of a file."""
    return _double_field(1, wall_time) + _text_field(3, "brain.Event:2")


def event(wall_time: float, step: int, values: Iterable[bytes]) -> bytes:
    """Event with the values of one step."""
    return (
        _double_field(1, wall_time)
        + _integer_field(2, step)
        + field(5, b"".join(field(1, each) for each in values))
    )


def graph_event(wall_time: float, nodes: Iterable[tuple[str, str, list[str]]]) -> bytes:
    """Graph event: name, type and inputs of each node."""
    definition = b"".join(
        field(
            1,
            _text_field(1, name)
            + _text_field(2, node_type)
            + b"".join(_text_field(3, each) for each in inputs),
        )
        for name, node_type, inputs in nodes
    )
    return _double_field(1, wall_time) + field(4, definition)


def scalar(tag: str, value: float) -> bytes:
    """Scalar value."""
    return _text_field(1, tag) + _float_field(2, float(value))


def text(tag: str, content: str) -> bytes:
    """Text value."""
    tensor = (
        _integer_field(1, 7) + field(2, field(2, _integer_field(1, 1))) + _text_field(8, content)
    )  # a string tensor with one element
    return _text_field(1, tag) + field(8, tensor) + field(9, field(1, _text_field(1, "text")))


def image(tag: str, pixels: np.ndarray[Any, Any]) -> bytes:
    """Image value from uint8 (height, width, channels)."""
    height, width, colours = pixels.shape
    inner = (
        _integer_field(1, height)
        + _integer_field(2, width)
        + _integer_field(3, colours)
        + field(4, png(pixels))
    )
    return _text_field(1, tag) + field(4, inner)


def histogram(tag: str, values: np.ndarray[Any, Any], bins: int = 30) -> bytes:
    """Histogram with equal bins; infinities and NaN are skipped."""
    flat = np.asarray(values, np.float64).ravel()
    flat = flat[np.isfinite(flat)]
    if not flat.size:
        flat = np.zeros(1)
    counts, edges = np.histogram(flat, bins)
    packed = [np.ascontiguousarray(each, "<f8").tobytes() for each in (edges[1:], counts)]
    inner = (
        _double_field(1, flat.min()) + _double_field(2, flat.max()) + _double_field(3, flat.size)
        + _double_field(4, flat.sum()) + _double_field(5, float(np.square(flat).sum()))
        + field(6, packed[0]) + field(7, packed[1])
    )  # fmt: skip
    return _text_field(1, tag) + field(5, inner)


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """Encode a uint8 image (height, width, 1, 3 or 4 channels) as PNG.

    >>> png(np.zeros((2, 2, 3), np.uint8))[:4]
    b'\\x89PNG'
    """
    height, width, colours = pixels.shape
    color_type = {1: 0, 3: 2, 4: 6}[colours]
    rows = np.zeros((height, 1 + width * colours), np.uint8)  # each row starts with its filter type: none
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
