"""Record the losses of real MindSpore: python -m tests.parity.train.networks.record_training [--python ...]."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

GOLDENS = Path(__file__).with_name("goldens.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=os.environ.get("MINDSPORE_PYTHON", ".peers/mindspore/bin/python"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder) / "done"
        command = [
            os.path.abspath(options.python),
            "-m",
            "tests.parity.train.networks.run_case",
            str(done),
        ]
        environment = {**os.environ, "GLOG_v": "4", "PYTHONPATH": str(Path(__file__).parents[4])}
        subprocess.run(command, check=True, cwd=folder, env=environment)
        results = json.loads(done.read_text())
    lines = [f"{json.dumps(name)}: {[round(loss, 7) for loss in found]}" for name, found in results.items()]
    GOLDENS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
