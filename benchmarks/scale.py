"""What a run costs that is too large to run here: the costs that must not grow with the rows, measured at three sizes.

python benchmarks/scale.py            # writes benchmarks/scale.json and prints the tables of the design note

Rows are synthetic (a number each), so that nothing but the engine's own bookkeeping is measured. Each cell is a process
of its own, run three times; the least time of the clock and of the CPU is kept, since what disturbs only adds.
docs/design/2026-11-16-scale.md reads the figures.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:1] = [str(HERE.parent)]

import numpy as np  # noqa: E402

from benchmarks import machine  # noqa: E402

SIZES = (10**6, 10**9, 10**12)
BATCH = 256
FILES = (10**5, 10**6)


class Rows:
    """Any number of rows, each its own number."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> np.int64:
        return np.int64(index)


def rows(count: int, shards: int) -> dict[str, Any]:
    """First batch, state, resume and memory of a shuffled pipeline, or of one rank of a thousand."""
    import millrace.dataset as ds

    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def made() -> ds.Dataset:
        options = {"num_shards": shards, "shard_id": shards // 2} if shards > 1 else {}
        data = ds.GeneratorDataset(Rows(count), ["n"], shuffle=True, num_parallel_workers=1, **options)
        return data.batch(BATCH)

    next(made().create_dict_iterator(num_epochs=1, output_numpy=True))  # what is loaded once is loaded
    began, cpu = time.perf_counter(), time.process_time()
    data = made()
    found = data.create_dict_iterator(num_epochs=2, output_numpy=True)
    seen = [next(found)["n"]]
    first, first_cpu = time.perf_counter() - began, time.process_time() - cpu
    before = time.perf_counter()
    for _ in range(2):
        seen.append(next(found)["n"])
    each = (time.perf_counter() - before) / 2
    state = found.state()
    wanted = next(found)["n"]
    del found
    began, cpu = time.perf_counter(), time.process_time()
    again = data.create_dict_iterator(num_epochs=2, output_numpy=True, state=state)
    assert (next(again)["n"] == wanted).all()
    resumed, resumed_cpu = time.perf_counter() - began, time.process_time() - cpu
    together = np.concatenate(seen)
    assert len(set(together.tolist())) == len(together)
    return {
        "first_ms": first * 1e3,
        "first_cpu_ms": first_cpu * 1e3,
        "batch_ms": each * 1e3,
        "resume_ms": resumed * 1e3,
        "resume_cpu_ms": resumed_cpu * 1e3,
        "state_bytes": len(state if isinstance(state, (bytes, str)) else json.dumps(state, default=str)),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "grown_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024,
        "steps": data.get_dataset_size(),
    }


def files(count: int) -> dict[str, Any]:
    """The list of so many files in a thousand folders: made, held, and sent to a worker."""
    import pickle

    from millrace._src.data.formats.files.file_list import FileList

    began = time.perf_counter()
    made = FileList("/data/images")
    for folder in range(1000):
        made.extend(f"class{folder:04}", [b"image_%010d.jpg" % n for n in range(count // 1000)])
    made.nbytes  # noqa: B018  (joins it)
    listed = time.perf_counter() - began
    began = time.perf_counter()
    sent = len(pickle.dumps(made, protocol=5))
    packed = time.perf_counter() - began
    return {
        "build_s": listed,
        "bytes": made.nbytes,
        "bytes_a_file": made.nbytes / count,
        "pickle_s": packed,
        "sent": sent,
    }


def folder_of(count: int) -> dict[str, Any]:
    """Listing real, empty files on this disk, in folders of a thousand."""
    from millrace._src.data.sources.base.table_dataset import class_folders

    with tempfile.TemporaryDirectory(prefix="millrace-scale-") as root:
        for folder in range(count // 1000):
            place = Path(root, f"class{folder:04}")
            place.mkdir()
            for number in range(1000):
                (place / f"image_{number:010}.jpg").touch()
        began = time.perf_counter()
        found, _, _ = class_folders(root)
        return {"seconds": time.perf_counter() - began, "files": len(found)}


def cells() -> list[tuple[str, tuple[int, ...]]]:
    found: list[tuple[str, tuple[int, ...]]] = [
        ("rows", (size, shards)) for size in SIZES for shards in (1, 1000)
    ]
    found += [("files", (count,)) for count in FILES]
    return [*found, ("folder_of", (20_000,))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cell", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=HERE / "scale.json")
    args = parser.parse_args()
    if args.cell:
        name, *numbers = args.cell
        print("\n" + json.dumps(globals()[name](*map(int, numbers))))
        return 0
    results: dict[str, Any] = {"machine": machine.describe(), "cells": {}}
    for name, numbers in cells():
        found = []
        for _ in range(args.rounds):
            command = [sys.executable, str(HERE / "scale.py"), "--cell", name, *map(str, numbers)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
            found.append(json.loads(done.stdout.splitlines()[-1]))
        least = {key: round(min(each[key] for each in found), 3) for key in found[0]}
        results["cells"][" ".join([name, *map(str, numbers)])] = least
        print(name, *numbers, least, flush=True)
    args.out.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
