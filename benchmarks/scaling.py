"""The JPEG pipelines at 1, 2, 4, 8 and 16 workers: Millrace beside PyTorch's DataLoader with torchvision.

python benchmarks/scaling.py                                 # 1 to 16 workers; writes benchmarks/scaling.json
python benchmarks/scaling.py --workers 1,2 --minutes 2       # a shorter one
python benchmarks/report.py                                  # then: the page with its section and plots

Needs nothing but Millrace, PyTorch and torchvision importable by this interpreter (without them, Millrace runs alone).
It draws its files itself and never takes longer than ``--minutes``: what was not reached by then is left out.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:1] = [str(HERE.parent)]

from benchmarks import images, machine, measure  # noqa: E402
from benchmarks.data import pictures  # noqa: E402

NAMES = {
    "millrace": "Millrace",
    "torch": "PyTorch, Pillow",
    "torch decode_image": "PyTorch, decode_image",
}
PIPELINES = ("train", "eval")
PACKAGES = ("millrace", "opencv-python-headless", "simplejpeg", "torch", "torchvision", "pillow")
# names for the drawn files: an epoch must not end while it is measured, however many workers there are
COPIES = 64

# (pipeline, loader, workers) -> what each round measured
Found = dict[tuple[str, str, int], list[dict[str, Any]]]


def main() -> int:
    args = _arguments()
    if args.cell:
        print("\n" + json.dumps(one(*args.cell, seconds=args.seconds)), flush=True)
        os._exit(0)  # workers of a loader that was left in the middle of an epoch
    began = time.monotonic()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    made = {name: {} for name in NAMES} if importlib.util.find_spec("torchvision") else {"millrace": {}}
    with tempfile.TemporaryDirectory(prefix="millrace-scaling-") as folder:
        files = _linked(Path(folder), args.copies)
        print(f"{files} files after {time.monotonic() - began:.0f} s", flush=True)
        found: Found = {}
        results = _results(args, files, list(made), found)
        for number in range(args.rounds):
            for cell in _cells(list(made), args.workers, number):
                if time.monotonic() - began > 60 * args.minutes:
                    break
                measured = _run(cell, folder, args.seconds)
                found.setdefault(cell, []).append(measured)
                # after each: a run that is stopped keeps what it has
                results = _results(args, files, list(made), found)
                args.out.write_text(json.dumps(results, indent=1) + "\n")
                shown = measured.get("error") or f"{measured['rows_per_s']:,.0f} rows/s"
                spent = time.monotonic() - began
                print(
                    f"{spent:4.0f} s  {cell[0]:5} {NAMES[cell[1]]:22} {cell[2]:2} workers  {shown}",
                    flush=True,
                )
    _table(results)
    print(args.out)
    return int(any("error" in m for several in found.values() for m in several))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The JPEG pipelines at growing numbers of workers.")
    parser.add_argument(
        "--workers", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4, 8, 16]
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often, at most (default 3)")
    parser.add_argument(
        "--minutes", type=float, default=7, help="no measurement begins after that (default 7)"
    )
    parser.add_argument("--seconds", type=float, default=2.5, help="length of one measurement (default 2.5)")
    parser.add_argument(
        "--copies", type=int, default=COPIES, help="names for each of the 600 files (default 64)"
    )
    parser.add_argument("--commit", help="what to call this state, where there is no git")
    parser.add_argument("--out", type=Path, default=HERE / "scaling.json")
    parser.add_argument("--cell", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


def _linked(folder: Path, copies: int) -> int:
    """A folder per class with links to the drawn files under many names; returns how many."""
    drawn = pictures.classes(quick=False)
    count = 0
    for path in sorted(drawn.glob("*/*.jpg")):
        place = folder / path.parent.name
        place.mkdir(exist_ok=True)
        for copy in range(copies):
            (place / f"{path.stem}-{copy}.jpg").symlink_to(path)
            count += 1
    return count


def _cells(names: list[str], workers: list[int], number: int) -> Iterator[tuple[str, str, int]]:
    """One round: the loaders right after each other at each number of workers, another one first each time."""
    start = number % len(names)
    for count in workers:
        for pipeline in PIPELINES:
            for name in names[start:] + names[:start]:
                yield pipeline, name, count


def _run(cell: tuple[str, str, int], folder: str, seconds: float) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__).resolve()), "--seconds", str(seconds), "--cell"]
    try:
        done = subprocess.run(
            [*command, *map(str, cell), folder], capture_output=True, text=True, check=False, timeout=90
        )
    except subprocess.TimeoutExpired:
        return {"error": "no result after 90 s"}
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        return {"error": said[-1][:300] if said else f"ended with {done.returncode}"}
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


# --- one measurement, in its own process --------------------------------------------------------------------------


def one(pipeline: str, name: str, workers: str, folder: str, seconds: float) -> dict[str, Any]:
    """Rows in a stretch of time, after a warm-up in which every worker has given several batches."""
    began = time.perf_counter()
    epochs = (_millrace if name == "millrace" else _torch)(pipeline, name, int(workers), folder)

    def endless() -> Iterator[Any]:
        while True:
            yield from epochs

    batches = endless()
    batch = next(batches)
    first = time.perf_counter() - began
    measure.check(batch, images.LABELLED)
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < 1 or count < 4 * int(workers):
        next(batches)
        count += 1
    rows, busy, began = 0, measure.cpu_seconds(), time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        batch = next(batches)
        rows += batch[0].shape[0]
    measure.check(batch, images.LABELLED)
    return {
        "rows_per_s": rows / spent,
        "first_batch_s": first,
        "cpu_s_per_1k": (measure.cpu_seconds() - busy) / rows * 1000,
        "peak_mb": measure.peak_mb(),
    }


def _millrace(pipeline: str, name: str, workers: int, folder: str) -> Any:
    import millrace.dataset as ds
    from millrace.dataset import vision

    ds.config.set_num_parallel_workers(workers)
    rows = ds.ImageFolderDataset(folder, shuffle=pipeline == "train")
    if pipeline == "train":
        steps = [vision.RandomCropDecodeResize(images.SIDE), vision.RandomHorizontalFlip()]
    else:
        steps = [vision.Decode(), vision.Resize(images.SHORT), vision.CenterCrop(images.SIDE)]
    rows = rows.map([*steps, vision.Normalize(images.MEAN, images.STD), vision.HWC2CHW()], ["image"])
    return rows.batch(images.BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)


def _torch(pipeline: str, name: str, workers: int, folder: str) -> Any:
    from torchvision.datasets import ImageFolder

    from benchmarks.images import torch

    transform = torch.pil_train() if pipeline == "train" else torch.pil_evaluate()
    options = {"loader": torch.tensor_read} if name.endswith("decode_image") else {}
    return torch.loader(ImageFolder(folder, transform=transform, **options), workers, pipeline == "train")


# --- what is shown and written ------------------------------------------------------------------------------------


def _results(args: argparse.Namespace, files: int, names: list[str], found: Found) -> dict[str, Any]:
    here = machine.describe()
    return {
        "command": "python benchmarks/scaling.py",
        "when": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "machine": here,
        "commit": args.commit or here["commit"],
        "versions": measure.versions(*PACKAGES),
        "files": files,
        "rounds": max(map(len, found.values()), default=0),
        "names": {name: NAMES[name] for name in names},
        "pipelines": {p: {name: _summary(found, p, name) for name in names} for p in PIPELINES},
    }


def _summary(found: Found, pipeline: str, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for (p, n, workers), several in found.items():
        good = [m for m in several if "error" not in m]
        if (p, n) == (pipeline, name) and good:
            made[str(workers)] = {key: statistics.median(m[key] for m in good) for key in good[0]}
            rates = [m["rows_per_s"] for m in good]
            made[str(workers)] |= {"low": min(rates), "high": max(rates), "rounds": len(good)}
        elif (p, n) == (pipeline, name):
            made[str(workers)] = several[0]
    return made


def _table(results: dict[str, Any]) -> None:
    for pipeline, table in results["pipelines"].items():
        for name, rates in table.items():
            one = next((r["rows_per_s"] for r in rates.values() if "rows_per_s" in r), None)
            for workers, r in rates.items():
                if "rows_per_s" not in r or one is None:
                    continue
                least = int(min(rates, key=int))
                part = 100 * r["rows_per_s"] * least / (one * int(workers))
                print(
                    f"{pipeline:5} {NAMES[name]:22} {workers:>2} workers {r['rows_per_s']:>9,.0f} rows/s "
                    f"{part:4.0f} % of linear  {r['cpu_s_per_1k']:.2f} CPU s per 1,000"
                )


if __name__ == "__main__":
    sys.exit(main())
