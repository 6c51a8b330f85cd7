"""``millrace quickstart``: create images and records, run a pipeline, resume it exactly; then train and serve."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from rich.console import Console

import millrace.dataset as ds
from millrace._src.cli.bench.user_pipeline import from_python
from millrace._src.cli.history_recorder import record_history
from millrace._src.cli.parser import count, fail
from millrace._src.cli.terminal_output import console as new_console
from millrace._src.core.errors import MillraceError
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.meter import TaskProgressBar
from millrace._src.core.values.tensor import load_runtime
from millrace._src.observe.views.table import table
from millrace.mindrecord import FileWriter

from .synthetic_images import CLASSES, write_image

__all__ = ["add_arguments", "run"]

EPILOG = """\
The folder keeps the images, the record files, pipeline.py and report.html. Run
the command again to start from the beginning. --train continues there:
train.py trains on the records, is killed, and resumes with the same bits.
--serve comes next: it serves the trained model over HTTP and sends requests to
it.

examples:
  millrace quickstart
  millrace quickstart --images 5000 --workers 8
  millrace quickstart --folder /tmp/first
  millrace quickstart --train
  millrace quickstart --serve
"""

PIPELINE = """\
from pathlib import Path

import millrace.dataset as ds
import millrace.dataset.vision as vision

ds.config.set_seed({seed})
record = Path(__file__).with_name("{record}")
data = ds.MindDataset(str(record), shuffle=True)
data = data.map(vision.Decode(), input_columns="image")
data = data.map(vision.RandomResizedCrop(224), input_columns="image")
data = data.map(vision.RandomHorizontalFlip(), input_columns="image")
mean, std = [124, 116, 104], [58, 57, 57]
data = data.map(vision.Normalize(mean, std), input_columns="image")
data = data.map(vision.HWC2CHW(), input_columns="image")
data = data.batch(32)
"""

MARK = ".millrace-quickstart"  # only a folder that contains this file is emptied
RECORD = "shapes.mindrecord"
ROWS_AT_ONCE = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = EPILOG
    parser.add_argument(
        "--images", type=count, default=600, metavar="N", help="number of images to create (default: 600)"
    )
    parser.add_argument("--epochs", type=count, default=2, metavar="N", help="number of epochs (default: 2)")
    parser.add_argument(
        "--workers", type=count, metavar="N", help="number of workers (default: number of cores)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="random seed (default: 1)")
    parser.add_argument(
        "--train", action="store_true", help="train a model on the records of the last quickstart"
    )
    parser.add_argument("--serve", action="store_true", help="serve the model that --train has trained")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("millrace-quickstart"),
        help="working folder (default: millrace-quickstart)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Create images and records, run the pipeline, show the report, stop and resume; or train, or serve."""
    console = new_console(highlight=False, soft_wrap=True)
    folder: Path = arguments.folder
    if arguments.train:
        return _run_training_part(console, arguments)
    if arguments.serve:
        return _run_serving_part(console, folder)
    try:
        _prepare_folder(folder)
    except OSError as error:
        reason = error.strerror or error
        return fail("quickstart", f"{folder}: {reason}. Choose another folder with --folder")
    cores = available_cores()
    console.print(
        f"[bold]Millrace quickstart[/bold]: {arguments.images} images, {cores} core{'s' if cores > 1 else ''}, "
        f"in {folder}\n"
    )
    try:
        with TaskProgressBar(console) as meter:
            files = _create_images(meter, folder / "images", arguments.images)
            _write_records(meter, files, folder / RECORD)
        if arguments.workers:
            ds.config.set_num_parallel_workers(arguments.workers)
        script = folder / "pipeline.py"
        script.write_text(PIPELINE.format(seed=arguments.seed, record=RECORD))
        _print_title(console, f"The pipeline ({script})")
        console.print(textwrap.indent(script.read_text().rstrip(), "  "), markup=False)
        data = from_python(str(script))
        _run_epochs(console, data, arguments.epochs, len(files))
        _print_report(console, data, folder / "report.html")
        same = _check_resume(console, data)
    except (MillraceError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return fail("quickstart", str(error))
    _print_next_steps(
        console,
        (f"quickstart --train --folder {folder}", "train on these records, kill the run, and resume it"),
        (f"bench {folder / 'pipeline.py'}", "measure the pipeline and this machine"),
        (f"record inspect {folder / RECORD}", "inspect the record file"),
        ("doctor", "check this machine for problems"),
    )
    return 0 if same else 1


def _run_training_part(console: Console, arguments: argparse.Namespace) -> int:
    """The training part; it uses the folder of the first part."""
    folder: Path = arguments.folder
    if not (folder / RECORD).is_file():
        return fail(
            "quickstart",
            f"{folder / RECORD} is not there; run {_program_name()} quickstart --folder {folder} first",
        )
    try:
        load_runtime()  # fails early if PyTorch is not installed
    except MillraceError as error:
        return fail("quickstart", str(error))
    from .training import run_training

    status = run_training(console, folder, RECORD, arguments.seed)
    if status == 0:
        _print_next_steps(
            console,
            (f"quickstart --serve --folder {folder}", "serve the model over HTTP (needs the extra: serve)"),
        )
    return status


def _run_serving_part(console: Console, folder: Path) -> int:
    """The serving part; it uses the folder of the training part."""
    from .serving import ARCHIVE, run_serving

    if not (folder / ARCHIVE).is_file():
        return fail(
            "quickstart",
            f"{folder / ARCHIVE} is not there; run {_program_name()} quickstart --train --folder {folder} first",
        )
    status = run_serving(console, folder)
    if status == 0:
        _print_next_steps(
            console,
            (f"serve {folder / ARCHIVE}", "serve it at port 8000 until Ctrl-C"),
        )
    return status


def _prepare_folder(folder: Path) -> None:
    """Prepare the working folder: new, empty, or of an earlier quickstart, whose files are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / MARK).is_file():
        shutil.rmtree(folder)
        folder.mkdir()
    elif any(folder.iterdir()):
        raise OSError("the folder is not empty")
    (folder / MARK).write_text("millrace quickstart may empty this folder\n")


def _print_title(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]\n")


def _create_images(meter: TaskProgressBar, folder: Path, images: int) -> list[Path]:
    with ThreadPoolExecutor(available_cores()) as pool, meter.task("drawing", images) as step:
        files = []
        for path in pool.map(lambda number: write_image(folder, number), range(images)):
            files.append(path)
            step(1)
    return files


def _write_records(meter: TaskProgressBar, files: list[Path], target: Path) -> None:
    writer = FileWriter(str(target))
    writer.add_schema({"image": {"type": "bytes"}, "label": {"type": "int32"}}, "shapes to classify")
    with meter.task("writing", len(files)) as step:
        for start in range(0, len(files), ROWS_AT_ONCE):
            part = files[start : start + ROWS_AT_ONCE]
            rows = [
                {"image": path.read_bytes(), "label": np.int32(CLASSES.index(path.parent.name))}
                for path in part
            ]
            writer.write_raw_data(rows)
            step(len(part))
        writer.commit()


def _run_epochs(console: Console, data: ds.Dataset, epochs: int, images: int) -> None:
    _print_title(console, f"Running it for {epochs} epoch{'s' if epochs > 1 else ''}")
    iterator = data.create_dict_iterator(num_epochs=epochs, output_numpy=True)
    look = record_history(iterator)
    with TaskProgressBar(console) as meter, contextlib.closing(iterator):
        for epoch in range(epochs):
            with meter.task(f"epoch {epoch + 1}", images) as step:
                for batch in iterator:
                    step(len(batch["label"]))
                    look()


def _print_report(console: Console, data: ds.Dataset, page: Path) -> None:
    _print_title(console, "Report of the run: data.report()")
    report = data.report()
    for line in table(report):
        console.print(line, soft_wrap=True, markup=False, highlight=False)
    console.print()
    diagnosis = str(report.verdict)
    lines = textwrap.wrap(diagnosis, min(console.width, 100), break_on_hyphens=False, break_long_words=False)
    console.print("\n".join(lines), markup=False)
    report.to_html(page, title="Millrace quickstart")
    console.print(f"\nThe report as a page with the plan as a graph: {page}", markup=False)


def _check_resume(console: Console, data: ds.Dataset) -> bool:
    """Stop in the middle of an epoch, resume from the saved state, and compare."""
    _print_title(console, "Stop and resume: iterator.state()")
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
    outcome = "the same, bit for bit" if same else "NOT the same: this is a bug, please report it"
    console.print(
        f"Stopped after {middle} batch{'es' if middle != 1 else ''}; the state is {len(saved)} characters of JSON."
    )
    console.print(f"A new iterator resumed with batch {middle + 1}: {outcome}.")
    return same


def _print_next_steps(console: Console, *commands: tuple[str, str]) -> None:
    """Print commands to copy, with the path of this program where it needs one."""
    program = _program_name()
    _print_title(console, f"Command{'s' if len(commands) > 1 else ''} to try next")
    for command, text in commands:
        console.print(f"  [dim]# {text}[/dim]")
        console.print(f"  {program} {command}", markup=False)


def _program_name() -> str:
    """The command line that runs this program."""
    here = Path(sys.executable).with_name("millrace")
    program = shutil.which("millrace")
    if program and os.path.realpath(program) == os.path.realpath(here):
        return "millrace"
    if not here.exists():
        return f"{sys.executable} -m millrace"
    near = os.path.relpath(here)
    return near if not near.startswith("..") else str(here)
