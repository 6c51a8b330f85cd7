"""Millrace beside its peers: every workload, every peer in its own environment, interleaved and repeated.

python benchmarks/run.py --peers .peers                 # everything; writes RESULTS.md, DETAILS.md, plots/, the README
python benchmarks/run.py --only serving --repeat 5      # measure a part or a workload again; the other tables stay
python benchmarks/run.py --repeat 1 --minutes 30        # the headlines first, and as much as fits
python benchmarks/run.py --quick                        # tiny sizes, one round: does it run? writes nothing
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:1] = [str(HERE.parent)]

from rich.console import Console  # noqa: E402
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: E402

from benchmarks import data, machine, peers, report, results_page, summary, workloads  # noqa: E402

TIMEOUT = 300
ROUNDS = 3
# A variant this far behind its peer's best one in the first round is not measured again.
HOPELESS = 0.6

# (peer, variant)
Cell = tuple[str, str]


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    console = Console()
    names = workloads.asked(args.only or ())
    found, left_out = peers.find(args.peers, {p for name in names for p in workloads.load(name).VARIANTS})
    for peer, why in left_out.items():
        console.print(f"{peers.NAMES[peer]} is left out: {why}", highlight=False, soft_wrap=True)
    here = machine.describe()
    results = {
        "command": _command(args),
        "machine": here,
        "versions": {},
        "left_out": left_out,
        "workloads": {name: _entry(name, found, here) for name in names},
    }
    kept = Kept(args.out or (None if args.quick else HERE), here)
    prepare(names, found, args.quick, console)
    try:
        _rounds(args, found, results, kept, console)
    except KeyboardInterrupt:
        console.print("stopped: what was measured whole is kept")
    results = whole(results)
    missing = [name for name in names if name not in results["workloads"]]
    if missing:
        console.print(f"not measured this time: {', '.join(missing)}", highlight=False, soft_wrap=True)
    console.print()
    for line in results_page.glance(results):
        console.print(line, highlight=False, soft_wrap=True)
    for made in kept.pages(results):
        console.print(str(made), highlight=False, soft_wrap=True)
    entries = results["workloads"].values()
    return int(any(summary.errors(e, p, v) for e in entries for p in e["peers"] for v in e["peers"][p]))


def _rounds(
    args: argparse.Namespace, found: dict[str, str], results: dict[str, Any], kept: Kept, console: Console
) -> None:
    """Measure round by round; a round of a workload counts when it is whole, and is kept at once."""
    ends = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")
    versions, entries = results["versions"], results["workloads"]
    with _progress(console) as progress:
        task = progress.add_task("")
        for number in range(args.repeat):
            todo = {name: _turned(name, found, number, entry) for name, entry in entries.items()}
            progress.update(task, total=sum(map(len, todo.values())), completed=0)
            for name, cells in todo.items():
                if time.monotonic() > ends:
                    progress.console.print(f"{args.minutes:g} minutes have passed")
                    return
                if not cells:
                    continue
                began, made = time.monotonic(), {}
                for peer, variant in cells:
                    where = f"round {number + 1} of {args.repeat}: {name}, {peers.NAMES[peer]}, {variant}"
                    progress.update(task, description=where)
                    made[peer, variant] = measured = measure(found[peer], name, peer, variant, args.quick)
                    versions[peer] = versions.get(peer, {}) | measured.pop("versions", {})
                    line = _line(number, name, peer, variant, measured)
                    progress.console.print(line, highlight=False, soft_wrap=True)
                    progress.advance(task)
                entry = entries[name]
                for (peer, variant), measured in made.items():
                    entry["peers"][peer][variant].append(measured)
                entry["rounds"] = number + 1
                entry["seconds"] = round(entry["seconds"] + time.monotonic() - began, 1)
                kept.keep(results)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Millrace beside its peers.")
    parser.add_argument(
        "--only",
        nargs="+",
        action="extend",
        choices=(*workloads.PARTS, *workloads.NAMES),
        metavar="NAME",
        help=f"these parts ({', '.join(workloads.PARTS)}) or workloads ({', '.join(workloads.NAMES)})",
    )
    parser.add_argument(
        "--repeat", "--rounds", type=int, help=f"how often everything is measured (default {ROUNDS})"
    )
    parser.add_argument("--minutes", type=float, help="begin nothing new after so many minutes")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one round; written only with --out")
    parser.add_argument("--peers", type=Path, default=Path(".peers"), help="folder with <peer>/bin/python")
    parser.add_argument("--out", type=Path, help="folder to write into (default: benchmarks/)")
    args = parser.parse_args(argv)
    args.repeat = args.repeat or (1 if args.quick else ROUNDS)
    return args


def _command(args: argparse.Namespace) -> str:
    """What to type to do this again; folders are the reader's own affair."""
    words = ["--quick"] if args.quick else []
    words += [f"--only {' '.join(args.only)}"] if args.only else []
    words += [] if args.repeat == ROUNDS else [f"--repeat {args.repeat}"]
    return f'make bench ARGS="{" ".join(words)}"' if words else "make bench"


def _entry(name: str, found: dict[str, str], here: dict[str, Any]) -> dict[str, Any]:
    cells = _cells(name, found)
    return {
        "when": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "commit": here["commit"],
        "load_before": here["load_before"],
        "rounds": 0,
        "seconds": 0.0,
        "peers": {p: {v: [] for q, v in cells if q == p} for p, _ in cells},
    }


def _cells(name: str, found: dict[str, str]) -> list[Cell]:
    """The (peer, variant) pairs of a workload that can run here."""
    table = workloads.load(name).VARIANTS
    return [(peer, variant) for peer in peers.NAMES if peer in found for variant in table.get(peer, ())]


def _turned(name: str, found: dict[str, str], number: int, so_far: dict[str, Any]) -> list[Cell]:
    """One round of a workload: the peers right after each other, another one first in each round."""
    module = workloads.load(name)
    if number >= getattr(module, "ROUNDS", number + 1):
        return []
    cells = _cells(name, found)
    start = number % len(cells)
    return [
        (peer, variant)
        for peer, variant in cells[start:] + cells[:start]
        if number == 0 or not hopeless(module, so_far, peer, variant)
    ]


def hopeless(module: Any, entry: Any, peer: str, variant: str) -> bool:
    """Whether another variant of the peer was so much better in the first round that this one need not go on."""
    if getattr(module, "PAIRED", False):
        return False
    metric = module.METRICS[0]
    first = {v: rounds[0].get(metric.key) for v, rounds in entry["peers"][peer].items() if rounds}
    known = [value for value in first.values() if value]
    mine = first.get(variant)
    if not known or len(entry["peers"][peer]) == 1:
        return False
    if not mine:  # failed
        return True
    return mine < HOPELESS * max(known) if metric.higher else mine * HOPELESS > min(known)


# --- workers ------------------------------------------------------------------------------------------------------


def prepare(names: list[str], found: dict[str, str], quick: bool, console: Console) -> None:
    """Make the files, in processes of their own: what that takes must not count in anybody's memory."""
    for name in names:
        module = workloads.load(name)
        for peer in getattr(module, "FILES", ()):
            if peer not in found:
                continue
            done = data.folder() / f"{name}-{peer}-{'quick' if quick else 'full'}.prepared"
            if getattr(module, "FRESH", False) or not done.exists():
                console.print(f"making the files of {name} for {peers.NAMES[peer]}", highlight=False)
                made = measure(found[peer], name, peer, next(iter(module.VARIANTS[peer])), quick, "--prepare")
                if "error" not in made:
                    done.touch()


def measure(python: str, name: str, peer: str, variant: str, quick: bool, *options: str) -> dict[str, Any]:
    """One worker, from start to end, with all that it started; what went wrong is a result too."""
    command = [
        python,
        str(HERE / "worker.py"),
        name,
        peer,
        variant,
        *(["--quick"] if quick else []),
        *options,
    ]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True)
        try:
            status = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            return {"error": f"no result after {TIMEOUT} s"}
        finally:
            # a peer's own workers may outlive it, and would disturb the next
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said, complaints = _lines(out), _lines(err)
    if status:
        # results are kept in the repository, where nobody's folders are of interest
        last = complaints[-1].replace(f"{HERE.parent}{os.sep}", "") if complaints else f"ended with {status}"
        return {"error": last[:300]}
    measured: dict[str, Any] = json.loads(said[-1])
    return measured


def _lines(file: Any) -> list[str]:
    file.seek(0)
    return [line for line in file.read().splitlines() if line.strip()]


# --- what is shown and written ------------------------------------------------------------------------------------


def _line(number: int, name: str, peer: str, variant: str, measured: dict[str, Any]) -> str:
    metric = workloads.load(name).METRICS[0]
    shown = (
        measured.get("error")
        or f"{summary.number(measured[metric.key], metric)} {metric.unit or metric.name}"
    )
    return f"{number + 1}  {name:<18} {peers.NAMES[peer]:<11} {variant:<28} {shown}"


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=console)


class Kept:
    """The file of results: workloads that did not run this time keep what was measured before."""

    def __init__(self, out: Path | None, here: dict[str, Any]) -> None:
        self.out, self.before = out, None
        if out is None:  # nothing is kept
            return
        self.path = out / report.FILE
        out.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            self.before = json.loads(self.path.read_text())
            there = self.before["machine"]
            if (there["cpu"], there["cores"]) != (here["cpu"], here["cores"]):
                raise SystemExit(
                    f"{self.path} was measured on another machine ({there['cpu']}, {there['cores']} cores), and one "
                    "page is about one machine: give another folder with --out, or move that file away"
                )

    def keep(self, results: dict[str, Any]) -> None:
        """At once: a run that is killed leaves what it has measured whole."""
        if self.out is not None:
            now = whole(results)
            self.path.write_text(report.as_json(merged(self.before, now) if self.before else now))

    def pages(self, results: dict[str, Any]) -> list[Path]:
        """Write the pages; they are made of what is kept, to the last digit: report.py makes the same ones again."""
        if self.out is None or not results["workloads"]:
            return []
        self.keep(results)
        return [self.path, *report.write(json.loads(self.path.read_text()), self.out)]


def whole(results: dict[str, Any]) -> dict[str, Any]:
    """The results without the workloads of which no round is complete."""
    return results | {"workloads": {name: e for name, e in results["workloads"].items() if e["rounds"]}}


def merged(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What was measured now in place of what was measured before, part by part."""
    kept = before["workloads"].keys() - now["workloads"].keys()
    return now | {
        "command": before["command"] if kept else now["command"],
        "versions": before["versions"] | now["versions"],
        "left_out": {p: why for p, why in before["left_out"].items() if p not in now["versions"]}
        | now["left_out"],
        "workloads": before["workloads"] | now["workloads"],
    }


if __name__ == "__main__":
    sys.exit(main())
