"""Fifty steps of each net with each optimizer, under Millrace or MindSpore; as a program it is the latter's side."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.parity.runtime.nn.run_case import fill
from tests.parity.train.networks.networks import NETS, OPTIMIZERS, batches

STEPS = 50


def losses(ms: Any, net: str, optimizer: str) -> list[float]:
    """The loss of each step."""
    cell = NETS[net][0](ms)
    fill(cell, ms.Tensor)
    loss = ms.nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    step = ms.nn.TrainOneStepCell(
        ms.nn.WithLossCell(cell, loss), OPTIMIZERS[optimizer](ms, cell.trainable_params())
    )
    step.set_train()
    given = [(ms.Tensor(data), ms.Tensor(labels)) for data, labels in batches(net)]
    return [float(step(*given[number % len(given)]).asnumpy()) for number in range(STEPS)]


def main(done: str) -> None:
    import mindspore

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    results = {}
    for net in NETS:
        for optimizer in OPTIMIZERS:
            results[f"{net}, {optimizer}"] = losses(mindspore, net, optimizer)
            sys.stdout.write(f"{net}, {optimizer}: {results[f'{net}, {optimizer}'][::10]}\n")
    with open(done, "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
