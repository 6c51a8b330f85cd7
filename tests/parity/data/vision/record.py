"""Run every case under real MindSpore and write goldens/. From the root of the repository:

/path/to/python-with-mindspore -m tests.parity.data.vision.record [file ...] [--full=pickle]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tests.parity.calls import Case
from tests.parity.data.vision.cases import load
from tests.parity.data.vision.encode import encode, encode_error
from tests.parity.data.vision.inputs import FILES, make
from tests.parity.data.vision.rules import keeps_values
from tests.parity.recorder import outcome, record

GOLDENS = Path(__file__).parent / "goldens"


def main(arguments: list[str]) -> int:
    os.environ["GLOG_v"] = "4"
    import mindspore as ms
    import mindspore.dataset.transforms as transforms
    import mindspore.dataset.vision as vision
    import numpy as np

    names = {
        "V": vision,
        "T": transforms,
        "np": np,
        "ms": ms,
        "Inter": vision.Inter,
        "Border": vision.Border,
        "F": f"{FILES}/",
    }

    def run_one(case: Case) -> tuple[dict[str, Any], Any]:
        keep = keeps_values(case.name)
        return outcome(case, names, make, lambda value: encode(value, keep), encode_error)

    record(load(), arguments, run_one, GOLDENS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
