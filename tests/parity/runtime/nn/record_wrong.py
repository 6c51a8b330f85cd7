"""Record how real MindSpore refuses layers that are called wrongly.

    python -m tests.parity.runtime.nn.record_wrong [--python .peers/mindspore/bin/python]

Run from the root. A call that ends MindSpore's process is recorded as "crash".
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

WRONG = Path(__file__).parent / "wrong.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=os.environ.get("MINDSPORE_PYTHON", ".peers/mindspore/bin/python"))
    options = parser.parse_args()
    answers: dict[str, str | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        done = Path(folder) / "done"
        done.touch()
        while True:
            command = [options.python, "-m", "tests.parity.runtime.nn.wrong", str(done), *answers]
            ended = subprocess.run(command, env={**os.environ, "GLOG_v": "4"})
            answers = dict(json.loads(line) for line in done.read_text().splitlines())
            if ended.returncode == 0:
                break
    lines = [
        f"{json.dumps(key)}: {json.dumps(answer or '' if answer is not None else 'crash')}"
        for key, answer in answers.items()
    ]
    WRONG.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
