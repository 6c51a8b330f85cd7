"""Three steps of each net, under Millrace or MindSpore; `python -m tests.zoo.play done` is the latter's side."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from tests.parity.nn.play import fill
from tests.zoo.nets import Net, nets

STEPS = 3


def learn(ms: Any, case: Net) -> tuple[dict[str, Any], Any]:
    """The loss before training, the losses of plain gradient descent, and where the parameters end; and the step."""
    cell = case.build(ms)
    fill(cell, ms.Tensor)
    batch = [ms.Tensor(array.copy()) for array in case.batch]
    cell.set_train(False)
    found: dict[str, Any] = {"before": float(cell(*batch).asnumpy()), "losses": []}
    cell.set_train()
    weights = cell.trainable_params()
    step = ms.value_and_grad(cell, None, weights)
    for _ in range(STEPS):
        loss, gradients = step(*batch)
        found["losses"].append(float(loss.asnumpy()))
        for weight, gradient in zip(weights, gradients):
            ms.ops.assign(weight, weight - case.rate * gradient)
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


def main(done: str) -> None:
    import mindspore

    results = {}
    for name, case in nets().items():
        results[name], _ = learn(mindspore, case)
        print(name, results[name]["losses"], flush=True)
    with open(done, "w") as file:
        json.dump(results, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
