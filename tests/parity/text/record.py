"""Run every case under real MindSpore and write goldens/. From the root of the repository:

    /path/to/python-with-mindspore -m tests.parity.text.record [family ...]

Each case runs in a child of its own; when it kills it or hangs, that is its result.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.parity.text.cases import load
from tests.parity.text.cases.case import Case
from tests.parity.text.encode import encode, encode_error
from tests.parity.text.inputs import FILES, WORDS, make

GOLDENS = Path(__file__).parent / "goldens"
SECONDS = 20


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


def in_child(case: Case, names: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        with os.fdopen(writing, "w") as out:
            json.dump(outcome(case, names), out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as made:
        text = made.read()
    _, status = os.waitpid(child, 0)
    if status == 0:
        return json.loads(text)
    result = {"hangs": True} if status == signal.SIGALRM else {"crashes": status}
    print("  lost:", case.name, result)
    return result


def main(wanted: list[str]) -> int:
    os.environ["GLOG_v"] = "4"
    import mindspore.dataset.text as text
    import mindspore.dataset.transforms as transforms
    import numpy as np
    from mindspore import dtype

    names = {"T": text, "C": transforms, "D": dtype, "np": np, "WORDS": WORDS, "F": f"{FILES}/"}
    for family, cases in load().items():
        if wanted and family not in wanted:
            continue
        results = [in_child(case, names) for case in cases]
        print(f"{family}: {len(cases)} cases, {sum('error' in r for r in results)} errors")
        lines = [f"{json.dumps(c.name)}: {json.dumps(r)}" for c, r in zip(cases, results, strict=True)]
        (GOLDENS / f"{family}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
