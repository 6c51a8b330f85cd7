"""Millrace beside its peers: every workload, every peer in its own environment, interleaved and repeated.

python benchmarks/run.py --peers .peers                 # everything; writes RESULTS.md, plots/, results/
python benchmarks/run.py --only arrays --repeat 5       # measure these again; the other tables stay
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:1] = [str(HERE.parent)]

from rich.console import Console  # noqa: E402
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: E402

from benchmarks import data, machine, peers, report, summary, workloads  # noqa: E402

TIMEOUT = 300
ROUNDS = 3
# A variant this far behind its peer's best one in the first round is not measured again.
HOPELESS = 0.6

Cell = tuple[str, str, str]


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    console = Console()
    found, left_out = peers.find(args.peers)
    for peer, why in left_out.items():
        console.print(f"{peers.NAMES[peer]} is left out: {why}", highlight=False, soft_wrap=True)
    names = args.only or list(workloads.NAMES)
    here = machine.describe()
    fresh = {name: _entry(name, found, here["commit"]) for name in names}
    versions: dict[str, dict[str, str]] = {}
    prepare(names, found, args.quick, console)
    with _progress(console) as progress:
        task = progress.add_task("")
        for number in range(args.repeat):
            todo = list(_turned(names, found, number, fresh))
            progress.update(task, total=len(todo), completed=0)
            for name, peer, variant in todo:
                where = f"round {number + 1} of {args.repeat}: {name}, {peers.NAMES[peer]}, {variant}"
                progress.update(task, description=where)
                measured = measure(found[peer], name, peer, variant, args.quick)
                if "versions" in measured:
                    versions[peer] = versions.get(peer, {}) | measured.pop("versions")
                fresh[name]["peers"][peer][variant].append(measured)
                fresh[name]["rounds"] = number + 1
                progress.console.print(_line(number, name, peer, variant, measured), highlight=False)
                progress.advance(task)
    results = {
        "command": _command(args),
        "machine": here,
        "versions": versions,
        "left_out": left_out,
        "workloads": fresh,
    }
    console.print()
    for line in report.glance(results):
        console.print(line, highlight=False, soft_wrap=True)
    if not args.quick or args.out is not None:
        _write(results, args.out or HERE, console)
    return int(
        any(summary.errors(e, p, v) for e in fresh.values() for p in e["peers"] for v in e["peers"][p])
    )


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Millrace beside its peers.")
    parser.add_argument(
        "--only", action="append", choices=workloads.NAMES, help="this workload; may be repeated"
    )
    parser.add_argument(
        "--repeat", "--rounds", type=int, help=f"how often everything is measured (default {ROUNDS})"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one round; written only with --out")
    parser.add_argument("--peers", type=Path, default=Path(".peers"), help="folder with <peer>/bin/python")
    parser.add_argument("--out", type=Path, help="folder to write into (default: benchmarks/)")
    args = parser.parse_args(argv)
    args.repeat = args.repeat or (1 if args.quick else ROUNDS)
    return args


def _command(args: argparse.Namespace) -> str:
    """What to type to do this again; folders are the reader's own affair."""
    words = ["--quick"] if args.quick else []
    words += [f"--only {name}" for name in args.only or ()]
    words += [] if args.repeat == ROUNDS else [f"--repeat {args.repeat}"]
    return f'make bench ARGS="{" ".join(words)}"' if words else "make bench"


def _entry(name: str, found: dict[str, str], commit: str) -> dict[str, Any]:
    cells = _cells(name, found)
    return {
        "when": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "commit": commit,
        "rounds": 0,
        "peers": {p: {v: [] for q, v in cells if q == p} for p, _ in cells},
    }


def _cells(name: str, found: dict[str, str]) -> list[tuple[str, str]]:
    """The (peer, variant) pairs of a workload that can run here."""
    table = workloads.load(name).VARIANTS
    return [(peer, variant) for peer in peers.NAMES if peer in found for variant in table.get(peer, ())]


def _turned(names: list[str], found: dict[str, str], number: int, so_far: dict[str, Any]) -> Iterator[Cell]:
    """One round: workload by workload, the peers right after each other, another one first in each round."""
    for name in names:
        module = workloads.load(name)
        if number >= getattr(module, "ROUNDS", number + 1):
            continue
        cells = _cells(name, found)
        start = number % len(cells)
        for peer, variant in cells[start:] + cells[:start]:
            if number == 0 or not hopeless(module, so_far[name], peer, variant):
                yield name, peer, variant


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
            if not done.exists():
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
        return {"error": complaints[-1][:300] if complaints else f"ended with {status}"}
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


def _write(results: dict[str, Any], out: Path, console: Console) -> None:
    """Write the results; workloads that did not run this time keep what was measured before."""
    path = out / "results" / report.FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        before = json.loads(path.read_text())
        if before["workloads"].keys() - results["workloads"].keys():
            results["command"] = before["command"]
        results["workloads"] = before["workloads"] | results["workloads"]
        results["versions"] = before["versions"] | results["versions"]
    path.write_text(json.dumps(results, indent=1) + "\n")
    for made in (path, *report.write(results, out)):
        console.print(str(made), highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
