"""MixUp with the batch before: the one transform that remembers."""

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.transforms as transforms
import millrace.dataset.vision as vision
from millrace._src.core import settings

BATCHES = 12


def run(op, epochs=1, **changes):
    images = np.arange(BATCHES * 2 * 3 * 4, dtype=np.float32).reshape(BATCHES * 2, 3, 2, 2)
    labels = np.eye(4, dtype=np.float32)[np.arange(BATCHES * 2) % 4]
    with settings.override(seed=3, **changes):
        data = ds.NumpySlicesDataset((images, labels), ["image", "label"], shuffle=False).batch(2)
        data = data.map(op, ["image", "label"])
        rows = data.create_dict_iterator(epochs, output_numpy=True)
        return np.stack([row["image"] for _ in range(epochs) for row in rows])


@pytest.mark.parametrize(
    "changes",
    [
        {"num_parallel_workers": 4, "executor": "threads", "chunk_rows": 1},
        {"num_parallel_workers": 4, "executor": "threads", "chunk_rows": 5},
        {"num_parallel_workers": 3, "executor": "processes", "chunk_rows": 1},
    ],
    ids=["threads", "chunks", "processes"],
)
def test_same_rows_for_any_workers_and_any_number_of_runs(changes):
    op = vision.MixUp(2, 0.4, is_single=False)
    wanted = run(op, executor="inline", chunk_rows=1)
    for _ in range(2):  # nothing is left over from the run before
        np.testing.assert_array_equal(run(op, **changes), wanted)
    np.testing.assert_array_equal(run(transforms.Compose([op]), **changes).shape, wanted.shape)


def test_each_batch_is_mixed_with_the_one_before_as_it_came_out():
    mixed = run(vision.MixUp(2, 0.4, is_single=False))
    images = np.arange(BATCHES * 2 * 3 * 4, dtype=np.float32).reshape(BATCHES, 2, 3, 2, 2)
    np.testing.assert_array_equal(mixed[0], images[0])
    for now, before, plain in zip(mixed[1:], mixed, images[1:]):
        share = (now - before)[:, 0, 0, 0] / (plain - before)[:, 0, 0, 0]
        assert ((share >= 0) & (share <= 1)).all()
        wide = share[:, None, None, None]
        np.testing.assert_allclose(now, wide * plain + (1 - wide) * before, rtol=1e-6)


def test_the_next_epoch_goes_on_from_the_last_batch():
    two = run(vision.MixUp(2, 0.4, is_single=False), epochs=2)
    assert (two[BATCHES] != two[0]).any()
