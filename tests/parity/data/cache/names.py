"""The short names that the cases about a cache may use, for either library."""

from __future__ import annotations

import copy
import importlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.parity import prelude

OPTIONS = ("session_id", "size", "spilling", "hostname", "port", "num_connections", "prefetch_size")


def names(ds: Any, folder: Path, port: int, session: int) -> dict[str, Any]:
    """The namespace of a case run against `ds`, a server on `port` and a `session` there."""
    vision = importlib.import_module(f"{ds.__name__}.vision")
    transforms = importlib.import_module(f"{ds.__name__}.transforms")
    dtype = importlib.import_module(f"{ds.__name__.partition('.')[0]}.common.dtype")
    _files(folder)

    def photos(**options: Any) -> Any:
        return ds.ImageFolderDataset(str(folder / "photos"), **{"shuffle": False, "decode": True, **options})

    def lines(**options: Any) -> Any:
        return ds.TextFileDataset(str(folder / "lines.txt"), **{"shuffle": False, **options})

    def big(rows: int, cache: Any) -> Any:
        schema = ds.Schema()
        schema.add_column("x", dtype.uint8, [100_000])
        return ds.RandomDataset(rows, schema=schema, cache=cache, num_parallel_workers=1)

    def cache(**options: Any) -> Any:
        return ds.DatasetCache(session, **{"port": port, **options})

    def count(dataset: Any, epochs: int = 1) -> list[int]:
        iterator = dataset.create_dict_iterator(num_epochs=epochs, output_numpy=True)
        return [sum(1 for _ in iterator) for _ in range(epochs)]

    def stat(cache: Any) -> list[int]:
        found = cache.get_stat()
        return [found.avg_cache_sz, found.num_mem_cached, found.num_disk_cached]

    def attributes(thing: Any) -> list[str]:
        return [name for name in dir(thing) if not name.startswith("_")]

    known = {thing.__name__: thing for thing in (photos, lines, big, cache, count, stat, attributes)}
    known |= {"small": vision.Resize((4, 4)), "flip": vision.RandomHorizontalFlip(0.5)}
    known |= {"OPTIONS": OPTIONS, "cast": transforms.TypeCast(dtype.float32), "port": port, "copy": copy}
    return prelude.names(ds, folder) | known


def _files(folder: Path) -> None:
    """Six pictures of two kinds, which take long enough to decode that they are kept, and three lines."""
    noise = np.random.default_rng(0).integers(0, 255, (240, 320, 3), np.uint8)
    for kind in "ab":
        (folder / "photos" / kind).mkdir(parents=True, exist_ok=True)
        for number in range(3):
            Image.fromarray(noise + number).save(folder / "photos" / kind / f"{number}.png")
    (folder / "lines.txt").write_text("one\ntwo\nthree\n")
