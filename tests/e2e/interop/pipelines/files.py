"""The files that the sources of random pipelines read. Written by Millrace, the same every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

RECORDS = {
    "id": ("int64",),
    "label": ("int32",),
    "name": ("str",),
    "share": ("float32",),
    "image": ("bytes",),
    "codes": ("int64", 2),
}


def write(folder: Path) -> None:
    """Write record files, a CSV, lines of text and a folder of images."""
    import millrace.dataset as ds
    from millrace.mindrecord import FileWriter

    for name, count, shards in (("plain.rec", 9, 1), ("parts.rec", 11, 3)):
        writer = FileWriter(str(folder / name), shards, overwrite=True)
        schema: dict[str, Any] = {
            key: {"type": {"str": "string"}.get(kind, kind), **({"shape": list(shape)} if shape else {})}
            for key, (kind, *shape) in RECORDS.items()
        }
        writer.add_schema(schema, "random pipelines")
        writer.write_raw_data([_record(k) for k in range(count)])
        writer.commit()
    ds.NumpySlicesDataset(
        {
            "n": np.arange(7),
            "v": np.arange(14, dtype=np.float32).reshape(7, 2),
            "t": [f"t{k}" for k in range(7)],
        },
        shuffle=False,
    ).save(str(folder / "rows.tfrecord"), 1, "tfrecord")
    (folder / "a.csv").write_text("".join(f"{k},{k / 4},w{k},\n" for k in range(6)))
    (folder / "named.csv").write_text("i,f,w\n" + "".join(f"{k},{k / 4},w{k}\n" for k in range(5)))
    (folder / "b.csv").write_text("".join(f"{k},{k / 2},x{k},z\n" for k in range(10, 13)))
    (folder / "a.txt").write_text("one\ntwo words\n\nthree\n  indented\nlast")
    (folder / "b.txt").write_text("4\n5\n6\n")
    _images(folder / "images")


def _record(k: int) -> dict[str, Any]:
    return {
        "id": k,
        "label": k % 3,
        "name": f"näme {k}",
        "share": k / 4,
        "image": bytes(range(k + 1)),
        "codes": np.array([k, k * k], np.int64),
    }


def _images(folder: Path) -> None:
    from PIL import Image

    for label, name in enumerate(("cat", "dog", "eel")):
        (folder / name).mkdir(parents=True)
        for k in range(label + 2):
            cells = (np.arange(6 * 5 * 3) * (k + 2) + label * 40) % 256
            Image.fromarray(cells.reshape(6, 5, 3).astype(np.uint8)).save(folder / name / f"{k}.png")
