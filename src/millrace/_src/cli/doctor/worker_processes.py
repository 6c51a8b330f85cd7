"""Check worker processes: start method, its safety, and a trial run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from millrace._src.core import settings

from .finding import Finding, Machine

__all__ = ["start_method", "trial"]

PATIENCE = 30.0  # seconds; a trial takes less than one second

# A small pipeline in a separate process, so that a hang or crash does not affect the command.
TRIAL = """
import millrace.dataset as ds
ds.config.set_multiprocessing_timeout_interval(20)
data = ds.GeneratorDataset(list(range(8)), "x", shuffle=False)
data = data.map(lambda x: x + 1, input_columns="x", python_multiprocessing=True, num_parallel_workers=2).batch(8)
print([batch["x"].sum().item() for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True)])
"""


def start_method(machine: Machine) -> Iterator[Finding]:
    method = settings.current().multiprocessing_start_method
    if method == "fork":
        yield Finding(
            "warning",
            "fork",
            "a fork copies locks held by threads of this process: a worker may hang, and CUDA does not work in it",
            'ds.config.set_multiprocessing_start_method("forkserver")',
        )
    else:
        yield Finding("ok", f"{method}: safe with threads and CUDA, and scripts need no __main__ guard")


def trial(machine: Machine) -> Iterator[Finding]:
    command = f"{sys.executable} -c '{TRIAL.strip()}'"
    try:
        done = subprocess.run(
            [sys.executable, "-c", TRIAL],
            capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, env=dict(machine.environ),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        yield Finding(
            "problem", f"two workers did not finish eight rows in {PATIENCE:.0f} s",
            "python_multiprocessing=True would hang", command,
        )  # fmt: skip
        return
    if done.returncode == 0 and done.stdout.strip() == "[36]":
        yield Finding("ok", "two workers started, ran and ended")
        return
    reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    yield Finding(
        "problem",
        f"a pipeline with two workers failed: {reason}",
        "python_multiprocessing=True cannot be used",
        command,
    )
