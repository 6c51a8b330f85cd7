"""Loaders and training as scripts write them, run on MindSpore and through millrace.as_mindspore: same results.

    python tests/e2e/interop/run_scripts.py /path/to/python-with-mindspore [--record] [name ...]

`make interop` runs it where MindSpore is to be had. What MindSpore gave stands in `goldens/`, so that
`test_scripts.py` compares without it; `--record` writes it anew. `differs.json` names the results that differ on
purpose, with the reason, and can only shrink.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SCRIPTS = {
    path.stem: path
    for path in sorted((FOLDER / "scripts").glob("*.py"))
    if "report(main)" in path.read_text() and path.stem != "report"
}
RECORDED = FOLDER / "goldens"
DIFFERS: dict[str, dict[str, str]] = json.loads((FOLDER / "differs.json").read_text())
SECONDS = 120


def run(command: list[str], script: Path) -> dict[str, Any]:
    """Run a script and return its results by name; {"failed": ...} if it gave none."""
    environ = os.environ | {"GLOG_v": "4", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            [*command, str(script)], capture_output=True, text=True, timeout=SECONDS, env=environ
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no end in {SECONDS} s"}
    last = done.stdout.strip().rpartition("\n")[2]
    if done.returncode or not last.startswith("{"):
        return {"failed": done.stderr[-1500:]}
    return json.loads(last)


def here(name: str) -> dict[str, Any]:
    return run([sys.executable, "-m", "millrace.as_mindspore"], SCRIPTS[name])


def recorded(name: str) -> dict[str, Any]:
    return json.loads((RECORDED / f"{name}.json").read_text())


def differences(name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Return a line for each result that differs without a reason in differs.json, or that no longer differs."""
    if "failed" in ours or "failed" in theirs:
        return [f"{name}: here {ours.get('failed', 'fine')}; MindSpore {theirs.get('failed', 'fine')}"]
    found = []
    for key, right in theirs.items():
        same = json.dumps(ours.get(key)) == json.dumps(right)
        stated = key in DIFFERS.get(name, {})
        if not same and not stated:
            found.append(
                f"{name}: {key}:\n  here      {json.dumps(ours.get(key))}\n  MindSpore {json.dumps(right)}"
            )
        elif same and stated:
            found.append(f"{name}: {key} is the same now: take it out of differs.json")
    return found


def main(arguments: list[str]) -> int:
    peer, *rest = arguments
    names = [word for word in rest if not word.startswith("--")] or list(SCRIPTS)
    bad: list[str] = []
    for name in names:
        theirs = run([peer], SCRIPTS[name])
        if "--record" in rest:
            if "failed" in theirs:
                bad.append(f"{name}: MindSpore {theirs['failed']}")
                continue
            lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in theirs.items())
            RECORDED.mkdir(exist_ok=True)
            (RECORDED / f"{name}.json").write_text(f"{{\n{lines}\n}}\n")
        bad += differences(name, here(name), theirs)
    print(*bad, sep="\n", end="\n" if bad else "")
    print(f"{len(names)} scripts on both engines, {len(bad)} results differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
