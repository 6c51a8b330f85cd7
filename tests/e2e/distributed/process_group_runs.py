"""Runs checks in several processes that know each other, and hands every result back.

A file of checks has functions under ``@check``, each called in every rank; what it raises is that check's failure.
The ranks meet at a file, as under `mpirun` on one machine: no ports.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
import uuid
from pathlib import Path

ROOT = Path(__file__).parents[3]
LIMIT = 120  # seconds that a pair may take on a busy machine


def checks_of(module):
    """The names of the checks in a file."""
    return list(importlib.import_module(module).CHECKS)


def rank_env(rank, size, job):
    """The variables that `mpirun` sets for one rank."""
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("RANK", "WORLD", "MASTER", "OMPI", "PMI", "MS_", "XDG_RUNTIME_DIR"))
    }
    return env | {
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_SIZE": str(size),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_SIZE": str(size),
        "PMIX_NAMESPACE": job,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }


@functools.cache
def results(module, size=2):
    """Check -> what went wrong in each rank ("" where nothing did)."""
    job = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{rank}.json" for rank in range(size)]
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.e2e.distributed.process_group_runs", module, str(files[rank])],
                env=rank_env(rank, size, job) | {"TMPDIR": folder},
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for rank in range(size)
        ]
        said = []
        try:
            for each in running:
                said.append(each.communicate(timeout=LIMIT)[0])
        finally:
            for each in running:
                if each.poll() is None:
                    each.kill()
                    each.communicate()
        found = [json.loads(path.read_text()) if path.exists() else {} for path in files]
        lost = [
            f"rank {rank} ended with {each.returncode}: {text}"
            for rank, (each, text) in enumerate(zip(running, said, strict=False))
            if each.returncode
        ]
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        left = [str(path) for path in files if path.suffix != ".json"]
    names = checks_of(module)
    answers = {
        name: [lost[0] if lost and name not in rank else rank.get(name, "not run") for rank in found]
        for name in names
    }
    return answers | {"left behind": left}


def main(module, file):
    import torch

    torch.set_num_threads(1)
    from millrace.communication import init, release

    init()
    found = {}
    for name, function in importlib.import_module(module).CHECKS.items():
        try:
            function()
            found[name] = ""
        except BaseException:
            found[name] = traceback.format_exc()
    release()
    Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
