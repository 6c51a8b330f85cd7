"""An image and its mask: what takes one column takes several, and treats them alike.

MindSpore does so with its random crops and flips, and refuses the others.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.data.transforms.tensor_operation import TensorOperation
from millrace.dataset import transforms, vision

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


@pytest.mark.parametrize(
    "operation", [vision.HorizontalFlip(), vision.Resize((4, 5)), vision.RandomRotation(40)]
)
def test_operations_that_mindspore_refuses_apply_to_each_column(operation, images):
    rows = ds.NumpySlicesDataset({"image": images, "mask": images[:, :, :, :1]}, shuffle=False)
    rows = rows.map(operation, ["image", "mask"]).batch(8)
    for batch in rows.create_dict_iterator(num_epochs=1, output_numpy=True):
        np.testing.assert_array_equal(batch["image"][..., :1], batch["mask"])
    both = operation(images[0], images[0])
    np.testing.assert_array_equal(both[0], both[1])


def test_an_operation_that_makes_columns_takes_one(images):
    rows = ds.NumpySlicesDataset({"image": images, "mask": images}, shuffle=False)
    rows = rows.map(transforms.Duplicate(), ["image", "mask"])
    with pytest.raises(
        RuntimeError, match="Duplicate takes one column and returns several, but got 2 columns"
    ):
        next(iter(rows.create_dict_iterator(num_epochs=1)))


def test_an_operation_on_an_image_and_its_boxes_says_so(images):
    with pytest.raises(TypeError, match="ResizeWithBBox takes 2 columns, but got 1"):
        vision.ResizeWithBBox((4, 4))(images[0])
    with pytest.raises(TypeError, match="Resize takes one column, but got 0"):
        vision.Resize((4, 4))()


def test_what_one_operation_made_of_a_column_goes_on_together(images):
    rows = ds.NumpySlicesDataset({"image": images}, shuffle=False)
    five = rows.map(
        [vision.ToPIL(), vision.FiveCrop(8), vision.ToTensor(), lambda *five: np.stack(five)], ["image"]
    )
    shapes = [row["image"].shape for row in five.create_dict_iterator(1, True)]
    assert shapes == [(5, 3, 8, 8)] * 24
    # Normalize and HWC2CHW are joined into one pass
    two = [transforms.Duplicate(), vision.Normalize([1.0] * 3, [2.0] * 3), vision.HWC2CHW()]
    rows = rows.map(two, ["image"], output_columns=["a", "b"]).batch(2)
    for row in rows.create_dict_iterator(num_epochs=1, output_numpy=True):
        assert row["a"].shape == (2, 3, 20, 26)
        np.testing.assert_array_equal(row["a"], row["b"])


def test_every_operation_says_how_many_columns_it_takes():
    for name in dir(vision) + dir(transforms):
        kind = getattr(vision, name, None) or getattr(transforms, name)
        if isinstance(kind, type) and issubclass(kind, TensorOperation):
            given = list(inspect.signature(kind.row).parameters.values())[1:]
            if any(one.kind is one.VAR_POSITIONAL for one in given):
                assert kind.num_inputs is None, name
            elif not kind.random:
                assert kind.num_inputs == len(given), name
            else:
                assert (given[1].name in ("boxes", "labels")) == (kind.num_inputs == 2), name
