"""Run every case under real MindSpore and write goldens/. From the root of the repository:

/path/to/python-with-mindspore -m tests.parity.data.text.record [family ...] [--full=pickle]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tests.parity.data.text.cases import load
from tests.parity.data.text.cases.case import Case
from tests.parity.data.text.encode import encode, encode_error
from tests.parity.data.text.inputs import FILES, WORDS, make
from tests.parity.recorder import record

GOLDENS = Path(__file__).parent / "goldens"


def outcome(case: Case, names: dict[str, Any]) -> dict[str, Any]:
    """What a case gives, as JSON."""
    try:
        op = eval(case.call, dict(names))  # noqa: S307 (our own cases)
    except Exception as error:
        return encode_error(error) | {"when": "made"}
    if case.inputs == ("-",):
        return encode(op)
    try:
        return encode(op(*[make(name) for name in case.inputs]))
    except Exception as error:
        return encode_error(error) | {"when": "called"}


def main(arguments: list[str]) -> int:
    os.environ["GLOG_v"] = "4"
    import mindspore.dataset.text as text
    import mindspore.dataset.transforms as transforms
    import numpy as np
    from mindspore import dtype

    names = {"T": text, "C": transforms, "D": dtype, "np": np, "WORDS": WORDS, "F": f"{FILES}/"}
    record(load(), arguments, lambda case: (outcome(case, names), None), GOLDENS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
