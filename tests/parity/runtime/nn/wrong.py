"""Layers called wrongly: every layer of the recorded cases, with inputs of another rank, size, type and kind.

`python -m tests.parity.runtime.nn.wrong done skip ...` plays them under MindSpore; it imports nothing of ours
but the cases.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.runtime.nn.layers import Layer, cases, families
from tests.parity.runtime.nn.run_case import LACKING, flush, live, tensors

GOLDENS = Path(__file__).parent / "goldens"


def good() -> dict[str, Layer]:
    """The first case of each layer that MindSpore can run here."""
    found: dict[str, Layer] = {}
    for family in families():
        if family == "zoo":
            continue
        golden = json.loads((GOLDENS / f"{family}.json").read_text())
        for name, case in cases(family).items():
            kind = name.split("/")[0]
            kind = kind if kind.startswith("mint.") else kind.split(".")[0]
            runs = "results" in golden[name] and not case.options.get("graph")
            if runs and kind not in found and any(isinstance(a, np.ndarray) for a in case.args):
                found[kind] = case
    return found


def wrongly(case: Layer) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What the layer is called with instead: the kind of mistake, and the arguments."""
    at = next(i for i, arg in enumerate(case.args) if isinstance(arg, np.ndarray))
    x = case.args[at]

    def instead(value: Any) -> tuple[Any, ...]:
        return (*case.args[:at], value, *case.args[at + 1 :])

    if x.ndim:
        yield "an axis less", instead(x[0])
        yield "a longer last axis", instead(np.concatenate([x, x[..., :1]], -1))
    if x.ndim > 1:
        yield "a longer axis 1", instead(np.concatenate([x, x[:, :1]], 1))
    yield "an axis more", instead(x[None])
    yield "another type", instead(x.astype("int32" if x.dtype.kind == "f" else "float32"))
    yield "bools", instead(x > 0)
    yield "a number", instead(1.5)
    yield "None", instead(None)
    yield "a text", instead("a")
    yield "nothing", ()
    yield "too much", (*case.args, *[x] * 8)


def outcome(ms: Any, case: Layer, args: tuple[Any, ...]) -> tuple[str, str]:
    """The class of the error, or "", and what it says."""
    try:
        made = case.build(ms)(*[live(ms, value) for value in args])
        for tensor in tensors(ms, made):
            tensor.asnumpy()  # MindSpore's kernels run behind: errors come out here
    except Exception as error:
        text = str(error) + "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
        if any(words in text for words in LACKING) and ms.__name__ == "mindspore":
            return "lacking", text
        return next(k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins"), text
    return "", ""


def main(done: str, *skip: str) -> None:
    """Each answer is written before the next question: whoever dies is asked no more."""
    import mindspore

    with open(done, "a") as file:
        for name, case in good().items():
            for mistake, args in wrongly(case):
                key = f"{name}: {mistake}"
                if key in skip:
                    continue
                file.write(json.dumps([key, None]) + "\n")
                file.flush()
                file.write(json.dumps([key, outcome(mindspore, case, args)[0]]) + "\n")
                flush(mindspore)


if __name__ == "__main__":
    main(*sys.argv[1:])
