"""Whole training steps: forward, backward, and a momentum update, in Millrace, MindSpore and PyTorch.

Threads are given for each variant, and for all of them waiting threads stay awake for microseconds, as Millrace asks by
default (`millrace._src.core.machine.openmp`): on shared cores, threads that spin for longer take the time of those that
compute, and threads that sleep at once have to be woken for every operation.
"""

from __future__ import annotations

import functools
import importlib
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks.measure import ready
from benchmarks.nets import NETS, numbers
from benchmarks.workloads import Bar, Metric, Variants

__all__ = [
    "EAGER", "METRICS", "NOTE", "PAIRS", "WHY", "bars", "step_of", "torch_train", "train_cell", "variants",
]  # fmt: skip

EAGER = Metric("of_eager_percent", "takes of plain PyTorch's CPU time", "%", digits=4)
METRICS = (
    Metric("steps_per_s", "steps/s", higher=True),
    Metric("first_step_s", "first step", "s"),
    Metric("cpu_ms", "CPU time of a step", "ms"),
    EAGER,
)
NOTE = (
    "One batch that stays in memory; a step is forward, cross entropy, backward, and momentum (`nn.Momentum`; PyTorch "
    "has `torch.optim.SGD`). The best of several blocks of "
    "steps counts. Millrace and MindSpore run the same lines with the same weights, and give the same loss. Millrace "
    "beside plain PyTorch is taken in one process, in turns, with the same release of PyTorch, in CPU time of all "
    "threads: without what other programs took from the cores. PyTorch alone, eager and with `torch.compile(net)`, "
    "runs in an environment of its own. For all of them waiting threads stay awake for microseconds "
    "(GOMP_SPINCOUNT=1000, which is Millrace's default)."
)
WHY = {
    "torch": (
        "in PyNative mode both run the same kernels, and what differs is Python; torch.compile makes C++ of the "
        "forward and the backward pass, which its first step waits for, where Graph mode replays PyTorch's own kernels."
    ),
}
RATE, MOMENTUM = 0.001, 0.9
MODES = {"Graph": "GRAPH_MODE", "PyNative": "PYNATIVE_MODE"}
THREADS = {"2 threads": 2, "1 thread": 1}
COMPILED = "compile, 2 threads"
PAIRS = (
    *((f"{mode}, {text}", "torch", f"eager, {text}") for mode in MODES for text in THREADS),
    ("Graph, 2 threads", "torch", COMPILED),
)
# Blocks of steps, and how long all of them take.
BLOCKS, FEWEST, SECONDS = 40, 3, 5.0

# (wall seconds, CPU seconds) of a step
Times = tuple[float, float]

Step = Callable[[], Any]


def variants(net: str) -> Variants:
    """Both modes of Millrace and MindSpore, and PyTorch, with two threads and with one; compiled, with two."""
    ours = {f"{mode}, {text}": (mode, count) for text, count in THREADS.items() for mode in MODES}
    made: Variants = {
        peer: {name: functools.partial(_measured, net, peer, *ask) for name, ask in ours.items()}
        for peer in ("millrace", "mindspore")
    }
    made["torch"] = {
        f"eager, {text}": functools.partial(_measured, net, "torch", "", count)
        for text, count in THREADS.items()
    }
    made["torch"][COMPILED] = functools.partial(_compiled, net)
    return made


def _compiled(net: str, quick: bool) -> dict[str, Any]:
    """With a cache of its own: what an earlier run has compiled must not shorten the first step."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        return _measured(net, "torch", "compile", THREADS["2 threads"], quick)


def bars(graph: float, first_step: float | None = None) -> tuple[Bar, ...]:
    """What is asked of every net, with the ratio of this one."""
    both = list(THREADS)
    made = [
        Bar(f"Graph at least {graph} times MindSpore's", "steps_per_s", graph, variant=f"Graph, {both[0]}")
    ]
    made += [Bar("PyNative at least 2 times MindSpore's", "steps_per_s", 2.0, variant=f"PyNative, {both[0]}")]
    for text in both:
        made += [
            Bar(
                "PyNative at most 105 % of plain PyTorch's CPU time",
                EAGER.key,
                below=105,
                variant=f"PyNative, {text}",
            ),
            Bar(
                "Graph at most 100 % of plain PyTorch's CPU time",
                EAGER.key,
                below=100,
                variant=f"Graph, {text}",
            ),
        ]
    if first_step is not None:
        made.append(
            Bar(
                f"first step under {first_step} s",
                "first_step_s",
                below=first_step,
                variant=f"Graph, {both[0]}",
            )
        )
    return tuple(made)


def _measured(net: str, peer: str, mode: str, threads: int, quick: bool) -> dict[str, Any]:
    ready()
    # before the libraries are loaded: they look once
    os.environ |= {
        "OMP_NUM_THREADS": str(threads),
        "GOMP_SPINCOUNT": "1000",
        "MKL_NUM_THREADS": str(threads),
    }
    plain = peer == "torch"
    step = _torch_step(net, threads, bool(mode)) if plain else step_of(net, peer, mode, threads)
    began = time.perf_counter()
    loss = step()
    measured: dict[str, Any] = {
        "first_step_s": time.perf_counter() - began,
        "first_loss": loss,
        "threads": threads,
    }
    steps = {"ours": step}
    if peer == "millrace":
        steps["eager"] = _torch_step(net, threads)
        _agree(loss, steps["eager"]())
    best = _best(steps, 0.2 if quick else SECONDS, 1 if quick else BLOCKS)
    measured |= {"steps_per_s": 1 / best["ours"][0], "cpu_ms": 1000 * best["ours"][1]}
    if "eager" in best:
        measured |= {
            "eager_steps_per_s": 1 / best["eager"][0],
            EAGER.key: 100 * best["ours"][1] / best["eager"][1],
        }
    return measured


def _agree(ours: float, theirs: float) -> None:
    if abs(ours - theirs) > 1e-3 * abs(theirs):
        raise AssertionError(f"the first loss is {ours}, that of plain PyTorch {theirs}: not the same step")


def _best(steps: dict[str, Step], seconds: float, blocks: int) -> dict[str, Times]:
    """Times of a step: the best of some blocks, the steps in turns. What others take of the machine only adds."""
    counts, best = {}, dict.fromkeys(steps, (float("inf"), float("inf")))
    for name, step in steps.items():
        step()
        counts[name] = max(1, int(seconds / blocks / len(steps) / _timed(step, 1)[0]))
    began = time.perf_counter()
    for block in range(blocks):
        if block >= FEWEST and time.perf_counter() - began > seconds:
            break  # steps so long that a block is one of them
        for name in sorted(steps, reverse=bool(block % 2)):
            wall, cpu = _timed(steps[name], counts[name])
            best[name] = min(best[name][0], wall), min(best[name][1], cpu)
    return best


def _timed(step: Step, count: int) -> Times:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


def step_of(net: str, peer: str, mode: str, threads: int) -> Step:
    """A step in Millrace or MindSpore: the same lines."""
    ms = importlib.import_module(peer)
    for part in ("nn", "ops"):
        importlib.import_module(f"{peer}.{part}")
    ms.set_context(mode=getattr(ms, MODES[mode]), runtime_num_threads=threads)
    train = train_cell(ms, NETS[net].ours(ms))
    x, y = (ms.Tensor(part) for part in NETS[net].batch())
    return lambda: float(train(x, y).asnumpy())


def train_cell(ms: Any, model: Any, draw: Callable[[int, tuple[int, ...]], Any] = numbers) -> Any:
    """Forward, cross entropy, backward and the update as one Cell; its parameters are drawn."""
    nn, ops = ms.nn, ms.ops
    model.set_train()
    weights = ms.ParameterTuple(model.trainable_params())
    for number, weight in enumerate(weights):
        weight.set_data(ms.Tensor(draw(number, weight.shape), weight.dtype))

    class Train(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.weights = model, weights
            self.update = nn.Momentum(weights, RATE, MOMENTUM)
            self.gradients = ms.value_and_grad(self.loss, None, weights)

        def loss(self, x: Any, y: Any) -> Any:
            return ops.cross_entropy(self.model(x), y)

        def construct(self, x: Any, y: Any) -> Any:
            loss, gradients = self.gradients(x, y)
            self.update(gradients)
            return loss

    return Train()


def _torch_step(net: str, threads: int, compiled: bool = False) -> Step:
    import torch

    torch.set_num_threads(threads)
    x, y = (torch.from_numpy(part) for part in NETS[net].batch())
    model = NETS[net].torch()
    step = torch_train(torch.compile(model) if compiled else model, x, y.long())
    return lambda: float(step())


def torch_train(model: Any, x: Any, y: Any) -> Callable[[], Any]:
    """The same step in plain PyTorch, with the same weights; gives the loss as a tensor."""
    import torch

    for number, weight in enumerate(model.parameters()):
        weight.data.copy_(torch.from_numpy(numbers(number, tuple(weight.shape))))
    update = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)

    def step() -> Any:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        update.zero_grad()
        loss.backward()
        update.step()
        return loss.detach()

    return step
