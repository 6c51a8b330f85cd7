"""Record where real MindSpore's optimizers take their parameters.

python -m tests.parity.runtime.optim.record_optim [--python .peers/mindspore/bin/python]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

GOLDENS = Path(__file__).with_name("goldens.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=os.environ.get("MINDSPORE_PYTHON", ".peers/mindspore/bin/python"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder) / "done"
        command = [os.path.abspath(options.python), "-m", "tests.parity.runtime.optim.run_case", str(done)]
        subprocess.run(
            command,
            check=True,
            cwd=folder,
            env={**os.environ, "GLOG_v": "4", "PYTHONPATH": str(Path(__file__).parents[4])},
        )
        results = json.loads(done.read_text())
    lines = [f"{json.dumps(name)}: {json.dumps(result)}" for name, result in results.items()]
    GOLDENS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    failed = {name: result["m"] for name, result in results.items() if "m" in result}
    sys.stdout.write(f"{len(results)} cases, MindSpore fails on {json.dumps(failed, indent=1)}\n")


if __name__ == "__main__":
    main()
