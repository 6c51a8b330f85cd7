"""Run every case under real MindSpore and write goldens/. From the root of the repository:

/path/to/python-with-mindspore -m tests.parity.data.audio.record [family ...] [--full=pickle]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.parity.data.audio.cases import load
from tests.parity.data.audio.compare import encode
from tests.parity.data.audio.inputs import make
from tests.parity.encode import encode_error
from tests.parity.recorder import outcome, record

GOLDENS = Path(__file__).parent / "goldens"


def main(arguments: list[str]) -> int:
    os.environ["GLOG_v"] = "4"
    import mindspore.dataset.audio as audio
    import numpy as np

    names = {"A": audio, "np": np}
    record(load(), arguments, lambda case: outcome(case, names, make, encode, encode_error), GOLDENS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
