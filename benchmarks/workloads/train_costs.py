"""What does everything cost that is no kernel: an eager call, the first call of a graph, the imports?"""

from __future__ import annotations

import functools
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

from benchmarks.measure import ready
from benchmarks.training import step_of

from . import Bar, Metric, Variants
from .import_time import imported

TITLE = "Training: what is no kernel"
QUESTION = "an eager `a + b`, the first Graph call of ResNet-18, and the imports, 1 thread"
NOTE = (
    "`a + b` of two tensors of 16 numbers, the best of many blocks. The first Graph call is that of a whole training "
    "step of ResNet-18 (32 x 32 pictures, batch 32), less the quickest of the next three, after another net has run: "
    "the libraries are loaded. Imports in a fresh interpreter with bytecode kept, the best of 3: `import millrace` or "
    "`mindspore` alone, and with `nn`; for Millrace `nn` is counted over `import torch`."
)
METRICS = (
    Metric("add_us", "a + b", "us"),
    Metric("first_call_s", "first Graph call, over one step", "s"),
    Metric("import_s", "import", "s"),
    Metric("import_nn_s", "import of nn", "s"),
)
BARS = (
    Bar("an eager a + b under 2 us", "add_us", below=2.0),
    Bar("first Graph call under 0.3 s over a step", "first_call_s", below=0.3),
    Bar("import millrace under 0.1 s", "import_s", below=0.1),
    Bar("import millrace.nn within 0.3 s of import torch", "import_nn_s", below=0.3),
)


def _costs(peer: str, quick: bool) -> dict[str, Any]:
    ready()
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    nn = _seconds(f"{peer}.nn", quick)
    if peer == "millrace":
        nn = max(0.0, nn - _seconds("torch", quick))
    return {
        "import_s": _seconds(peer, quick),
        "import_nn_s": nn,
        "add_us": 1e6 * _addition(_with_nn(peer), 20 if quick else 200),
        "first_call_s": _first_call(peer, "lenet" if quick else "resnet18"),
    }


def _with_nn(peer: str) -> Any:
    """The package with its training half: tensors of the data half alone are NumPy's."""
    importlib.import_module(f"{peer}.nn")
    return importlib.import_module(peer)


def _seconds(module: str, quick: bool) -> float:
    return float(imported(module)(quick)["import_s"])


def _addition(ms: Any, blocks: int) -> float:
    import numpy as np

    a, b = ms.Tensor(np.ones(16, np.float32)), ms.Tensor(np.ones(16, np.float32))
    best = float("inf")
    for _ in range(blocks):
        began = time.perf_counter()
        for _ in range(100):
            a + b
        best = min(best, (time.perf_counter() - began) / 100)
    return best


def _first_call(peer: str, net: str) -> float:
    warm = step_of("mlp", peer, "Graph", 1)
    warm(), warm()
    step = step_of(net, peer, "Graph", 1)
    first = _timed(step)
    return first - min(_timed(step) for _ in range(3))


def _timed(step: Callable[[], Any]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


VARIANTS: Variants = {
    peer: {"1 thread": functools.partial(_costs, peer)} for peer in ("millrace", "mindspore")
}
