"""Training on several devices, stopped in the middle of an epoch and resumed, without losing or repeating a row.

Each device runs this pipeline with its own shard_id. The state of an iterator is a small JSON value: put it into the
checkpoint beside the model. Here the "devices" take turns in one process.

Run it with: python examples/shards_and_resume.py
"""

import json
import tempfile
from pathlib import Path

import numpy as np

import millrace.dataset as ds

DEVICES, ROWS, BATCH = 4, 1000, 25


class Samples:
    def __getitem__(self, index):
        return np.full(8, index, np.float32), np.int64(index)

    def __len__(self):
        return ROWS


def pipeline(device, workers=None):
    """The same on every device but for its number. One seed for all: they cut the same random order."""
    ds.config.set_seed(42)
    data = ds.GeneratorDataset(Samples(), ["x", "row"], shuffle=True, num_shards=DEVICES, shard_id=device)
    data = data.map(lambda x: x / ROWS, input_columns="x", num_parallel_workers=workers)
    return data.batch(BATCH, drop_remainder=True)


def train(device, steps, checkpoint, workers=None):
    """Some steps on one device, going on from its checkpoint if there is one; the rows it saw."""
    state = json.loads(checkpoint.read_text()) if checkpoint.exists() else None
    data = pipeline(device, workers)
    seen = []
    with data.create_dict_iterator(num_epochs=1, output_numpy=True, state=state) as iterator:
        for _ in range(steps):
            seen += next(iterator)["row"].tolist()
        checkpoint.write_text(json.dumps(iterator.state()))
    return seen


with tempfile.TemporaryDirectory() as folder:
    checkpoints = [Path(folder) / f"device{device}.json" for device in range(DEVICES)]
    steps = pipeline(0).get_dataset_size()
    print(f"{ROWS} rows, {DEVICES} devices, {steps} steps each")

    # The job is stopped after 4 of 10 steps ...
    before = [train(device, 4, checkpoints[device]) for device in range(DEVICES)]
    size = checkpoints[0].stat().st_size
    print(f"stopped after 4 steps; a state takes {size} bytes")

    # ... and goes on later, here with another number of workers.
    after = [train(device, steps - 4, checkpoints[device], workers=1) for device in range(DEVICES)]

rows = sorted(row for part in (*before, *after) for row in part)
print("every row was seen exactly once:", rows == list(range(ROWS)))

# Without the stop the batches would have been the same.
whole = [batch["row"] for batch in pipeline(2).create_dict_iterator(num_epochs=1, output_numpy=True)]
print("the order is that of a run without a stop:", np.concatenate(whole).tolist() == before[2] + after[2])
