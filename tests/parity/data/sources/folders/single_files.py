"""Data sets with a file for each row."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

from .base import case, put


def imdb(folder: Path) -> dict[str, Any]:
    for part in ("train", "test"):
        for mood in ("pos", "neg"):
            for name in ("0_9", "10_7", "2_8"):
                put(folder / part / mood / f"{name}.txt", f"{part} {mood} {name}<br />two lines, 字")
    put(folder / "README", "no data")
    return {"dataset_dir": str(folder)}


case("IMDBDataset")(imdb)
case("IMDBDataset", "test")(lambda f: imdb(f) | {"usage": "test"})


def png(shade: int) -> bytes:
    """An image of two by two pixels."""
    rows = (b"\0" + bytes([shade, 1, 2]) * 2) * 2

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = part(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


IMAGES = [
    ("train", "cat"),
    ("train", "dog"),
    ("eval", "cat"),
    ("train", "ant"),
    ("train", "dog"),
    ("inference", "x"),
]


def manifest(folder: Path) -> dict[str, Any]:
    lines = []
    for n, (usage, label) in enumerate(IMAGES):
        put(folder / f"{n}.png", png(n * 20))
        note = {"type": "modelarts/image_classification", "name": label, "property": {}}
        row = {"source": str(folder / f"{n}.png"), "usage": usage, "inference-loc": "", "annotation": [note]}
        lines.append(json.dumps(row))
    put(folder / "data.manifest", "\n".join(lines) + "\n")
    return {"dataset_file": str(folder / "data.manifest")}


case("ManifestDataset")(manifest)
case("ManifestDataset", "decoded")(lambda f: manifest(f) | {"decode": True})
case("ManifestDataset", "classes")(
    lambda f: manifest(f) | {"class_indexing": {"cat": 11, "dog": 1, "ant": 7}}
)
