"""Your own dataset, read and transformed by worker processes.

An object with __getitem__ and __len__ is all it takes. Python code that holds the GIL runs in processes; there is
no need for a __main__ guard, and functions, lambdas and classes of the script may be used as they are.

Run it with: python examples/custom_dataset.py
"""

import itertools
import math
import os

import numpy as np

import millrace.dataset as ds


class Signals:
    """Noisy sine waves; the label is how many times each one swings."""

    def __init__(self, rows, length=256):
        self.rows, self.length = rows, length

    def __getitem__(self, index):
        swings = index % 8 + 1
        rng = np.random.default_rng(index)  # the row's own numbers: the same in whichever process it is read
        time = np.linspace(0, 1, self.length, dtype=np.float32)
        wave = np.sin(2 * math.pi * swings * time) + rng.normal(0, 0.3, self.length)
        return wave.astype(np.float32), np.int32(swings)

    def __len__(self):
        return self.rows


def features(wave):
    """Plain Python on purpose: the kind of function that wants processes."""
    crossings = sum(1 for a, b in itertools.pairwise(wave) if (a < 0) != (b < 0))
    energy = sum(float(value) ** 2 for value in wave)
    return np.array([crossings, energy], np.float32), np.int64(os.getpid())


ds.config.set_seed(1)


def pipeline(workers, processes):
    options = {"num_parallel_workers": workers, "python_multiprocessing": processes}
    data = ds.GeneratorDataset(Signals(400), ["wave", "label"], shuffle=True, **options)
    data = data.map(features, ["wave"], ["features", "worker"], **options)
    return data.batch(50)


def run(data):
    rows, workers = [], set()
    for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        rows.append(batch["features"].tobytes() + batch["label"].tobytes())
        workers.update(batch["worker"].tolist())
    return rows, workers


alone, here = run(pipeline(workers=1, processes=False))
spread, others = run(pipeline(workers=2, processes=True))

print(f"{len(alone)} batches; the main process is {os.getpid()}")
print("in one process the work was done in the main process:", here == {os.getpid()})
print("with two workers it was not:", os.getpid() not in others)
print("the batches are the same, bit for bit and in order:", alone == spread)
