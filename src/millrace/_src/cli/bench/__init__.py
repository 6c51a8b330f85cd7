"""``millrace bench``: measure how fast the user's data loads, and find the bottleneck."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from millrace import __version__
from millrace._src.cli.parser import count, fail, seconds
from millrace._src.cli.terminal_output import console as new_console
from millrace._src.cli.terminal_output import say_json
from millrace._src.core import settings
from millrace._src.core.errors import MillraceError
from millrace._src.core.machine.cores import available_cores

__all__ = ["add_arguments", "run"]

EPILOG = """\
PATH may be:
  a folder of images, flat or nested: decoded, cropped, flipped, normalized
      and batched, as for training
  MindRecord, TFRecord, CSV or text files, or a folder of them: images inside
      are decoded too
  a .py file that defines a Dataset named 'pipeline', or a function dataset():
      the file is executed with your permissions; run only files that you trust
  a .json file that ds.serialize wrote

Files that cannot be read are listed and skipped. Nothing is written except
the HTML report.

examples:
  millrace bench photos/
  millrace bench photos/ --workers 4 --batch 64 --html report.html
  millrace bench train-*.tfrecord --no-decode
  millrace bench pipeline.py --seconds 30 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = EPILOG
    parser.add_argument("paths", nargs="+", metavar="PATH", help="what to load (see below)")
    parser.add_argument(
        "--seconds", type=seconds, default=5.0, metavar="N", help="seconds to measure (default: 5)"
    )
    parser.add_argument(
        "--workers", type=count, metavar="N", help="number of workers (default: number of cores)"
    )
    parser.add_argument("--batch", type=count, default=32, metavar="N", help="rows per batch (default: 32)")
    parser.add_argument(
        "--decode", action=argparse.BooleanOptionalAction, default=True,
        help="decode and augment images, or only read their bytes (default: decode)",
    )  # fmt: skip
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the stage report as an HTML page")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Exit status: 0 rows were loaded, 1 no row could be loaded, 2 the path is not supported."""
    before = settings.snapshot()
    try:
        settings.update(error_samples_mode="skip")
        if arguments.workers:
            settings.update(num_parallel_workers=arguments.workers)
        return _bench(arguments)
    except (MillraceError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        text = str(error)
        known = any(path in text for path in arguments.paths)
        return fail("bench", text if known else f"{', '.join(arguments.paths)}: {text}")
    finally:
        settings.restore(before)


def _bench(arguments: argparse.Namespace) -> int:
    from . import hardware_baseline as machine
    from . import output as show
    from . import throughput as measure
    from .auto_pipeline import build_target

    console = new_console(highlight=False, soft_wrap=True, stderr=arguments.json)
    with _show_progress(console) as stage:
        stage("looking for files")
        target = build_target(arguments.paths, arguments.batch, arguments.decode)
        stage("reading sample rows")
        files = measure.stored_files(target)
        stage("reading files")
        could: dict[str, Any] = {"read": machine.read_rates(files)}
        stage("loading", arguments.seconds)
        throughput = measure.measure(target, arguments.seconds, stage.step)
        if arguments.decode:
            stage("decoding samples")
            could["decode"] = machine.decode_rates(machine.samples_of(measure.stored_images(target.data)))
        stage("copying memory")
        could["copy"] = machine.copy_rate()
    if throughput.report is None:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(throughput.bad.items())[:3])
        text = throughput.error or (
            f"all {throughput.bad_rows} rows failed: {reasons}" if throughput.bad else "there are no rows"
        )
        fail("bench", f"{', '.join(arguments.paths)}: nothing could be loaded; {text}")
        return 1
    result = _build_result(arguments, target, throughput, could)
    if arguments.html:
        throughput.report.to_html(arguments.html, title=f"millrace bench {' '.join(arguments.paths)}")
    if arguments.json:
        say_json(result, indent=2)
        return 0
    cores = available_cores()
    console.print(
        f"[bold]millrace bench[/bold]: {escape(target.what)}, {cores} core{'s' if cores > 1 else ''}"
    )
    if target.code:
        console.print("\n[bold]What is loaded[/bold]")
        console.print("\n".join(f"  {line}" for line in target.code.splitlines()), markup=False)
    show.print_result(console, result)
    if arguments.html:
        console.print(f"\nThe stage report: {arguments.html}", markup=False)
    return 0


def _build_result(
    arguments: argparse.Namespace, target: Any, throughput: Any, could: dict[str, Any]
) -> dict[str, Any]:
    from .throughput import time_shares

    diagnosis = throughput.report.verdict
    names = ("rate", "rows", "batches", "epochs", "seconds", "first_batch", "delivered", "read", "peak_bytes")
    return {
        "millrace": __version__,
        "paths": arguments.paths,
        "what": target.what,
        "kind": target.data_format,
        "unit": target.unit,
        "code": target.code,
        "cores": available_cores(),
        "speed": {name: getattr(throughput, name) for name in names},
        "bytes_per_row": throughput.read / throughput.rate if throughput.rate else 0.0,
        "shares": [[name, share] for name, share in time_shares(throughput.report)],
        "machine": {name: value for name, value in could.items() if value},
        "bad": throughput.bad,
        "bad_rows": throughput.bad_rows,
        "ended_early": throughput.error,
        "advice": str(diagnosis),
        "verdict": diagnosis.to_dict(),
    }


class _Stages:
    """Progress of the stages: a bar on a terminal, nothing elsewhere."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.task = None if progress is None else progress.add_task("", total=None, rate="")
        self.total = 0.0

    def __call__(self, name: str, total: float | None = None) -> None:
        self.total = total or 0.0
        if self.progress is not None and self.task is not None:
            self.progress.reset(self.task, description=name, total=total, rate="")

    def step(self, done: float, rows: int) -> None:
        if self.progress is not None and self.task is not None:
            self.progress.update(
                self.task, completed=min(done, self.total), rate=f"{rows / done:,.0f} rows/s"
            )


@contextlib.contextmanager
def _show_progress(console: Console) -> Iterator[_Stages]:
    if not console.is_terminal:
        yield _Stages(None)
        return
    columns = (TextColumn("{task.description:<16}"), BarColumn(32), TextColumn("{task.fields[rate]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Stages(progress)
