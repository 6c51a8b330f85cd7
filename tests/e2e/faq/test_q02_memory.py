"""Q02: in the process of using Dataset to process data, the memory consumption is high. How to optimize it?"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import millrace.dataset as ds

# Prints: batches, resident memory at the peak above the base, bytes of the largest batch, the engine's own count.
MEASURE = """
    import gc, json, sys
    import numpy as np
    import millrace.dataset as ds

    def status(key):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":"))

    def run(data):
        largest = count = 0
        for row in data.create_dict_iterator(num_epochs=1, output_numpy=True):
            largest = max(largest, sum(value.nbytes for value in row.values()))
            count += 1
        return count, largest

    def measure(make, rows):
        ds.config.set_memory_budget("64MB")
        run(make(8))  # loads every library and starts every pool, so that they belong to the base
        gc.collect()
        data = make(rows)
        base = status("VmRSS")
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the high-water mark starts again from here
        batches, batch = run(data)
        report = data.report()
        print(json.dumps({"batches": batches, "peak": status("VmHWM") - base, "batch": batch,
                          "counted": report.peak_bytes, "limit": report.budget_bytes, "text": str(report)}))
"""

SHUFFLE = """
    def make(rows):
        def source():
            for i in range(rows):
                yield np.full(16384, i, np.float32), np.int32(i)
        return ds.GeneratorDataset(source, ["x", "i"]).shuffle(buffer_size=3000).batch(32)

    measure(make, 4000)  # the buffer alone would be 197 MB
"""

DECODE = """
    import cv2
    noise = np.arange(375 * 500 * 3, dtype=np.uint32) * 2654435761 >> 24
    jpeg = cv2.imencode(".jpg", noise.astype(np.uint8).reshape(375, 500, 3))[1].tobytes()

    def decode(data):
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        return cv2.resize(image, (224, 224)).astype(np.float32).transpose(2, 0, 1)

    class Images:
        def __init__(self, rows):
            self.rows = rows
        def __getitem__(self, index):
            return jpeg, np.int32(index)
        def __len__(self):
            return self.rows

    def make(rows):
        data = ds.GeneratorDataset(Images(rows), ["image", "label"], shuffle=True)
        return data.map(decode, input_columns="image", num_parallel_workers=8).batch(32)

    measure(make, 800)  # 12 batches of 19 MB
"""


def measured(code: str) -> dict:
    import json

    text = textwrap.dedent(MEASURE) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("code", "batches"), [(SHUFFLE, 125), (DECODE, 25)], ids=["shuffle-heavy", "decode-heavy"]
)
def test_one_number_is_enforced(code: str, batches: int) -> None:
    got = measured(code)
    assert got["batches"] == batches
    assert got["limit"] == 64_000_000
    allowed = 64_000_000 + got["batch"]
    assert got["counted"] <= allowed
    assert got["peak"] <= allowed, (
        f"{got['peak'] / 1e6:.1f} MB above the base, allowed {allowed / 1e6:.1f} MB"
    )
    # the peak is reported, as a number and in the text
    assert got["counted"] > 0
    assert f"held at most {got['counted'] / 1e6:.1f} MB of 64.0 MB" in got["text"]


def test_the_rows_are_the_same_with_a_budget() -> None:
    """A smaller budget may slow a run, never change it: shuffle as indices, work under way, batches."""
    ds.config.set_seed(1)
    rows = np.arange(600 * 500, dtype=np.float32).reshape(600, 500)

    def batches() -> list[np.ndarray]:
        data = ds.NumpySlicesDataset(rows, ["x"], shuffle=True).map(lambda x: x + 1, "x").batch(16)
        return [batch["x"] for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True)]

    free = batches()
    ds.config.set_memory_budget("100KB")
    assert all(np.array_equal(one, two) for one, two in zip(free, batches(), strict=True))


def test_steps_of_the_faq_still_work() -> None:
    """The five knobs the page names, as written there."""
    ds.config.set_prefetch_size(2)
    dataset = ds.GeneratorDataset(range(40), ["x"], num_parallel_workers=1, shuffle=False)
    dataset = dataset.map(lambda x: x * 2, input_columns=["x"], num_parallel_workers=1)
    dataset = dataset.shuffle(buffer_size=4)
    dataset = dataset.batch(8, num_parallel_workers=1)
    assert ds.config.get_prefetch_size() == 2
    values = [batch["x"] for batch in dataset.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert sorted(np.concatenate(values).tolist()) == list(range(0, 80, 2))


@pytest.mark.parametrize(
    ("given", "kept"),
    [("2GB", 2 * 10**9), ("1.5GiB", 3 << 29), ("64MB", 64 * 10**6), (10**9, 10**9), (None, None)],
)
def test_how_the_number_may_be_written(given, kept) -> None:
    ds.config.set_memory_budget(given)
    assert ds.config.get_memory_budget() == kept


@pytest.mark.parametrize("given", ["much", "2 bananas", -1, 1.5, []])
def test_a_wrong_number_says_how(given) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        ds.config.set_memory_budget(given)
    assert "2GiB" in str(caught.value) or "budget" in str(caught.value)
