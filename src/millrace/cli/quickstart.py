"""``millrace quickstart``: a first pipeline on images it makes itself."""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace.core.cores import available_cores

from .shapes import CLASSES, write_image

__all__ = ["add_arguments", "run"]

PIPELINE = """\
ds.config.set_seed({seed})
data = ds.GeneratorDataset(Shapes(files), ["image", "label"], shuffle=True)
data = data.map(vision.Decode(), input_columns="image")
data = data.map([vision.RandomResizedCrop(224), vision.RandomHorizontalFlip()], input_columns="image")
data = data.map([vision.Normalize(mean=[124, 116, 104], std=[58, 57, 57]), vision.HWC2CHW()], input_columns="image")
data = data.batch(32)"""

HINTS = """\
Where to go on:
  docs/tutorial/first-pipeline.md                build such a pipeline yourself, step by step
  docs/how-to/index.md                           one page per question
  examples/                                      five short programs to copy from
  python -m millrace.as_mindspore script.py      run a script written for MindSpore, unchanged"""


class Shapes:
    """The files of a folder with one sub-folder per class: the bytes of the image, and the class."""

    def __init__(self, files: list[Path]) -> None:
        self.files = files

    def __getitem__(self, index: int) -> tuple[bytes, Any]:
        path = self.files[index]
        return path.read_bytes(), np.int32(CLASSES.index(path.parent.name))

    def __len__(self) -> int:
        return len(self.files)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--images", type=_count, default=600, metavar="N", help="how many images to make (600)"
    )
    parser.add_argument(
        "--epochs", type=_count, default=2, metavar="N", help="how many times to read them (2)"
    )
    parser.add_argument("--workers", type=_count, metavar="N", help="workers (as many as there are cores)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of every random choice (1)")
    parser.add_argument(
        "--folder", type=Path, help="keep the images here (a temporary folder, removed after)"
    )


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Make images, run the pipeline, show plan and report, stop and resume."""
    console = Console(highlight=False, soft_wrap=True)
    with contextlib.ExitStack() as stack:
        folder = arguments.folder or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace-"))
        )
        files = _make_images(console, folder, arguments.images)
        if arguments.workers:
            ds.config.set_num_parallel_workers(arguments.workers)
        data = _pipeline(files, arguments.seed)
        _title(console, "The pipeline")
        console.print(PIPELINE.format(seed=arguments.seed), markup=False)
        _run_epochs(console, data, arguments.epochs, len(files))
        _title(console, "The plan it ran: data.explain()")
        console.print(data.explain(), markup=False)
        _title(console, "What happened: data.report()")
        console.print(str(data.report()), markup=False)
        same = _resume(console, data)
    console.print()
    console.print(HINTS, markup=False)
    return 0 if same else 1


def _title(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]\n")


def _pipeline(files: list[Path], seed: int) -> ds.Dataset:
    """What is shown is what runs, so that the plan's line numbers are those of the lines shown."""
    names: dict[str, Any] = {"ds": ds, "vision": vision, "Shapes": Shapes, "files": files}
    exec(compile(PIPELINE.format(seed=seed), "pipeline", "exec"), names)
    made: ds.Dataset = names["data"]
    return made


class _Meter:
    """A progress bar with a rate on a terminal, one plain line per task elsewhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        columns = (
            TextColumn("{task.description}"),
            BarColumn(40),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
        )
        self.progress = Progress(*columns, console=console) if console.is_terminal else None

    @contextlib.contextmanager
    def task(self, name: str, total: int) -> Iterator[Any]:
        """Yields a function to call with the number of images just done."""
        began, done = time.perf_counter(), 0
        bar = None if self.progress is None else self.progress.add_task(name, total=total, rate="")

        def rate() -> str:
            return f"{done / max(1e-9, time.perf_counter() - began):,.0f} images/s"

        def step(images: int) -> None:
            nonlocal done
            done += images
            if self.progress is not None and bar is not None:
                self.progress.update(bar, advance=images, rate=rate())

        yield step
        if self.progress is None:
            seconds = time.perf_counter() - began
            self.console.print(f"{name}  {done} images in {seconds:.1f} s, {rate()}")

    def __enter__(self) -> _Meter:
        if self.progress is not None:
            self.progress.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.progress is not None:
            self.progress.stop()


def _make_images(console: Console, folder: Path, count: int) -> list[Path]:
    cores = available_cores()
    console.print(
        f"[bold]Millrace quickstart[/bold]: {count} images of {len(CLASSES)} shapes, {cores} cores\n"
    )
    with _Meter(console) as meter, ThreadPoolExecutor(cores) as pool, meter.task("drawing", count) as step:
        files = []
        for path in pool.map(lambda number: write_image(folder, number), range(count)):
            files.append(path)
            step(1)
    return files


def _run_epochs(console: Console, data: ds.Dataset, epochs: int, images: int) -> None:
    _title(console, f"Running it for {epochs} epochs")
    iterator = data.create_dict_iterator(num_epochs=epochs, output_numpy=True)
    with _Meter(console) as meter, contextlib.closing(iterator):
        for epoch in range(epochs):
            with meter.task(f"epoch {epoch + 1}", images) as step:
                for batch in iterator:
                    step(len(batch["label"]))


def _resume(console: Console, data: ds.Dataset) -> bool:
    """Stop in the middle of an epoch, go on from the saved state, and compare."""
    _title(console, "Stop and go on: iterator.state()")
    middle = data.get_dataset_size() // 2
    with contextlib.closing(data.create_dict_iterator(num_epochs=1, output_numpy=True)) as iterator:
        for _ in range(middle):
            next(iterator)
        saved = json.dumps(iterator.state())
        wanted = next(iterator)
    state = json.loads(saved)
    with contextlib.closing(data.create_dict_iterator(1, output_numpy=True, state=state)) as resumed:
        got = next(resumed)
    same = wanted.keys() == got.keys() and all(
        wanted[name].dtype == got[name].dtype and wanted[name].tobytes() == got[name].tobytes()
        for name in wanted
    )
    verdict = "the same, bit for bit" if same else "NOT the same: this is a bug, please report it"
    console.print(f"Stopped after {middle} batches; the state is {len(saved)} characters of JSON.")
    console.print(f"A new iterator went on with batch {middle + 1}: {verdict}.")
    return same
