"""Correctness on a GPU, in one command: `make gpu`, or `PYTHONPATH=src python -m tests.e2e.gpu [--report
gpu-report.md]`.

Runs each suite in a process of its own and writes a report. Without a CUDA device it reports that and runs no test.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Suite(NamedTuple):
    """One script that ends with 0 where everything is right."""

    name: str
    module: str
    limit: int  # seconds


SUITES = (
    Suite("operations and layers against recorded values", "tests.e2e.gpu.operations", 900),
    Suite("zoo, PyNative and Graph mode", "tests.e2e.gpu.networks", 600),
    Suite("training: both modes, sink mode, resume", "tests.e2e.gpu.training", 300),
    Suite("host-to-device transfer and GPU transforms", "tests.e2e.gpu.transfer", 600),
    Suite("devices in worker processes", "tests.e2e.gpu.transfer_matrix", 900),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make gpu", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--report", type=Path, default=Path("gpu-report.md"), help="where the report is written"
    )
    parser.add_argument("--only", help="run the suites whose name contains this text")
    args = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("make gpu: there is no CUDA device on this machine. Nothing was run.\n0 passed, 0 failed")
        return 0
    chosen = [suite for suite in SUITES if args.only is None or args.only in suite.name]
    lines, failed = [], 0
    for suite in chosen:
        print(f"--- {suite.name}", flush=True)
        start = time.monotonic()
        output, code = run(suite)
        print(output[-4000:], flush=True)
        failed += code != 0
        outcome = "passed" if code == 0 else f"FAILED (exit status {code})"
        lines.append((suite, outcome, time.monotonic() - start, output))
    args.report.write_text(report(lines, torch.cuda.get_device_name(), torch.__version__))
    print(f"report: {args.report}\n{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


def run(suite: Suite) -> tuple[str, int]:
    """Run a suite: what it printed, and its exit status (124 where it took too long)."""
    # CUBLAS_WORKSPACE_CONFIG: cuBLAS is deterministic only with it
    environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", suite.module],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=suite.limit,
            env=environment,
        )
        return done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        shown = error.stdout or b""
        return f"{shown.decode(errors='replace')}\nstopped after {suite.limit} s", 124


def report(lines: list[tuple[Suite, str, float, str]], device: str, torch_version: str) -> str:
    """The report as Markdown."""
    rows = "\n".join(f"| {suite.name} | {outcome} | {took:.0f} |" for suite, outcome, took, _ in lines)
    parts = "\n".join(
        f"## {suite.name}\n\n```text\n{output.strip()[-6000:]}\n```\n" for suite, _, _, output in lines
    )
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    return (
        f"# GPU report\n\n{datetime.date.today()}, {device}, PyTorch {torch_version}, "
        f"commit {commit[:10] or 'unknown'}\n\n| suite | result | seconds |\n|---|---|---:|\n{rows}\n\n{parts}"
    )


if __name__ == "__main__":
    sys.exit(main())
