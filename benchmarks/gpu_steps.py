"""Whole training steps on one GPU: plain PyTorch eager beside Millrace in both modes, with their peak memory.

PYTHONPATH=src python -m benchmarks.gpu_steps                             # all nets; from the root of the repository
PYTHONPATH=src python -m benchmarks.gpu_steps --only lenet resnet50 --json $OUT/gpu.json
PYTHONPATH=src python -m benchmarks.gpu_steps --device cpu --only mlp     # does it run? batches are small there

It needs PyTorch and NumPy, and neither MindSpore nor an installation of Millrace. Every contestant runs in a process of
its own, so that its peak of memory is its own; all of them take about four minutes. A step is forward, cross entropy,
backward and momentum on a batch that stays on the GPU; nothing is read back between steps. Millrace's first losses must
be PyTorch's to a thousandth (bfloat16: to two hundredths), else it says so and ends with 1.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.nets import NETS, numbers, residual, residual_torch
from benchmarks.training import torch_train, train_cell

WHO = ("torch", "PyNative", "Graph")
WARM, BLOCKS = 5, 5
DEPTHS = (3, 4, 6, 3)  # blocks of ResNet-50's stages

Array = Any


class Case(NamedTuple):
    """A net in both ways, a batch for it, and how far first losses may be apart."""

    ours: Callable[[Any], Any]
    torch: Callable[[], Any]
    batch: Callable[[], tuple[Array, Array]]
    half: bool = False
    apart: float = 1e-3


# --- ResNet-50 in bfloat16, channels last ----------------------------------------------------------------------


def _resnet50(ms: Any) -> Any:
    def first(nn: Any, conv: Any) -> list[Any]:
        return [
            *conv(3, 64, 7, 2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, pad_mode="pad", padding=1, data_format="NHWC"),
        ]

    return residual(ms, first, _places(), 1000, deep=True, data_format="NHWC", dtype=ms.bfloat16)


def _places() -> list[tuple[int, int, int]]:
    """Channels in, channels within, and stride of each block."""
    found, given = [], 64
    for stage, depth in enumerate(DEPTHS):
        for number in range(depth):
            found.append((given, 64 << stage, 2 if stage and not number else 1))
            given = 256 << stage
    return found


def _resnet50_torch() -> Any:
    import torch

    def first(nn: Any, conv: Any) -> list[Any]:
        return [*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]

    whole = residual_torch(first, _places(), 1000, deep=True)
    return whole.to(dtype=torch.bfloat16, memory_format=torch.channels_last)


def _photos(count: int) -> tuple[Array, Array]:
    """Pictures with the channels last, and labels."""
    rng = np.random.default_rng(7)
    return rng.standard_normal((count, 224, 224, 3), np.float32), rng.integers(0, 1000, count).astype(
        np.int32
    )


def _cases(small: bool) -> dict[str, Case]:
    made = {name: Case(*net) for name, net in NETS.items()}
    # with 32 pictures the kernels of ResNet-18 take most of a step; with 8 the calls do, which a graph spares
    whole = made["resnet18"]
    made["resnet18-8"] = whole._replace(
        batch=lambda: tuple(part[:8] for part in whole.batch())  # type: ignore[arg-type, return-value]
    )
    count = 2 if small else 256
    made["resnet50"] = Case(_resnet50, _resnet50_torch, lambda: _photos(count), half=True, apart=2e-2)
    return made


# --- one contestant --------------------------------------------------------------------------------------------


def measure(name: str, who: str, device: str, seconds: float) -> dict[str, Any]:
    """First losses, the time of the first step and of the others, and what memory they took."""
    import torch

    case = _cases(device == "cpu")[name]
    make = _plain if who == "torch" else _ours
    step = make(case, who, torch.device(device))
    wait = torch.cuda.synchronize if device != "cpu" else lambda: None
    wait()
    began = time.perf_counter()
    losses = [float(step())]
    wait()
    first = time.perf_counter() - began
    losses += [float(step()) for _ in range(WARM - 1)]
    count = max(1, int(seconds / BLOCKS / max(1e-6, _timed(step, 3, wait))))
    times = [_timed(step, count, wait) for _ in range(BLOCKS)]
    made = {
        "losses": losses[:3],
        "first_step_s": round(first, 3),
        "steps_per_s": round(1 / statistics.median(times), 2),
        "spread_percent": round(100 * (max(times) / min(times) - 1), 1),
        "versions": [torch.__version__, sys.version.split()[0]],
    }
    if device != "cpu":
        mib = 2**20
        made |= {
            "peak_mib": torch.cuda.max_memory_allocated() // mib,
            "reserved_mib": torch.cuda.memory_reserved() // mib,
            "peak_reserved_mib": torch.cuda.max_memory_reserved() // mib,
            "device": torch.cuda.get_device_name(),
        }
    if who == "Graph":
        made["report"] = _report()
    return made


def _timed(step: Callable[[], Any], count: int, wait: Callable[[], None]) -> float:
    wait()
    began = time.perf_counter()
    for _ in range(count):
        step()
    wait()
    return (time.perf_counter() - began) / count


def _ours(case: Case, mode: str, device: Any) -> Callable[[], Any]:
    import millrace as ms
    from millrace import nn, ops  # noqa: F401  (the nets ask `ms` for them)

    if device.type == "cuda":
        ms.set_context(device_target="GPU")
    ms.set_context(mode=ms.GRAPH_MODE if mode == "Graph" else ms.PYNATIVE_MODE)
    train = train_cell(ms, case.ours(ms), _channels_last if case.half else numbers)
    x, y = (ms.Tensor(part) for part in case.batch())
    if case.half:
        x = x.astype(ms.bfloat16)
    if device.type == "cuda":
        x, y = x.move_to("GPU"), y.move_to("GPU")
    return lambda: train(x, y)


def _plain(case: Case, _: str, device: Any) -> Callable[[], Any]:
    import torch

    x, y = (torch.from_numpy(part) for part in case.batch())
    if case.half:
        x = x.to(torch.bfloat16).permute(0, 3, 1, 2)  # as it lies in memory: channels last
    return torch_train(case.torch().to(device), x.to(device), y.to(device).long())


def _channels_last(seed: int, shape: tuple[int, ...]) -> Array:
    """The weights that PyTorch gets, with the channels at the end."""
    if len(shape) != 4:
        return numbers(seed, shape)
    out, high, wide, inputs = shape
    return np.ascontiguousarray(np.moveaxis(numbers(seed, (out, inputs, high, wide)), 1, -1))


def _report() -> list[str]:
    """Whether the step is a CUDA Graph, and if not, why."""
    from millrace._src.runtime.graph.replay import CachedProgram, all_capture_caches

    found = []
    for graphs in all_capture_caches():
        programs = [entry.program for entry in graphs.entries.values() if isinstance(entry, CachedProgram)]
        why = sorted({program.cuda_graph_failure for program in programs} - {""})
        calls = [len(program.calls) for program in programs]
        found.append(
            f"{graphs.name}: {calls} calls, replayed {graphs.replayed}, fell back {graphs.eager_calls} {why}"
        )
    return found


# --- all of them -----------------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    if args.one:
        print(json.dumps(measure(*args.one, args.device, args.seconds)), flush=True)
        return 0
    results: dict[str, dict[str, Any]] = {}
    wrong = False
    for name in args.only or list(_cases(True)):
        results[name] = {}
        for who in WHO:
            results[name][who] = made = _apart(name, who, args)
            print(_line(name, who, made, results[name]), flush=True)
            wrong |= "error" in made or not _agree(made, results[name]["torch"], _cases(True)[name].apart)
        if args.json:  # after each net: a run that is cut short leaves what it has
            args.json.write_text(json.dumps(results, indent=1))
    return int(wrong)


def _apart(name: str, who: str, args: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.gpu_steps", "--one", name, who, "--device", args.device]
    done = subprocess.run(
        [*command, "--seconds", str(args.seconds)], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        return {"error": done.stderr.strip()[-2000:]}
    made: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return made


def _agree(made: dict[str, Any], plain: dict[str, Any], apart: float) -> bool:
    if "losses" not in made or "losses" not in plain:
        return False
    return all(abs(a - b) <= apart * abs(b) for a, b in zip(made["losses"], plain["losses"], strict=True))


def _line(name: str, who: str, made: dict[str, Any], beside: dict[str, Any]) -> str:
    if "error" in made:
        return f"{name:9} {who:9} failed: {made['error']}"
    plain = beside["torch"]
    text = f"{name:9} {who:9} {made['steps_per_s']:9.2f} steps/s (+-{made['spread_percent']} %)"
    if who != "torch" and "steps_per_s" in plain:
        text += f", {made['steps_per_s'] / plain['steps_per_s']:.2f} x eager"
    if "peak_mib" in made:
        text += f"; peak {made['peak_mib']} MiB, reserved {made['reserved_mib']} (peak {made['peak_reserved_mib']})"
    text += f"; first step {made['first_step_s']} s; losses {[round(loss, 5) for loss in made['losses']]}"
    return text + "".join(f"\n  {line}" for line in made.get("report", []))


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(_cases(True)), help="these nets")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--seconds", type=float, default=5.0, help="time for the steps of one contestant")
    parser.add_argument("--json", type=Path, help="write what was measured there")
    parser.add_argument("--one", nargs=2, metavar=("NET", "WHO"), help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
