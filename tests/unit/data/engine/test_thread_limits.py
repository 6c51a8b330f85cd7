"""One memory number, enforced: the measured peak stays within the budget plus one batch."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest
import threadpoolctl

import millrace.dataset as ds
from millrace._src.data.engine import thread_limits as engine_budget

# Allocator slack and thread stacks that belong to no chunk.
SLACK = 24 << 20

PROGRAM = """
import gc, json, os
import numpy as np
import millrace.dataset as ds

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def peak():
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024

ds.config.set_memory_budget(BUDGET)
PIPELINE
# warm up libraries on a tiny run, then forget the peak so far
for row in make(40).create_tuple_iterator(num_epochs=1, output_numpy=True):
    del row
gc.collect()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
base = resident()
batch = 0
count = 0
data = make(ROWS)
for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
    batch = max(batch, sum(value.nbytes for value in row))
    count += 1
    del row
print(json.dumps({"above": peak() - base, "batch": batch, "rows": count, "held": data.report().peak_bytes}))
"""

SHUFFLE_HEAVY = """
def rows(n):
    def generate():
        for i in range(n):
            yield np.full((256, 1024), i, np.float32)
    return generate

def make(n):
    return ds.GeneratorDataset(rows(n), "x").shuffle(10000).batch(4)
"""

DECODE_HEAVY = """
class Images:
    def __init__(self, n): self.n = n
    def __getitem__(self, i): return np.uint8(i % 256)
    def __len__(self): return self.n

def decode(x):
    return np.broadcast_to(x, (512, 512, 3)).astype(np.float32)

def make(n):
    return ds.GeneratorDataset(Images(n), "x").map(decode, num_parallel_workers=8).batch(4)
"""


@pytest.mark.parametrize("pipeline", [SHUFFLE_HEAVY, DECODE_HEAVY], ids=["shuffle-heavy", "decode-heavy"])
@pytest.mark.parametrize("budget", [64, 200])
def test_peak_stays_within_the_budget(pipeline: str, budget: int) -> None:
    code = PROGRAM.replace("PIPELINE", pipeline).replace("BUDGET", f"'{budget}MiB'").replace("ROWS", "600")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["rows"] == 150
    assert seen["above"] <= (budget << 20) + seen["batch"] + SLACK, seen
    print(seen)
    assert 0 < seen["held"] <= (budget << 20) + 2 * seen["batch"], seen


LARGE_ROWS = """
class Volumes:
    def __getitem__(self, i): return np.full((16, 1024, 1024), i, np.uint8)
    def __len__(self): return 8

ds.config.set_prefetch_size(1)

def make(n):
    return ds.GeneratorDataset(Volumes(), "x", shuffle=False)
"""


def test_the_first_chunk_is_one_row() -> None:
    """Of a source whose rows are large nobody knew: eight of them were read at once, and held twice."""
    code = PROGRAM.replace("PIPELINE", LARGE_ROWS).replace("BUDGET", "'8GiB'").replace("ROWS", "8")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["rows"] == 8
    assert seen["above"] <= 5 * seen["batch"] + SLACK, seen


def test_caps_that_could_not_be_set_are_not_held(monkeypatch):
    """A worker that cannot limit the libraries works without; nobody waits for it to give the limits back."""

    def fail(controller):
        raise OSError("no libraries to limit")

    monkeypatch.setattr(engine_budget, "_caps", engine_budget._ThreadPoolLimits())
    monkeypatch.setattr(engine_budget, "_clear_controlling_thread", fail)
    data = ds.NumpySlicesDataset(list(range(4)), shuffle=False).map(lambda x: x + 1, num_parallel_workers=2)
    assert [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)] == [
        1,
        2,
        3,
        4,
    ]
    assert engine_budget._caps._users == 0


def test_a_worker_gives_back_the_caps_that_it_took(monkeypatch):
    before = engine_budget._caps
    users = before._users
    with engine_budget.limit_library_threads():
        monkeypatch.setattr(engine_budget, "_caps", engine_budget._ThreadPoolLimits())
    assert (before._users, engine_budget._caps._users) == (users, 0)


def test_libraries_stay_limited_while_new_ones_are_looked_for(monkeypatch):
    """Other workers are at work meanwhile."""

    def most() -> int:
        pools = threadpoolctl.threadpool_info()
        return max(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")

    caps, seen, look = engine_budget._ThreadPoolLimits(), [], engine_budget.find_thread_pools
    monkeypatch.setattr(engine_budget, "find_thread_pools", lambda: (seen.append(most()), look()))
    with threadpoolctl.threadpool_limits(3, user_api="blas"):
        look()
        caps.enter(1)
        caps.limit_new_libraries()
        seen.append(most())
        caps.leave()
        assert most() == 3
    assert seen[-2:] == [1, 1]
