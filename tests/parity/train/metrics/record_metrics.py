"""Record what real MindSpore makes of the cases of metrics.

    .peers/mindspore/bin/python -m tests.parity.train.metrics.record_metrics

Run from the root; MindSpore has a Python of its own (`make interop` makes it).
"""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

from tests.parity.train.metrics.cases import CASES, run

HERE = Path(__file__).parent
GOLDEN = HERE / "golden.json"


def digest() -> str:
    return hashlib.sha256((HERE / "cases.py").read_bytes()).hexdigest()[:12]


def main() -> None:
    import mindspore

    warnings.simplefilter("ignore")
    lines = [f"{json.dumps(name)}: {json.dumps(run(mindspore, each))}" for name, each in CASES.items()]
    GOLDEN.write_text("{\n" + ",\n".join([f'"digest": {json.dumps(digest())}', *lines]) + "\n}\n")


if __name__ == "__main__":
    main()
