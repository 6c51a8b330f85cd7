"""Record what real MindSpore makes of the cases of layers.

    python -m tests.parity.runtime.nn.record_nn [family ...] [--python .peers/mindspore/bin/python]

Without names: the families whose file changed since they were recorded. Run from the root; MindSpore has a Python of
its own (`make interop` makes it), which runs `run_case.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.parity.runtime.nn.layers import HERE, families

GOLDENS = Path(__file__).parent / "goldens"


def digest(family: str) -> str:
    return hashlib.sha256((HERE / f"{family}.py").read_bytes()).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--python", default=os.environ.get("MINDSPORE_PYTHON", ".peers/mindspore/bin/python"))
    options = parser.parse_args()
    for family in options.families or families():
        path = GOLDENS / f"{family}.json"
        if (
            not options.families
            and path.exists()
            and json.loads(path.read_text())["digest"] == digest(family)
        ):
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = Path(folder) / "done"
            command = [options.python, "-m", "tests.parity.runtime.nn.run_case", family, str(done)]
            subprocess.run(command, check=True, env={**os.environ, "GLOG_v": "4"})
            results = json.loads(done.read_text())
        lines = [f"{json.dumps(name)}: {json.dumps(result)}" for name, result in results.items()]
        path.write_text("{\n" + ",\n".join([f'"digest": {json.dumps(digest(family))}', *lines]) + "\n}\n")
        failed = [name for name, result in results.items() if "e" in result]
        sys.stdout.write(f"{family}: {len(results)} cases, MindSpore fails on {failed}\n")


if __name__ == "__main__":
    main()
