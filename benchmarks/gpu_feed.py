"""Feeding one GPU: ResNet-50 in bfloat16, batches of 256 from 30,000 JPEG files, beside a batch that stays there.

PYTHONPATH=src python -m benchmarks.gpu_feed --json benchmarks/gpu_feed.json  # all; from the repository
PYTHONPATH=src python -m benchmarks.gpu_feed --only resident millrace-16           # some
PYTHONPATH=src python -m benchmarks.gpu_feed --device cpu --files 64               # does it run?

It draws the files itself, in a temporary folder. Every contestant runs in a process of its own; all take about five
minutes. A step is forward, cross entropy, backward and momentum, as in `gpu_steps`; nothing is read back between steps.
Images a second are taken over the steps after the first ones, and beside the rate of the same step on one batch that
stays on the card. The device's idle share that the sink reports is compared with the gaps that PyTorch's profiler sees.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_steps import _channels_last, _resnet50, _resnet50_torch
from benchmarks.nets import NETS, numbers
from benchmarks.training import MOMENTUM, RATE, train_cell

MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
CLASSES, BATCH = 100, 256
WARM, SECONDS = 20, 10.0
# Steps under the profiler.
PROFILED = 24

Step = Callable[[Any, Any], Any]


# --- files ------------------------------------------------------------------------------------------------------


def draw(folder: str, count: int) -> None:
    """Pictures of 500 x 375, as many bytes as photographs have, in 100 folders."""
    for kind in range(CLASSES):
        os.makedirs(os.path.join(folder, f"{kind:03}"), exist_ok=True)
    with multiprocessing.get_context("spawn").Pool(min(16, os.cpu_count() or 1)) as pool:
        pool.starmap(_draw_some, [(folder, part, count) for part in range(64)])


def _draw_some(folder: str, part: int, count: int) -> None:
    import cv2

    cv2.setNumThreads(1)
    rng = np.random.default_rng(part)
    down, across = np.mgrid[:375, :500].astype(np.float32)
    waves = [np.sin(down / rng.uniform(4, 60) + across / rng.uniform(4, 60) + c) for c in range(3)]
    scene = np.stack(waves, -1) * 70 + 128
    for number in range(part, count, 64):
        grain = cv2.resize(rng.normal(0, 1, (188, 250, 3)).astype(np.float32), (500, 375))
        pixels = np.clip(scene + grain * 22, 0, 255).astype(np.uint8)
        name = os.path.join(folder, f"{number % CLASSES:03}", f"{number}.jpg")
        Path(name).write_bytes(cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 88])[1].tobytes())


# --- steps ------------------------------------------------------------------------------------------------------


def our_step(device: str) -> Step:
    """The step of `gpu_steps`, which takes floats of 32 bits: they become bfloat16 in it."""
    import millrace as ms
    from millrace import nn, ops  # noqa: F401  (the net asks `ms` for them)

    if device != "cpu":
        ms.set_context(device_target="GPU")
    ms.set_context(mode=ms.GRAPH_MODE)
    net = _resnet50(ms)

    class Half(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def construct(self, x: Any) -> Any:
            return self.net(x.astype(ms.bfloat16))

    made: Step = train_cell(ms, Half(), _channels_last)
    return made


def torch_step(device: str) -> Step:
    """The same in plain PyTorch."""
    import torch

    model = _resnet50_torch()
    for number, weight in enumerate(model.parameters()):
        weight.data.copy_(torch.from_numpy(numbers(number, tuple(weight.shape))))
    model = model.to(device)
    update = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)

    def step(x: Any, y: Any) -> Any:
        x = x.to(torch.bfloat16).contiguous(memory_format=torch.channels_last)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        update.zero_grad()
        loss.backward()
        update.step()
        return loss.detach()

    return step


def fed(step: Step, batches: Iterator[Any], device: str) -> dict[str, Any]:
    """Images a second after the first steps, over some seconds."""
    wait = _waiter(device)
    loss, began, count = None, 0.0, 0
    for number, (x, y) in enumerate(batches):
        loss = step(x, y)
        if number == WARM:
            wait()
            began, count = time.perf_counter(), 0
        count += 1
        if began and time.perf_counter() - began > SECONDS:
            break
    wait()
    took = time.perf_counter() - began
    return {"images_per_s": round((count - 1) * BATCH / took, 1), "steps": count - 1, "loss": float(loss)}


def _waiter(device: str) -> Callable[[], None]:
    import torch

    return torch.cuda.synchronize if device != "cpu" else lambda: None


def endless(make: Callable[[], Any]) -> Iterator[Any]:
    while True:
        yield from make()


# --- contestants ------------------------------------------------------------------------------------------------


def resident(args: argparse.Namespace) -> dict[str, Any]:
    import millrace as ms

    step = our_step(args.device)
    x, y = (ms.Tensor(part) for part in _resident_batch())
    if args.device != "cpu":
        x, y = x.move_to("GPU"), y.move_to("GPU")
    return fed(step, endless(lambda: [(x, y)]), args.device)


def resident_torch(args: argparse.Namespace) -> dict[str, Any]:
    import torch

    x, y = (torch.from_numpy(part).to(args.device) for part in _resident_batch())
    return fed(torch_step(args.device), endless(lambda: [(x.permute(0, 3, 1, 2), y.long())]), args.device)


def _resident_batch() -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    return rng.standard_normal((BATCH, 224, 224, 3), np.float32), rng.integers(0, CLASSES, BATCH).astype(
        np.int32
    )


def pipeline(args: argparse.Namespace, workers: int, on_card: bool = False) -> Any:
    """What a user writes; nothing is tuned."""
    import millrace.dataset as ds
    from millrace.dataset import vision

    ops: list[Any] = [vision.Decode(), vision.RandomResizedCrop(224), vision.RandomHorizontalFlip()]
    data = ds.ImageFolderDataset(args.folder, shuffle=True)
    data = data.map(
        [*ops, vision.Normalize(MEAN, STD)], "image", num_parallel_workers=workers, offload=on_card or None
    )
    return data.batch(BATCH, drop_remainder=True)


def millrace(workers: int, on_card: bool = False, wire: bool | None = None) -> Callable[..., dict[str, Any]]:
    def contestant(args: argparse.Namespace) -> dict[str, Any]:
        import millrace.dataset as ds

        if wire is not None:
            ds.config.set_auto_offload(wire)
        step = our_step(args.device)
        data = pipeline(args, workers, on_card)
        target = None if args.device == "cpu" else "GPU"
        with data.create_device_iterator(target, as_dict=False) as batches:
            rows = endless(lambda: batches)
            made = fed(step, rows, args.device)
            if args.device != "cpu" and wire is None:
                made["idle"] = _idle(step, rows, batches)
            report = batches.report()
            made |= {
                name: report[name]
                for name in ("wait_share", "device_idle_share", "verdict")
                if name in report
            }
            made["seconds"] = {name: round(value, 3) for name, value in report["seconds"].items()}
            made["batches"] = report["have_sent"]
            split = getattr(batches._feed._mover, "card", None)
            if split is not None and split.split is not None:
                made["host_share_of_decoding"] = split.split.share
        return made

    return contestant


def _idle(step: Step, rows: Iterator[Any], batches: Any) -> dict[str, Any]:
    """The idle share over some steps: what the sink says, and the gaps between kernels that the profiler saw."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for x, y in (next(rows) for _ in range(PROFILED)):  # what lay in the rings while the profiler started
            step(x, y)
        x, y = next(rows)
        torch.cuda.synchronize()
        before = batches.report()["device_seconds"]  # from its first batch to its last
        torch.cuda._sleep(10_000)  # type: ignore[no-untyped-call]
        for _ in range(PROFILED - 1):
            step(x, y)
            x, y = next(rows)
        step(x, y)
        torch.cuda.synchronize()
    after = batches.report()["device_seconds"]
    events = [
        (event.start_ns(), event.end_ns(), event.device_resource_id(), event.name())
        for event in profiler.profiler.kineto_results.events()
        if event.device_type() == torch.autograd.DeviceType.CUDA
    ]
    aside = {stream for _, _, stream, name in events if "emcpy HtoD" in name}  # where batches are moved
    begun = max(stop for _, stop, _, name in events if "spin_kernel" in name)
    busy, gaps, end = 0.0, 0.0, begun
    for start, stop, stream, _ in sorted(events):
        if start < begun or stream in aside:
            continue
        if start - end > 100_000:  # nanoseconds: between steps, not between kernels of one
            gaps += start - end
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    whole = (end - begun) - busy / PROFILED  # without the last step, which the sink does not see the end of
    idle, span = after["idle"] - before["idle"], after["whole"] - before["whole"]
    return {
        "sink": round(idle / max(span, 1e-9), 4),
        "profiler": round(gaps / whole, 4),
        "profiler_with_gaps_inside_steps": round(1 - (1 - 1 / PROFILED) * busy / whole, 4),
        "profiled_ms": [round(whole / 1e6, 1), round(1000 * span, 1)],
    }


def plain_loop(args: argparse.Namespace) -> dict[str, Any]:
    """No sink: floats, moved when the step asks for them."""
    step = our_step(args.device)
    rows = pipeline(args, 16).create_tuple_iterator(num_epochs=-1)

    def moved() -> Iterator[Any]:
        for x, y in rows:
            yield (x.move_to("GPU"), y.move_to("GPU")) if args.device != "cpu" else (x, y)

    made = fed(step, endless(moved), args.device)
    rows.stop()
    return made


def dataloader(args: argparse.Namespace) -> dict[str, Any]:
    """PyTorch's DataLoader with torchvision's transforms, as its ImageNet example has them."""
    import torch
    from torchvision import datasets, transforms

    # decoded by Pillow, as ImageFolder does; its lines of ours are the mean and the spread
    ops = [
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD]),
    ]
    loader: Any = torch.utils.data.DataLoader(
        datasets.ImageFolder(args.folder, transforms.Compose(ops)),
        BATCH,
        shuffle=True,
        num_workers=16,
        pin_memory=args.device != "cpu",
        drop_last=True,
        persistent_workers=True,
    )

    def moved() -> Iterator[Any]:
        for x, y in loader:
            yield x.to(args.device, non_blocking=True), y.to(args.device, non_blocking=True)

    return fed(torch_step(args.device), endless(moved), args.device)


def sink_or_not(net: str) -> Callable[..., dict[str, Any]]:
    """Steps a second of ``Model.train`` with its sink and without."""

    def contestant(args: argparse.Namespace) -> dict[str, Any]:
        import millrace as ms
        import millrace.dataset as ds
        from millrace import nn, ops, train  # noqa: F401

        if args.device != "cpu":
            ms.set_context(device_target="GPU")
        ms.set_context(mode=ms.GRAPH_MODE)
        x, y = NETS[net].batch()
        count = 40 if args.device == "cpu" else 4000
        rows = {"x": np.concatenate([x] * count), "y": np.concatenate([y] * count)}
        made: dict[str, Any] = {}
        for sunk in (False, True):
            data = ds.NumpySlicesDataset(rows, shuffle=False).batch(len(x))
            model = train.Model(train_cell(ms, NETS[net].ours(ms)))
            model.train(1, data.take(20), dataset_sink_mode=sunk)
            began = time.perf_counter()
            model.train(1, data, dataset_sink_mode=sunk)
            _waiter(args.device)()
            name = "sink" if sunk else "no_sink"
            made[f"{name}_steps_per_s"] = round(count / (time.perf_counter() - began), 1)
        why = [each for row in ms.graph_report().to_dict() for each in row["uncaptured"]]
        return made | ({"uncaptured": why} if why else {})

    return contestant


CONTESTANTS: dict[str, Callable[..., dict[str, Any]]] = {
    "resident": resident,
    "millrace-16": millrace(16),
    "millrace-16-floats": millrace(16, wire=False),
    "plain-loop-16": plain_loop,
    "resident-torch": resident_torch,
    "dataloader-16": dataloader,
    "millrace-4": millrace(4),
    "millrace-4-gpu-decode": millrace(4, on_card=True),
    "lenet": sink_or_not("lenet"),
    "bert": sink_or_not("bert"),
}


# --- all of them ------------------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    if args.device == "cpu":
        _shrink()
    if args.one:
        print(json.dumps(CONTESTANTS[args.one](args)), flush=True)
        return 0
    results: dict[str, Any] = {}
    failed = False
    with tempfile.TemporaryDirectory(prefix="feed-") as folder:
        began = time.perf_counter()
        draw(folder, args.files)
        sizes = [file.stat().st_size for file in Path(folder).glob("*/*.jpg")]
        print(
            f"{len(sizes)} files of {np.mean(sizes):.0f} bytes in {time.perf_counter() - began:.1f} s",
            flush=True,
        )
        for name in args.only or CONTESTANTS:
            results[name] = made = _apart(name, folder, args)
            failed |= "error" in made
            _beside(name, made, results)
            print(f"{name:22} {json.dumps(made)}", flush=True)
            if args.json:  # after each: a run that is cut short leaves what it has
                args.json.write_text(json.dumps(_page(results, sizes), indent=1) + "\n")
    return int(failed)


def _shrink() -> None:
    """Only enough to see that everything runs."""
    global BATCH, WARM, SECONDS
    BATCH, WARM, SECONDS = 4, 1, 0.01


def _beside(name: str, made: dict[str, Any], results: dict[str, Any]) -> None:
    """The share of the rate of a batch that stays on the card, of the same step."""
    still = results.get("resident-torch" if name == "dataloader-16" else "resident", {})
    if "images_per_s" in made and "images_per_s" in still:
        made["of_resident_percent"] = round(100 * made["images_per_s"] / still["images_per_s"], 2)


def _apart(name: str, folder: str, args: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.gpu_feed", "--one", name, "--folder", folder]
    done = subprocess.run(
        [*command, "--device", args.device], capture_output=True, text=True, timeout=150, check=False
    )
    if done.returncode:
        return {"error": done.stderr.strip()[-3000:]}
    last = done.stdout.strip().splitlines()[-1]
    # verdicts name lines of this file: from the repository on, since the page is kept there
    made: dict[str, Any] = json.loads(last.replace(f"{Path(__file__).resolve().parents[1]}{os.sep}", ""))
    return made


def _page(results: dict[str, Any], sizes: list[int]) -> dict[str, Any]:
    import torch

    return {
        "by": "python -m benchmarks.gpu_feed",
        "made": datetime.date.today().isoformat(),
        "on": f"{torch.cuda.get_device_name() if torch.cuda.is_available() else 'no GPU'}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "files": [len(sizes), round(float(np.mean(sizes)))],
        "results": results,
    }


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(CONTESTANTS), help="these contestants")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--files", type=int, default=30_000)
    parser.add_argument("--json", type=Path, help="write what was measured there")
    parser.add_argument("--one", choices=list(CONTESTANTS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
