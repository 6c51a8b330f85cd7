"""Run cases of transforms under real MindSpore and write down what came of them.

A child process runs the cases one after the other; when one of them kills it or hangs, that is its result and
a new child goes on with the next.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.parity.calls import Case

SECONDS = 20


def outcome(
    case: Case,
    names: dict[str, Any],
    make: Callable[[str], Any],
    encode: Callable[[Any], dict[str, Any]],
    encode_error: Callable[[BaseException], dict[str, Any]],
) -> tuple[dict[str, Any], Any]:
    """What a call gives, as JSON and as it is: made, or an error when it was made or called."""
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
    return encode(value), value


def run_all(
    cases: list[Case], run_one: Callable[[Case], tuple[dict[str, Any], Any]], folder: str
) -> tuple[list[Any], list[Any]]:
    """The results of all cases as JSON, and as they are."""
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
                    pickle.dump(run_one(case), out)
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
                    result, value = pickle.load(made)
                except EOFError:
                    break
                results.append(result)
                values.append(value)
        if len(results) < len(cases):
            results.append({"hangs": True} if status == -1 else {"crashes": status})
            values.append(None)
            print("  lost:", cases[len(results) - 1].name, results[-1])
    return results, values


def record(
    families: dict[str, list[Case]],
    arguments: list[str],
    run_one: Callable[[Case], tuple[dict[str, Any], Any]],
    goldens: Path,
) -> None:
    """Run the families that the arguments name (none: all) and write a file for each.

    --full=pickle also keeps the whole values, to look at differences.
    """
    wanted = [a for a in arguments if not a.startswith("--")]
    full = next((a.partition("=")[2] for a in arguments if a.startswith("--full=")), "")
    kept = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, cases in families.items():
            if wanted and name not in wanted:
                continue
            results, values = run_all(cases, run_one, tempfile.mkdtemp(dir=folder))
            errors = sum("error" in r for r in results)
            print(f"{name}: {len(cases)} cases, {errors} errors")
            lines = [f"{json.dumps(c.name)}: {json.dumps(r)}" for c, r in zip(cases, results, strict=True)]
            (goldens / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
            kept |= {c.name: v for c, v in zip(cases, values, strict=True)}
    if full:
        Path(full).write_bytes(pickle.dumps(kept))
