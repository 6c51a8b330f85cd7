"""Run every case under real MindSpore and write goldens/. From the root of the repository:

    /path/to/python-with-mindspore -m tests.parity.vision.record [file ...] [--full=pickle]

A child process runs the cases one after the other; when one of them kills it or hangs, that is its result and
a new child goes on with the next. --full also keeps the whole values, to look at differences.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.parity.vision.cases import load
from tests.parity.vision.cases.case import Case
from tests.parity.vision.encode import encode, encode_error
from tests.parity.vision.inputs import FILES, make
from tests.parity.vision.rules import near

GOLDENS = Path(__file__).parent / "goldens"
SECONDS = 20


def run_one(case: Case, names: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    try:
        op = eval(case.call, dict(names))  # noqa: S307 (our own cases)
    except Exception as error:
        return encode_error(error) | {"when": "made"}, None
    if not case.inputs or case.inputs == ("-",):
        return {"made": True}, None
    try:
        value = op(*[make(name) for name in case.inputs])
    except Exception as error:
        return encode_error(error) | {"when": "called"}, None
    return encode(value, keep=near(case.name) is not None), value


def run_all(cases: list[Case], names: dict[str, Any], folder: str) -> tuple[list[Any], list[Any]]:
    results: list[Any] = []
    values: list[Any] = []
    while len(results) < len(cases):
        start = len(results)
        path = Path(folder) / f"out{start}"
        child = os.fork()
        if child == 0:
            os.chdir(folder)  # MindSpore leaves images that it cannot decode in the current folder
            with path.open("wb") as out:
                for case in cases[start:]:
                    pickle.dump(run_one(case, names), out)
                    out.flush()
            os._exit(0)
        size, since = -1, time.monotonic()
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            now = path.stat().st_size if path.exists() else 0
            if now != size:
                size, since = now, time.monotonic()
            if time.monotonic() - since > SECONDS:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                status = -1
                break
            time.sleep(0.01)
        with path.open("rb") as made:
            while True:
                try:
                    outcome, value = pickle.load(made)
                except EOFError:
                    break
                results.append(outcome)
                values.append(value)
        if len(results) < len(cases):
            results.append({"hangs": True} if status == -1 else {"crashes": status})
            values.append(None)
            print("  lost:", cases[len(results) - 1].name, results[-1])
    return results, values


def main(arguments: list[str]) -> int:
    os.environ["GLOG_v"] = "4"
    import mindspore as ms
    import mindspore.dataset.transforms as transforms
    import mindspore.dataset.vision as vision
    import numpy as np

    names = {
        "V": vision,
        "T": transforms,
        "np": np,
        "ms": ms,
        "Inter": vision.Inter,
        "Border": vision.Border,
        "F": f"{FILES}/",
    }
    wanted = [a for a in arguments if not a.startswith("--")]
    full = next((a.partition("=")[2] for a in arguments if a.startswith("--full=")), "")
    kept = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, cases in load().items():
            if wanted and name not in wanted:
                continue
            results, values = run_all(cases, names, tempfile.mkdtemp(dir=folder))
            errors = sum("error" in r for r in results)
            print(f"{name}: {len(cases)} cases, {errors} errors")
            lines = [f"{json.dumps(c.name)}: {json.dumps(r)}" for c, r in zip(cases, results, strict=True)]
            (GOLDENS / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
            kept |= {c.name: v for c, v in zip(cases, values, strict=True)}
    if full:
        Path(full).write_bytes(pickle.dumps(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
