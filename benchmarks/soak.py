"""A soak: hours' worth of opening, killing, damaging, restarting and resuming, and what the process holds after it.

python benchmarks/soak.py --minutes 5 --page docs/design/soak.md     # writes benchmarks/soak.json and the page
python benchmarks/soak.py --minutes 480 --out /tmp/soak.json

One process on two cores. Each turn does one thing of the table below at random, checks its rows, and lets everything
go. After a turn the process is measured: resident memory, threads, descriptors, child processes, blocks in /dev/shm. It
fails when anything but memory is higher at the end than after the warm-up, or memory has grown by more than ``--grown``
MB.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:1] = [str(HERE.parent)]

import numpy as np  # noqa: E402

import millrace as ms  # noqa: E402
import millrace.dataset as ds  # noqa: E402
from benchmarks import machine  # noqa: E402
from millrace import log  # noqa: E402
from millrace.core.errors import MillraceError  # noqa: E402
from millrace.mindrecord import FileWriter  # noqa: E402
from tests.cache_server import PORT, CacheHome  # noqa: E402
from tests.leaks import Footprint  # noqa: E402

ROWS = 240
NAMES = {
    "memory_mb": "resident memory, MB",
    "threads": "threads",
    "descriptors": "descriptors",
    "processes": "child processes",
    "shared_blocks": "blocks of shared memory",
}


class Squares:
    """A user's dataset."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        return np.full(2000, index * index, np.float32)


def add_one(x: Any) -> Any:
    return x + 1


class Soak:
    """The things that a turn may do; each checks what it got."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.home = CacheHome()
        os.environ["XDG_RUNTIME_DIR"] = self.home.env["XDG_RUNTIME_DIR"]
        self.server = self.home.start()
        self.record = folder / "x.mindrecord"
        writer = FileWriter(str(self.record))
        writer.add_schema({"n": {"type": "int32"}, "b": {"type": "bytes"}})
        writer.write_raw_data([{"n": n, "b": bytes([n % 256]) * 3000} for n in range(ROWS)])
        writer.commit()
        self.whole: bytes | None = None

    def close(self) -> None:
        self.home.close()

    def pipeline(self, processes: bool, shuffle: bool = True) -> ds.Dataset:
        data = ds.GeneratorDataset(Squares(), ["x"], shuffle=shuffle, num_parallel_workers=2)
        return data.map(add_one, "x", python_multiprocessing=processes, num_parallel_workers=2).batch(8)

    def open_and_close(self) -> None:
        """A pipeline on threads or worker processes, read to the end, left in the middle, or never begun."""
        data = self.pipeline(processes=self.draw.random() < 0.4)
        rows = data.create_dict_iterator(num_epochs=1, output_numpy=True)
        last = self.draw.choice((0, 3, ROWS))
        seen = [int(v) for _, row in zip(range(last), rows) for v in row["x"][:, 0]]
        if last == ROWS:
            assert sorted(seen) == sorted(int(np.float32(n * n + 1)) for n in range(ROWS))

    def kill_a_worker(self) -> None:
        """A worker process is killed in the middle of an epoch: another takes its place, and every row comes once."""
        before = set(Footprint.take().processes)
        data = self.pipeline(processes=True, shuffle=False)
        rows = data.create_dict_iterator(num_epochs=1, output_numpy=True)
        seen = list(next(rows)["x"][:, 0])
        workers = sorted(set(Footprint.take().processes) - before)
        if workers:
            os.kill(self.draw.choice(workers), signal.SIGKILL)
        seen += [v for row in rows for v in row["x"][:, 0]]
        assert [int(v) for v in seen] == [int(np.float32(n * n + 1)) for n in range(ROWS)]

    def damage_a_file(self) -> None:
        """A record file is damaged: reading it gives an error that names it, or rows; a whole one is read next."""
        copy = self.folder / "damaged.mindrecord"
        for end in ("", ".db"):
            shutil.copy(f"{self.record}{end}", f"{copy}{end}")
        size = copy.stat().st_size
        with open(copy, "r+b") as file:
            if self.draw.random() < 0.3:
                file.truncate(self.draw.randrange(size))
            else:
                file.seek(self.draw.randrange(size))
                file.write(self.draw.randbytes(64))
        try:
            data = ds.MindDataset(str(copy), shuffle=False)
            list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
        except (MillraceError, RuntimeError, ValueError) as error:
            if "damaged.mindrecord" not in str(error):
                raise
        good = ds.MindDataset(str(self.record), shuffle=True)
        rows = good.create_dict_iterator(num_epochs=1, output_numpy=True)
        assert sorted(int(row["n"]) for row in rows) == list(range(ROWS))

    def restart_the_cache(self) -> None:
        """The cache server is killed or stopped, started again, and holds the rows of two epochs."""
        if self.draw.random() < 0.5:
            os.kill(self.server, signal.SIGKILL)
        else:
            self.home.run("dataset-cache", "--stop")
        self.server = self.home.start()
        cache = ds.DatasetCache(session_id=self.home.session(), size=0, port=PORT)
        for _ in range(2):
            data = (
                ds.GeneratorDataset(Squares(), ["x"], shuffle=False).map(add_one, "x", cache=cache).batch(8)
            )
            rows = data.create_dict_iterator(num_epochs=1, output_numpy=True)
            assert sum(len(row["x"]) for row in rows) == ROWS

    def resume_a_training(self) -> None:
        """A training is ended in its middle and goes on from its checkpoint to the bits of a whole one."""
        from millrace import nn
        from millrace.train import CheckpointConfig, Model, ModelCheckpoint

        def train(epochs: int, folder: Path, **options: Any) -> bytes:
            ms.set_seed(1)
            x = np.linspace(0, 1, 64, dtype=np.float32).reshape(32, 2)
            data = ds.NumpySlicesDataset({"x": x, "y": x[:, :1]}, shuffle=True).batch(4)
            net = nn.Dense(2, 1)
            model = Model(net, nn.MSELoss(), nn.Adam(net.trainable_params()))
            keep = ModelCheckpoint("r", str(folder), CheckpointConfig(4, keep_checkpoint_max=2))
            model.train(epochs, data, callbacks=keep, **options)
            return bytes(net.weight.asnumpy().tobytes())

        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        if self.whole is None:
            self.whole = train(3, self.folder / "whole")
        train(1, folder)
        assert train(3, folder, resume=str(folder)) == self.whole

    def turns(self) -> list[Callable[[], None]]:
        rare: list[Callable[[], None]] = [self.restart_the_cache, self.resume_a_training]
        return [*[self.open_and_close] * 3, self.kill_a_worker, self.damage_a_file, *rare]


def measured() -> dict[str, float]:
    """What this process holds now."""
    gc.collect()
    held = Footprint.take()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return {
        "memory_mb": round(resident, 1),
        "threads": len(held.threads),
        "descriptors": len(held.descriptors),
        "processes": len(held.processes),
        "shared_blocks": len([name for name in held.shared if "millrace" in name or "mr-" in name]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--grown", type=float, default=25.0, help="MB that memory may have grown by after the warm-up"
    )
    parser.add_argument("--out", type=Path, default=HERE / "soak.json")
    parser.add_argument("--page", type=Path, help="write the page of the documentation there")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    log.set_level("error")  # a pipeline that is never read is no news here
    began = time.monotonic()
    samples: list[dict[str, float]] = []
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="millrace-soak-") as folder:
        soak = Soak(Path(folder), args.seed)
        try:
            for turn in {turn.__name__: turn for turn in soak.turns()}.values():
                turn()  # what is loaded once is loaded
            first = Footprint.take()
            while time.monotonic() - began < args.minutes * 60:
                turn = soak.draw.choice(soak.turns())
                try:
                    turn()
                except Exception:
                    failures.append(f"{turn.__name__}: {traceback.format_exc(limit=3)}")
                counts[turn.__name__] += 1
                samples.append({"seconds": round(time.monotonic() - began, 1), **measured()})
            left = first.wait_until_back(30)
        finally:
            soak.close()
    results = summary(samples, counts, failures, left, args)
    args.out.write_text(json.dumps(results, indent=1) + "\n")
    if args.page:
        args.page.write_text(page(results))
    print(json.dumps({name: value for name, value in results.items() if name != "samples"}, indent=1))
    return 0 if results["flat"] and not failures else 1


def summary(
    samples: list[dict[str, float]],
    counts: Counter[str],
    failures: list[str],
    left: list[str],
    args: argparse.Namespace,
) -> dict[str, Any]:
    """The first quarter is warm-up; the second is held against the last."""
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter] or samples, samples[-quarter:]
    table = {
        name: {
            "after warm-up": round(statistics.median(s[name] for s in early), 1),
            "at the end": round(statistics.median(s[name] for s in late), 1),
            "most": max(s[name] for s in samples),
        }
        for name in NAMES
    }
    grown = table["memory_mb"]["at the end"] - table["memory_mb"]["after warm-up"]
    # Another socket may have the number of an old one, to a server that was started since: their number is what counts.
    others = [line for line in left if not line.startswith("descriptor") and "cache" not in line]
    steady = all(
        values["at the end"] <= values["after warm-up"]
        for name, values in table.items()
        if name != "memory_mb"
    )
    return {
        "machine": machine.describe(),
        "minutes": args.minutes,
        "turns": dict(sorted(counts.items())),
        "failures": failures,
        "left": others,
        "held": table,
        "flat": steady and grown <= args.grown and not others,
        "samples": samples[:: max(1, len(samples) // 200)],
    }


def page(results: dict[str, Any]) -> str:
    turns = "\n".join(
        f"| `{name}` | {str(getattr(Soak, name).__doc__).strip()} | {count} |"
        for name, count in results["turns"].items()
    )
    held = "\n".join(
        f"| {NAMES[name]} | {v['after warm-up']:g} | {v['at the end']:g} | {v['most']:g} |"
        for name, v in results["held"].items()
    )
    where = results["machine"]
    return f"""# The soak

**Question:** what does a process hold after hours of pipelines opened and closed, workers killed, files damaged, cache
servers restarted and trainings resumed?

`python benchmarks/soak.py --minutes {results["minutes"]:g} --page docs/design/soak.md` wrote this page: one process,
{where["cores"]} cores ({where["cpu"]}), load {where["load_before"]} at its start. Every turn checks its rows;
{len(results["failures"])} of {sum(results["turns"].values())} turns failed.

| turn | what happens | times |
|---|---|---|
{turns}

The first quarter of the turns is warm-up; the medians of the second and of the last are compared.

| held by the process | after warm-up | at the end | most after any turn |
|---|---|---|---|
{held}

{"Nothing was left behind." if not results["left"] else "Left behind: " + "; ".join(results["left"])}
A turn works a few seconds where a training works for hours: what leaks once for each pipeline, worker, server or
checkpoint shows here as it would in {sum(results["turns"].values())} of them. Memory that grows with the number of rows
does not show; the [note on scale](2026-11-16-scale.md) looks at that.
"""


if __name__ == "__main__":
    sys.exit(main())
