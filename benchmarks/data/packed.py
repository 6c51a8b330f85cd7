"""The JPEG files of ``pictures`` in the record formats of the peers, with the same bytes and labels in each."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import folder, kept, pictures, tfrecords

__all__ = ["array_record", "arrow", "pair_tars", "tars", "tfrecord", "tfrecord_index"]

SHARDS = 4


def tfrecord(quick: bool) -> Path:
    def write(path: Path) -> None:
        rows = (
            tfrecords.example(
                {"image": tfrecords.bytes_feature(data), "label": tfrecords.ints_feature(label)}
            )
            for data, label in pictures.encoded(quick)
        )
        tfrecords.write(path, rows)

    return kept(folder() / f"jpeg-{pictures.count(quick)}.tfrecord", write)


def tfrecord_index(path: Path) -> Path:
    return kept(path.with_suffix(".idx"), lambda into: tfrecords.index(path, into))


def _tars(name: str, quick: bool, samples: Iterable[tuple[int, dict[str, bytes]]]) -> list[str]:
    def write(root: Path) -> None:
        root.mkdir()
        with contextlib.ExitStack() as stack:
            places = [root / f"{shard}.tar" for shard in range(SHARDS)]
            files = [stack.enter_context(tarfile.open(place, "w")) for place in places]
            for number, parts in samples:
                for kind, data in parts.items():
                    entry = tarfile.TarInfo(f"{number:05}.{kind}")
                    entry.size = len(data)
                    files[number % SHARDS].addfile(entry, io.BytesIO(data))

    root = kept(folder() / f"{name}-{pictures.count(quick)}", write)
    return [str(path) for path in sorted(root.glob("*.tar"))]


def tars(quick: bool) -> list[str]:
    """WebDataset's format: four tars of NUMBER.jpg and NUMBER.cls."""
    rows = enumerate(pictures.encoded(quick))
    return _tars("tars", quick, ((n, {"jpg": data, "cls": b"%d" % label}) for n, (data, label) in rows))


def pair_tars(quick: bool) -> list[str]:
    """The same with NUMBER.jpg and NUMBER.png, the mask."""
    rows = enumerate(pictures.pairs(quick))
    return _tars(
        "pair-tars",
        quick,
        ((n, {"jpg": Path(a).read_bytes(), "png": Path(b).read_bytes()}) for n, (a, b) in rows),
    )


def array_record(quick: bool) -> Path:
    """Grain's format; each record is a byte for the label and the file. Only in its environment."""
    from array_record.python import array_record_module

    def write(path: Path) -> None:
        writer = array_record_module.ArrayRecordWriter(str(path), "group_size:1")
        for data, label in pictures.encoded(quick):
            writer.write(bytes([label]) + data)
        writer.close()

    return kept(folder() / f"jpeg-{pictures.count(quick)}.array_record", write)


def arrow(quick: bool) -> Path:
    """What Hugging Face datasets keep on disk: Arrow with the files inside. Only in its environment."""
    import datasets

    def write(path: Path) -> None:
        rows: Any = [{"image": {"bytes": d, "path": None}, "label": n} for d, n in pictures.encoded(quick)]
        kinds = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int32")})
        datasets.Dataset.from_list(rows, features=kinds).save_to_disk(str(path))

    return kept(folder() / f"arrow-{pictures.count(quick)}", write)
