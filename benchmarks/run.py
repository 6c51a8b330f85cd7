"""Millrace beside its peers: every workload, every peer in its own environment, interleaved and repeated.

python benchmarks/run.py --peers .peers                 # everything; writes RESULTS.md, plots/, results/engine.json
python benchmarks/run.py --only arrays --rounds 3       # measure these again; the other tables stay
python benchmarks/run.py --quick                        # tiny sizes, one round: does it run? writes nothing
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:1] = [str(HERE.parent)]

from rich.console import Console  # noqa: E402
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: E402

from benchmarks import machine, peers, report, summary, workloads  # noqa: E402

TIMEOUT = 300


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    console = Console()
    found, left_out = peers.find(args.peers)
    for peer, why in left_out.items():
        console.print(f"{peers.NAMES[peer]} is left out: {why}")
    names = args.only or list(workloads.NAMES)
    todo = [(n, p, v) for n in names for p, v in _cells(n, found)]
    here = machine.describe()
    fresh = {
        name: {
            "when": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
            "commit": here["commit"],
            "rounds": args.rounds,
            "peers": {p: {v: [] for q, v in _cells(name, found) if q == p} for p, _ in _cells(name, found)},
        }
        for name in names
    }
    versions: dict[str, dict[str, str]] = {}
    with _progress(console) as progress:
        task = progress.add_task("", total=len(todo) * args.rounds)
        for number in range(args.rounds):
            for name, peer, variant in _turned(names, found, number):
                progress.update(
                    task, description=f"round {number + 1}: {name}, {peers.NAMES[peer]}, {variant}"
                )
                measured = measure(found[peer], name, peer, variant, args.quick)
                if "versions" in measured:
                    versions[peer] = measured.pop("versions")
                fresh[name]["peers"][peer][variant].append(measured)
                progress.console.print(_line(number, name, peer, variant, measured), highlight=False)
                progress.advance(task)
    results = {
        "command": "make bench"
        if argv is None and len(names) == len(workloads.NAMES)
        else "benchmarks/run.py",
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
    parser.add_argument("--rounds", type=int, help="how often everything is measured (default 5)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, one round; written only with --out")
    parser.add_argument("--peers", type=Path, default=Path(".peers"), help="folder with <peer>/bin/python")
    parser.add_argument("--out", type=Path, help="folder to write into (default: benchmarks/)")
    args = parser.parse_args(argv)
    args.rounds = args.rounds or (1 if args.quick else 5)
    return args


def _command(args: argparse.Namespace) -> str:
    """What to type to do this again; folders are the reader's own affair."""
    words = ["--quick"] if args.quick else []
    words += [f"--only {name}" for name in args.only or ()] + [f"--rounds {args.rounds}"]
    return f'make bench ARGS="{" ".join(words)}"'


def _cells(name: str, found: dict[str, str]) -> list[tuple[str, str]]:
    """The (peer, variant) pairs of a workload that can run here."""
    table = workloads.load(name).VARIANTS
    return [(peer, variant) for peer in peers.NAMES if peer in found for variant in table.get(peer, ())]


def _turned(names: list[str], found: dict[str, str], number: int) -> Iterator[tuple[str, str, str]]:
    """One round: workload by workload, the peers right after each other, another one first in each round."""
    for name in names:
        cells = _cells(name, found)
        start = number % len(cells)
        for peer, variant in cells[start:] + cells[:start]:
            yield name, peer, variant


def measure(python: str, name: str, peer: str, variant: str, quick: bool) -> dict[str, Any]:
    """One worker, from start to end; what went wrong is a result too."""
    command = [python, str(HERE / "worker.py"), name, peer, variant, *(["--quick"] if quick else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return {"error": f"no result after {TIMEOUT} s"}
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        return {"error": said[-1][:300] if said else f"ended with {done.returncode}"}
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _line(number: int, name: str, peer: str, variant: str, measured: dict[str, Any]) -> str:
    metric = workloads.load(name).METRICS[0]
    shown = (
        measured.get("error")
        or f"{summary.number(measured[metric.key], metric)} {metric.unit or metric.name}"
    )
    return f"{number + 1}  {name:<14} {peers.NAMES[peer]:<10} {variant:<28} {shown}"


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=console)


def _write(results: dict[str, Any], out: Path, console: Console) -> None:
    """Write the results; workloads that did not run this time keep what was measured before."""
    path = out / "results" / "engine.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        before = json.loads(path.read_text())
        results["workloads"] = before["workloads"] | results["workloads"]
        results["versions"] = before["versions"] | results["versions"]
    path.write_text(json.dumps(results, indent=1) + "\n")
    for made in (path, *report.write(results, out)):
        console.print(str(made), highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
