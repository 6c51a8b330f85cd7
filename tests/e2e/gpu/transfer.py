"""The sink where a GPU is: what it moves and computes there is what the host gives; its waiting is what the card saw.

PYTHONPATH=src python -m tests.e2e.gpu.transfer --json tests/e2e/gpu/transfer.json        # where a GPU is

Ends with 1 where something is wrong. Every pipeline of tests/unit/transfer/offload_cases.py goes to the card
and is compared with the host's rows, bit for bit, or within the bound that its step states.
"""

from __future__ import annotations

import argparse
import datetime
import io
import itertools
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import millrace as ms
import millrace.dataset as ds
from millrace.dataset import vision
from tests.unit.transfer.offload_cases import ASKED, EXACT, folder, pictures, sized

# A mean difference, in levels of 255, of decoding by nvJPEG: see data/transforms/card.py.
JPEG_MEAN = 3.0


def rows(data: Any, gpu: bool) -> list[Any]:
    """Two epochs, on the host or by way of the card."""
    ds.config.set_seed(11)
    if not gpu:
        source = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
        return [list(row) for _ in range(2) for row in source]
    with data.create_device_iterator("GPU", 2, as_dict=False, output="torch") as batches:
        made = []
        for _ in range(2):
            for batch in batches:
                assert all(value.is_cuda for value in batch)
                made.append([value.cpu().numpy() for value in batch])
        return made


def apart(data: Any) -> float:
    """The largest difference between host and card; 0 for the same bits."""
    most = 0.0
    for host, card in zip(rows(data, False), rows(data, True), strict=True):
        for one, other in zip(host, card, strict=True):
            if (one.shape, one.dtype) != (other.shape, other.dtype):
                return float("inf")
            if one.tobytes() != other.tobytes():
                gap = np.abs(one.astype(np.float64) - other.astype(np.float64)).max()
                most = max(most, float(gap), 1e-30)
    return most


def same_bits() -> dict[str, Any]:
    found: dict[str, float] = {}
    for name, ops in EXACT.items():
        for dtype in (np.uint8, np.float32, np.int16):
            data = pictures(10, dtype=dtype).map(ops(), "image").batch(4)
            found[f"{name}, {np.dtype(dtype).name}"] = apart(data)
    for name, ops in ASKED.items():
        found[name] = apart(pictures().map(ops(), "image", offload=True).batch(4))
    part = [vision.RandomResizedCrop((16, 12)), vision.RandomHorizontalFlip(), vision.ToTensor()]
    found["different sizes"] = apart(sized().map(part, "image", offload=True).batch(4))
    wrong = {name: gap for name, gap in found.items() if gap}
    return {"ok": not wrong, "pipelines": len(found), "wrong": wrong}


def blends() -> dict[str, Any]:
    found = {}
    for kind in (vision.AdjustContrast, vision.AdjustSaturation):
        gaps = [apart(pictures().map(kind(f), "image", offload=True).batch(4)) for f in (0.0, 0.4, 1.83)]
        found[kind.__name__] = max(gaps)
    return {"ok": max(found.values()) <= 1, "most": found}


def jpegs() -> dict[str, Any]:
    """Decoded by nvJPEG and cut out on the card."""
    with tempfile.TemporaryDirectory() as where:
        folder(Path(where), 8)
        _photograph(Path(where) / "a" / "8.jpg")
        data = ds.ImageFolderDataset(where, shuffle=False)
        ops = [vision.Decode(), vision.RandomResizedCrop(32), vision.RandomHorizontalFlip()]
        data = data.map(ops, "image", offload=True).batch(3)
        gaps = [
            np.abs(host[0].astype(int) - card[0].astype(int)).mean((1, 2, 3))
            for host, card in zip(rows(data, False), rows(data, True), strict=True)
        ]
    each = np.concatenate(gaps)
    smooth = float(each.reshape(2, -1)[:, -1].max())  # noise apart, as photographs are
    return {"ok": smooth <= JPEG_MEAN, "mean_of_a_photograph": smooth, "mean_of_noise": float(each.max())}


def _photograph(path: Path) -> None:
    down, across = np.mgrid[:90, :120]
    waves = [np.sin(down / 9 + across / 14 + c) * 80 + 128 for c in range(3)]
    vision.write_jpeg(str(path), np.stack(waves, -1).astype(np.uint8), 90)


def idle() -> dict[str, Any]:
    """A device that is busy for a known time, and waits for a known one, says so; and so does PyTorch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    ms.set_context(device_target="GPU")
    work = torch.ones(4096, 4096, device="cuda")

    def step() -> None:
        for _ in range(8):
            torch.mm(work, work)

    def timed(count: int) -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        return (time.perf_counter() - began) / count

    timed(3)
    busy = timed(20)
    found = {}
    for times in (1.2, 3.0):
        slow = _Slow(times * busy)
        data = ds.NumpySlicesDataset(np.arange(64, dtype=np.float32), shuffle=False)
        data = data.map(slow, num_parallel_workers=1).batch(1)
        with data.create_device_iterator("GPU", 1) as batches:
            with profile(activities=[ProfilerActivity.CUDA]) as profiler:
                next(batches)
                torch.cuda.synchronize()
                batches.report()
                for _ in range(62):
                    step()
                    next(batches)
                torch.cuda.synchronize()
            share = batches.report()["device_idle_share"]
        spans = sorted(
            (event.time_range.start, event.time_range.end)
            for event in profiler.events()
            if event.device_type == torch.autograd.DeviceType.CUDA and "emcpy" not in event.name
        )
        gaps = sum(max(0.0, b[0] - a[1]) for a, b in itertools.pairwise(spans))
        # the last wait has no kernel behind it
        found[f"{times:g} times the step"] = [share, gaps / (spans[-1][1] - spans[0][0]), 1 - 1 / times]
    return {"ok": all(abs(a - b) < 0.01 for a, b, _ in found.values()), "sink, profiler, planted": found}


class _Slow:
    """A row takes so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, x: Any) -> Any:
        time.sleep(self.seconds)
        return x


def a_model() -> dict[str, Any]:
    """Weights after a training whose pictures are normalised on the card, and on the host."""
    from millrace import nn, train

    def learned(moves: bool | None) -> Any:
        ds.config.set_auto_offload(bool(moves)) if moves is not None else None
        ms.set_seed(3)
        ds.config.set_seed(3)
        net = nn.SequentialCell(nn.Flatten(), nn.Dense(24 * 30 * 3, 10))
        model = train.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 1e-3, 0.9))
        data = pictures(40).map([vision.RandomHorizontalFlip(), vision.ToTensor()], "image")
        data = data.map(lambda y: (y % 10).astype(np.int32), "label").batch(8)
        model.train(2, data, dataset_sink_mode=True)
        return [weight.asnumpy() for weight in net.trainable_params()]

    ms.set_context(device_target="GPU", deterministic="ON")
    first, second = learned(None), learned(False)
    return {"ok": all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))}


CHECKS: dict[str, Callable[[], dict[str, Any]]] = {
    "the same bits": same_bits,
    "blended colours": blends,
    "nvJPEG": jpegs,
    "device idle": idle,
    "a model": a_model,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write what was found there")
    args = parser.parse_args()
    found: dict[str, Any] = {}
    for name, check in CHECKS.items():
        try:
            found[name] = check()
        except Exception:
            text = io.StringIO()
            traceback.print_exc(file=text)
            found[name] = {"ok": False, "error": text.getvalue()[-3000:]}
        print(f"{name:20} {json.dumps(found[name])}", flush=True)
    page = {
        "by": "python -m tests.e2e.gpu.transfer",
        "made": datetime.date.today().isoformat(),
        "on": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "checks": found,
    }
    if args.json:
        args.json.write_text(json.dumps(page, indent=1) + "\n")
    return int(not all(each["ok"] for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
