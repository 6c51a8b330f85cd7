"""Record what real MindSpore makes of the samples of operations.

    python -m tests.parity.runtime.ops.record_ops [family ...] [--python .peers/mindspore/bin/python]

Without names: the families whose samples changed since they were recorded. Run from the root; MindSpore has a Python of
its own (`make interop` makes it), which runs `run_case.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from millrace._src.runtime.ops.declare.registry import OpSpec
from tests.contracts.ops.gradients import GRADIENTS
from tests.contracts.ops.sample_cases import VALUES, Store, key, operations, plain

PLAY = Path(__file__).with_name("run_case.py")


def shared(results: dict[str, Any]) -> dict[str, Any]:
    """The results, where those of two faces agree once: most do."""
    seen: dict[str, str] = {}
    found = {}
    for name, result in results.items():
        text = json.dumps({key: value for key, value in result.items() if key not in ("m", "lacking")})
        number = name.rpartition("/")[2]
        first = seen.setdefault(f"{number} {text}", name)
        found[name] = result if first == name else {"=": first}
    return found


def played(jobs: list[Any], python: str) -> dict[str, Any]:
    """The answers of MindSpore. Where a job ends its process, the rest is given to another."""
    answers: dict[str, Any] = {}
    while jobs:
        with tempfile.TemporaryDirectory() as folder:
            todo, done = Path(folder) / "todo", Path(folder) / "done"
            todo.write_bytes(pickle.dumps(jobs))
            environment = {**os.environ, "GLOG_v": "4"}
            ended = subprocess.run([python, str(PLAY), str(todo), str(done)], env=environment, cwd=folder)
            lines = done.read_text().splitlines() if done.exists() else []
        if ended.returncode and not lines and not answers:
            sys.exit(f"{python} cannot run {PLAY.name}")
        answers.update(json.loads(line) for line in lines)
        jobs = jobs[len(lines) :]
        if jobs and ended.returncode:
            answers[jobs[0][0]] = {"lacking": "MindSpore's process ends or hangs"}
            jobs = jobs[1:]
    return answers


def record(store: Store, family: str, specs: list[OpSpec], stale: list[OpSpec], python: str) -> None:
    """Ask for the answers of the stale operations of a family, and write its file anew."""
    jobs = [
        (case.name, store.kind, case.path, plain(case.init), plain(case.args), plain(case.kwargs))
        for spec in stale
        for case in store.cases(spec)
    ]
    results = played(jobs, python)
    path = store.path(family)
    written = json.loads(path.read_text()) if path.exists() else {}
    for spec in stale:
        answers = shared({c.name: results[c.name] for c in store.cases(spec)})
        written[key(spec).partition(".")[2]] = {"digest": store.digest(spec), **answers}
    names = {key(spec).partition(".")[2] for spec in specs}
    lines = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in each.items())
        + "\n}"
        for name, each in sorted(written.items())
        if name in names
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{family}: {len(stale)} operations, {len(jobs)} {store.kind}s\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--python", default=os.environ.get("MINDSPORE_PYTHON", ".peers/mindspore/bin/python"))
    options = parser.parse_args()
    python = str(Path(options.python).absolute())
    table = operations()
    for family in sorted({key(spec).partition(".")[0] for spec in table}):
        for store in (VALUES, GRADIENTS):
            specs = [spec for spec in table if key(spec).partition(".")[0] == family]
            specs = [spec for spec in specs if store is VALUES or any(True for _ in store.cases(spec))]
            stale = [spec for spec in specs if store.read(spec).get("digest") != store.digest(spec)]
            if options.families:
                stale = specs if family in options.families else []
            if stale:
                record(store, family, specs, stale, python)


if __name__ == "__main__":
    main()
