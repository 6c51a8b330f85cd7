"""Run every case under real MindSpore and write goldens/. From the root of the repository:

    /path/to/python-with-mindspore -m tests.parity.data.pipelines.record [--check | --new] [file ...]

Each case runs in a process of its own, so that what it sets does not reach the next one, and a crash or a
hang is a result like any other. With --new only cases that are new or changed are run. With --check nothing
is written: what is recorded must come out again (cases with `better` are left out, what MindSpore does there
may be anything).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.parity import prelude
from tests.parity.case import Case
from tests.parity.data.pipelines.cases import load
from tests.parity.encode import encode, encode_error, same

GOLDENS = Path(__file__).parent / "goldens"
SECONDS = 15


def run(case: Case, ds: Any, ms: Any, folder: str) -> dict[str, Any]:
    """Run one case in a child process and return what came of it."""
    place = Path(tempfile.mkdtemp(dir=folder))
    child = os.fork()
    if child == 0:
        namespace = prelude.names(ds, place) | {"ms": ms}
        try:
            exec(case.source, namespace)
            outcome = {"result": encode(namespace["result"])}
        except Exception as error:
            outcome = encode_error(error)
        (place / "outcome").write_text(json.dumps(outcome))
        os._exit(0)
    deadline = time.monotonic() + SECONDS
    done, status = os.waitpid(child, os.WNOHANG)
    while not done and time.monotonic() < deadline:
        time.sleep(0.005)
        done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return {"hangs": True}
    if status:
        return {"crashes": os.waitstatus_to_exitcode(status)}
    return json.loads((place / "outcome").read_text())


def outcome(case: Case, ds: Any, ms: Any, folder: str) -> dict[str, Any]:
    return {"code": case.source} | run(case, ds, ms, folder)


def main(arguments: list[str]) -> int:
    os.environ["GLOG_v"] = "4"
    import mindspore as ms
    import mindspore.dataset as ds

    with tempfile.TemporaryDirectory() as folder:
        return record(arguments, ds, ms, folder)


def record(arguments: list[str], ds: Any, ms: Any, folder: str) -> int:
    check, new = "--check" in arguments, "--new" in arguments
    wanted = [argument for argument in arguments if not argument.startswith("--")]
    different = 0
    for name, cases in load().items():
        if wanted and name not in wanted:
            continue
        path = GOLDENS / f"{name}.json"
        stored = json.loads(path.read_text()) if path.exists() else {}
        kept = {case.name for case in cases if new and stored.get(case.name, {}).get("code") == case.source}
        recorded = {
            case.name: stored[case.name] if case.name in kept else outcome(case, ds, ms, folder)
            for case in cases
        }
        errors = sum("error" in outcome for outcome in recorded.values())
        print(f"{name}: {len(cases)} cases, {errors} errors")
        if check:
            certain = [case.name for case in cases if not case.better]
            changed = [key for key in certain if not same(stored.get(key), recorded[key])]
            different += len(changed)
            print(*(f"  differs: {key}" for key in changed), sep="\n", end="\n" if changed else "")
        else:
            lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in recorded.items())
            path.write_text(f"{{\n{lines}\n}}\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
