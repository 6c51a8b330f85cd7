"""Three steps of each net, under Millrace or MindSpore.

`python -m tests.e2e.networks.run_network done` is the latter's side.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from tests.e2e.networks.families import Net, nets
from tests.parity.runtime.nn.run_case import fill

STEPS = 3


def learn(ms: Any, case: Net) -> tuple[dict[str, Any], Any]:
    """The loss before training, the losses of three steps, and where all parameters end; and the step."""
    cell = case.build(ms)
    fill(cell, ms.Tensor)
    batch = [ms.Tensor(array.copy()) for array in case.batch]
    cell.set_train(False)
    found: dict[str, Any] = {"before": float(cell(*batch).asnumpy()), "losses": []}
    optimizer = case.optimizer(ms.nn, cell.trainable_params())
    step = ms.nn.TrainOneStepCell(cell, optimizer).set_train()
    for _ in range(STEPS):
        found["losses"].append(float(step(*batch).asnumpy()))
    found["parameters"] = {path: _summary(p.asnumpy()) for path, p in cell.parameters_and_names()}
    return found, step


def _summary(array: Any) -> list[float]:
    """Three numbers that say where a parameter is: its mean, its size, and a sum in which each element counts apart."""
    flat = array.astype(np.float64).ravel()
    return [
        float(flat.mean()),
        float(np.abs(flat).mean()),
        float((flat * np.cos(np.arange(flat.size))).sum()),
    ]


def main(done: str, *only: str) -> None:
    import mindspore

    results = {}
    if only:  # the others stay as they are
        with open(done) as file:
            results = json.load(file)
    for name, case in nets().items():
        if only and name not in only:
            continue
        results[name], _ = learn(mindspore, case)
        print(name, results[name]["losses"], flush=True)
    with open(done, "w") as file:
        json.dump(results, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
