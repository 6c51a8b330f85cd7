"""The history of a training of any length, as a recorder would have written it: for tests, pictures, measurements.

python -m tests.unit.observe.live.long_run FILE [SECONDS]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from millrace._src.observe.live.event_log import EventLogWriter

__all__ = ["write_run"]

STAGES = [
    ("ImageFolderDataset + map(Decode, RandomCrop) + batch", "train.py:31", "12 processes", 12, "batch", 1),
    ("map(mixup)", "train.py:38", "2 threads", 2, "batch", 2),
    ("repeat", "train.py:40", "barrier", 1, "batch", None),
]
OPS = [
    ["ImageFolderDataset", "map(RandomCropDecodeResize)", "map(RandomHorizontalFlip)", "batch"],
    ["map(mixup)"],
    [],
]
SHARES = [[0.07, 0.81, 0.04, 0.08], [1.0], []]
BATCH = 256


def write_run(
    path: Path, seconds: float = 3600.0, interval: float = 0.25, over: bool = True
) -> EventLogWriter:
    """Write it; the book is closed where the run is over."""
    book = EventLogWriter(
        path, {"started": 1794830000.0, "program": "train.py", "rank": None, "pid": 4242, "host": "node1"}
    )
    stages = [
        {
            "name": name,
            "place": place,
            "on": on,
            "working": n,
            "unit": unit,
            "queue": name != "repeat",
            "feeds": feeds,
            "ops": ops,
        }
        for (name, place, on, n, unit, feeds), ops in zip(STAGES, OPS, strict=True)
    ]
    book.add({"is": "pipeline", "t": 0.0, "pipeline": 1, "limit": 12_000_000_000, "stages": stages})
    run = _Run()
    count = int(seconds / interval)
    for number in range(1, count + 1):
        run.go(book, number * interval, interval, seconds, last=over and number == count)
        if number % 8 == 0:
            book.flush()
        if number % 400 == 40:
            book.add({"is": "verdict", "t": number * interval, "pipeline": 1, **_verdict()})
    book.add({"is": "verdict", "t": seconds, "channel": 1, **_sink_verdict()})
    book.flush()
    if over:
        book.add({"is": "end", "t": seconds, "pipeline": 1})
        book.add({"is": "over", "t": seconds, "why": ""})
        book.close()
    return book


class _Run:
    """Counters that go up as those of a training do: a slow start, waves, a disk that stalls now and then."""

    def __init__(self) -> None:
        self.images = self.waited = self.stepping = self.batches = 0.0
        self.busy = [0.0, 0.0, 0.0]

    def go(self, book: EventLogWriter, t: float, dt: float, whole: float, last: bool) -> None:
        stall = 0.5 if 0.52 < t / whole < 0.56 else 0.0
        share = 0.11 + 0.05 * math.sin(t / whole * 25) + 0.02 * math.sin(t * 1.7) + stall
        rate = 4730 * (1 - share)
        self.images += rate * dt
        self.batches = self.images / BATCH
        self.waited += share * dt
        self.stepping += (1 - share) * dt
        for place, busy in enumerate((11.4, 0.5, 0.02)):
            self.busy[place] += busy * dt * (1 - stall * 0.5)
        fill = [0.0 if stall else 0.18 + 0.1 * math.sin(t), 0.3 + 0.15 * math.sin(t / 3), 0.0]
        batches, epoch = int(self.batches), int(self.images / 1_281_167) + 1
        pipeline: dict[str, Any] = {
            "rows": int(self.images), "batches": batches, "epochs": epoch - 1, "waited": self.waited * 0.8,
            "between": self.stepping + self.waited * 0.2, "given": [batches] * 3, "busy": self.busy,
            "cpu": [b * 0.93 for b in self.busy],
            "op_busy": [[b * s for s in shares] for b, shares in zip(self.busy, SHARES, strict=True)],
            "wait_in": [self.waited * 0.7, self.waited * 0.8, 0.0], "wait_out": [0.0, 0.0, 0.0],
            "held": 0 if last else int(1.9e9 + 4e8 * math.sin(t / 7)), "peak": 2_400_000_000, "fill": fill,
        }  # fmt: skip
        ring = 0 if stall else max(0, min(8, round(2 + 2 * math.sin(t / 2))))
        channel = {
            "name": "sink-1", "device": "cuda:0", "of": 1, "sent": batches, "taken": max(0, batches - ring),
            "bytes": batches * 38_535_168, "data": self.waited + 0.7 * t, "moving": 0.05 * t, "full": 0.05 * t,
            "waited": self.waited, "stepping": self.stepping, "host": min(8, ring + 1), "host_slots": 8, "ring": ring,
            "ring_slots": 8, "ended": "",
        }  # fmt: skip
        loss = 6.9 * math.exp(-3.2 * t / whole) + 0.9 + 0.06 * math.sin(t * 9.1) * math.exp(-t / whole)
        training = {
            "of": 1, "network": "ResNet50", "seconds": t, "waited": self.waited, "steps": batches, "step": batches,
            "epoch": epoch, "epochs": 90, "steps_in_epoch": 5004, "loss": loss,
            "rate": 0.4 * min(1.0, t / (0.06 * whole)) * (0.5 + 0.5 * math.cos(2.6 * t / whole)), "over": last,
        }  # fmt: skip
        for word, point in (("pipeline", pipeline), ("channel", channel), ("training", training)):
            book.add({"is": "point", "t": round(t, 3), word: 1, **{k: _short(v) for k, v in point.items()}})


def _short(value: Any) -> Any:
    return (
        [_short(one) for one in value]
        if isinstance(value, list)
        else round(value, 4)
        if isinstance(value, float)
        else value
    )


def _verdict() -> dict[str, Any]:
    return {
        "kind": "too few workers", "stage": "map(RandomCropDecodeResize)", "place": "train.py:33", "guilty": [0],
        "op": 1,
        "evidence": ["its 12 processes were busy 95% of the time", "2.3 ms for each row, 94% of it computing",
                     "16 cores are there and 12 work on it"],
        "advice": "Let every core work on it", "call": ".map(RandomCropDecodeResize, ..., num_parallel_workers=16)",
        "now": 4150.0, "predicted": 4730.0,
    }  # fmt: skip


def _sink_verdict() -> dict[str, str]:
    return {
        "situation": "data slow",
        "stage": "map(RandomCropDecodeResize)",
        "evidence": "steps waited 13% of the time; the pipeline took 61.6 ms a batch, a step 54.1 ms",
        "advice": "Make data faster: dataset.report() names the slowest stage; more workers, or a cache",
    }


if __name__ == "__main__":
    write_run(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 3600.0)
