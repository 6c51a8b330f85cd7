"""Record what real MindSpore makes of the samples of operations.

    python -m tests.parity.ops.record_ops [family ...] [--python .peers/mindspore/bin/python]

Without names: the families whose samples changed since they were recorded. Run from the root; MindSpore has a Python of
its own (`make interop` makes it), which runs `play.py`.
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

from tests.ops.cases import GOLDENS, cases, digest, golden, operations, plain

PLAY = Path(__file__).with_name("play.py")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--python", default=os.environ.get("MINDSPORE_PYTHON", ".peers/mindspore/bin/python"))
    options = parser.parse_args()
    table = operations()
    families = sorted({spec.module.rpartition(".")[2] for spec in table})
    for family in families:
        specs = [spec for spec in table if spec.module.rpartition(".")[2] == family]
        stale = [spec for spec in specs if golden(spec).get("digest") != digest(spec)]
        if options.families and family in options.families:
            stale = specs
        elif options.families or not stale:
            continue
        jobs = [
            (case.name, case.path, plain(case.init), plain(case.args), plain(case.kwargs))
            for spec in stale
            for case in cases(spec)
        ]
        with tempfile.TemporaryDirectory() as folder:
            todo, done = Path(folder) / "todo", Path(folder) / "done"
            todo.write_bytes(pickle.dumps(jobs))
            environment = {**os.environ, "GLOG_v": "4"}
            subprocess.run(
                [options.python, str(PLAY), str(todo), str(done)], check=True, env=environment, cwd=folder
            )
            results = json.loads(done.read_text())
        path = GOLDENS / f"{family}.json"
        written = json.loads(path.read_text()) if path.exists() else {}
        for spec in stale:
            written[spec.name] = {
                "digest": digest(spec),
                **shared({c.name: results[c.name] for c in cases(spec)}),
            }
        names = {spec.name for spec in specs}
        lines = [
            f"{json.dumps(name)}: {{\n"
            + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in each.items())
            + "\n}"
            for name, each in sorted(written.items())
            if name in names
        ]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        sys.stdout.write(f"{family}: {len(stale)} operations, {len(jobs)} calls\n")


if __name__ == "__main__":
    main()
