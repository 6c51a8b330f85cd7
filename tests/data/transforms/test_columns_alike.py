"""An image and its mask: the random crops and flips take several columns and treat them alike, as MindSpore's do."""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset as ds
from millrace.dataset import vision

OPERATIONS = {
    "RandomCrop": vision.RandomCrop(8),
    "RandomHorizontalFlip": vision.RandomHorizontalFlip(),
    "RandomVerticalFlip": vision.RandomVerticalFlip(),
    "RandomResize": vision.RandomResize((9, 7)),
    "RandomResizedCrop": vision.RandomResizedCrop(8),
}


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (24, 20, 26, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("workers", [1, 2])
def test_columns_get_the_same_random_parameters(name, workers, images):
    rows = ds.NumpySlicesDataset({"image": images, "mask": images, "id": np.arange(24)}, shuffle=False)
    rows = rows.map(OPERATIONS[name], ["image", "mask"], num_parallel_workers=workers)
    made = list(rows.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert len(made) == 24
    for row in made:
        np.testing.assert_array_equal(row["image"], row["mask"])
    # another row gets other parameters
    alone = ds.NumpySlicesDataset({"image": images[[0] * 24]}, shuffle=False).map(OPERATIONS[name], ["image"])
    assert (
        len({row["image"].tobytes() for row in alone.create_dict_iterator(num_epochs=1, output_numpy=True)})
        > 1
    )


def test_a_mask_of_another_kind_follows_the_image(images):
    """Marks the same pixel in both: they must still be at the same place after a chain of operations."""
    images = np.zeros((24, 20, 26, 3), np.uint8)
    masks = np.zeros((24, 20, 26, 1), np.uint8)
    images[:, 10, 13], masks[:, 10, 13] = 255, 7
    rows = ds.NumpySlicesDataset({"image": images, "mask": masks}, shuffle=False)
    rows = rows.map([vision.RandomCrop(16), vision.RandomHorizontalFlip()], ["image", "mask"])
    places = set()
    for row in rows.create_dict_iterator(num_epochs=1, output_numpy=True):
        ((down, right),) = np.argwhere(row["mask"].reshape(16, 16))
        assert row["image"][down, right].tolist() == [255, 255, 255]
        places.add((int(down), int(right)))
    assert len(places) > 1


def test_other_operations_take_one_image(images):
    rows = ds.NumpySlicesDataset({"image": images, "mask": images}, shuffle=False)
    rows = rows.map(vision.HorizontalFlip(), ["image", "mask"])
    with pytest.raises(RuntimeError, match="HorizontalFlip"):
        next(iter(rows.create_dict_iterator(num_epochs=1, output_numpy=True)))
