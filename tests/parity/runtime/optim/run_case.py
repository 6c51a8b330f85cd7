"""Runs cases of optimizers, under Millrace or MindSpore.

`python -m tests.parity.runtime.optim.run_case done` is the latter.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from typing import Any

import numpy as np

from tests.parity.runtime.nn.run_case import LACKING, flush
from tests.parity.runtime.optim.cases import CASES, RATES, SCHEDULERS, SHAPES, Case


def numbers(name: str, step: int) -> Any:
    """What a parameter is at first (step 0), or its gradient in a step; it depends on the name and the step alone."""
    draw = np.random.RandomState(zlib.crc32(f"{name} {step}".encode()))
    return draw.uniform(-1, 1, SHAPES[name]).astype(np.float32)


def play(ms: Any, case: Case) -> dict[str, Any]:
    """What an optimizer holds, and where all that it holds is after some steps."""
    params = [ms.Parameter(ms.Tensor(numbers(n, 0).astype(case.dtype)), name=n) for n in SHAPES]
    optimizer = case.make(ms, params)
    held = [[path, p.name, list(p.shape), str(p.dtype)] for path, p in optimizer.parameters_and_names()]
    kind = case.gradients or case.dtype
    try:
        for step in range(1, case.steps + 1):
            # a loss that was scaled gives gradients that are
            grads = (
                numbers(p.name, step) * getattr(optimizer, "loss_scale", 1.0) for p in optimizer.parameters
            )
            optimizer(tuple(ms.Tensor(grad.astype(kind)) for grad in grads))
    except Exception as error:
        if case.better and ms.__name__ == "mindspore":
            flush(ms)
            return {"held": held, "m": str(error)[:80]}
        raise
    assert list(optimizer.parameters_dict()) == [name for _, name, _, _ in held]
    ends = b"".join(np.ascontiguousarray(p.asnumpy()).tobytes() for p in optimizer.get_parameters())
    return {"held": held, "ends": base64.b64encode(ends).decode()}


def ends_of(result: dict[str, Any]) -> dict[str, Any]:
    """Where each parameter was at the end."""
    data, found, place = base64.b64decode(result["ends"]), {}, 0
    for _, name, shape, dtype in result["held"]:
        kind, count = np.dtype(dtype.lower()), int(np.prod(shape, dtype=int))
        found[name] = np.frombuffer(data, kind, count, place).reshape(shape)
        place += count * kind.itemsize
    return found


def rates(ms: Any, text: str) -> Any:
    """The rates of some steps, or the error."""
    try:
        made = eval(text, {"nn": ms.nn})  # noqa: S307
        if isinstance(made, list):
            return made
        return [float(made(ms.Tensor(step, ms.int32)).asnumpy()) for step in range(7)]
    except Exception as error:
        return {"e": type(error).__name__, "m": str(error).split("\n---")[0].strip()[:200]}


def scheduled(ms: Any, text: str) -> Any:
    """The rates of two groups over some calls of a scheduler, or the error."""
    params = [ms.Parameter(ms.Tensor([1.0]), name=name) for name in "ab"]
    optim = ms.experimental.optim
    optimizer = optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.8}], lr=0.5)
    try:
        scheduler = eval(text, {"opt": optimizer, **vars(optim.lr_scheduler)})  # noqa: S307
        found = [[float(rate.asnumpy()) for rate in scheduler.get_last_lr()]]
        for number in range(9):
            measure = (5.0, 4.0, 4.5, 4.2, 4.1, 4.0, 3.0, 3.0, 3.0)[number]
            scheduler.step(ms.Tensor(measure)) if "Plateau" in text else scheduler.step()
            found.append([float(rate.asnumpy()) for rate in scheduler.get_last_lr()])
        return found
    except Exception as error:
        return {"e": type(error).__name__, "m": str(error).split("\n---")[0].strip()[:200]}


def main(done: str) -> None:
    import mindspore
    import mindspore.experimental.optim.lr_scheduler
    import mindspore.mint.optim

    results: dict[str, Any] = {}
    for name, case in CASES.items():
        try:
            results[name] = play(mindspore, case)
        except Exception as error:
            text = str(error)
            lacking = any(words in text for words in LACKING)
            results[name] = {
                "lacking" if lacking else "e": type(error).__name__,
                "m": text.split("\n---")[0].strip()[:160],
            }
            flush(mindspore)
    results["schedulers"] = {text: scheduled(mindspore, text) for text in SCHEDULERS}
    results["rates"] = {text: rates(mindspore, text) for text in RATES}
    with open(done, "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
