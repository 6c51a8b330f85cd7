"""Record what real MindSpore shows of a training.

    python -m tests.parity.train.model.record_train [--python .peers/mindspore/bin/python]

Run from the root; MindSpore has a Python of its own (`make interop` makes it), which runs the scenes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

GOLDENS = Path(__file__).parent / "goldens"


def record(python: str, module: str, name: str) -> None:
    """Play a module's scenes in MindSpore's Python, a file per scene."""
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder) / "done"
        command = [python, "-m", module, "mindspore", str(done)]
        env = {**os.environ, "GLOG_v": "4", "PYTHONPATH": os.getcwd()}
        subprocess.run(command, check=True, env=env, cwd=folder)
        found = json.loads(done.read_text())
    GOLDENS.mkdir(exist_ok=True)
    for scene, result in found.items():
        (GOLDENS / f"{name}{scene}.json").write_text(_written(result) + "\n")


def _written(result: object) -> str:
    """A line per entry, so that a difference can be read."""
    if isinstance(result, dict):
        return (
            "{\n"
            + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in result.items())
            + "\n}"
        )
    return "[\n" + ",\n".join(json.dumps(each) for each in result) + "\n]"  # type: ignore[attr-defined]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=os.environ.get("MINDSPORE_PYTHON", ".peers/mindspore/bin/python"))
    python = str(Path(parser.parse_args().python).absolute())
    record(python, "tests.parity.train.model.run_case", "")
    record(python, "tests.parity.train.model.run_mixed_precision", "amp_")


if __name__ == "__main__":
    main()
