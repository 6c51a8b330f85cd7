"""Q13: can MindSpore train image data of different sizes by batch? (See YOLOv3, says the page.)"""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import millrace.dataset as ds

COUNT = 12


class Images:
    """Images of different sizes, with boxes of different number."""

    def __getitem__(self, index):
        image = np.full((40 + 3 * index, 60 - 2 * index, 3), index, np.uint8)
        boxes = np.tile(np.array([0.1, 0.2, 0.3, 0.4], np.float32), (index % 4, 1))
        return image, boxes

    def __len__(self):
        return COUNT


def source() -> ds.Dataset:
    return ds.GeneratorDataset(Images(), ["image", "annotation"], shuffle=False)


class MultiScaleTrans:
    """As in YOLOv3: one size per batch, another from batch to batch and from epoch to epoch."""

    sizes = ((32, 32), (48, 48), (64, 64), (80, 80))

    def __init__(self, resize_rate: int, max_box: int) -> None:
        self.resize_rate, self.max_box = resize_rate, max_box

    def size(self, epoch: int, batch: int) -> tuple[int, int]:
        return self.sizes[(epoch * 2 + batch // self.resize_rate) % len(self.sizes)]

    def __call__(self, imgs, annos, batch_info):
        size = self.size(batch_info.get_epoch_num(), batch_info.get_batch_num())
        images = [cv2.resize(image, size).transpose(2, 0, 1) for image in imgs]
        boxes = [np.pad(anno, ((0, self.max_box - len(anno)), (0, 0))) for anno in annos]
        return images, boxes


@pytest.mark.parametrize("processes", [False, True])
def test_multi_scale_as_in_yolo(processes) -> None:
    trans = MultiScaleTrans(resize_rate=2, max_box=8)
    dataset = source().batch(
        2,
        num_parallel_workers=2,
        drop_remainder=True,
        per_batch_map=trans,
        input_columns=["image", "annotation"],
        output_columns=["image", "annotation"],
        python_multiprocessing=processes,
    )
    iterator = dataset.create_dict_iterator(num_epochs=3, output_numpy=True)
    for epoch in range(3):
        batches = list(iterator)
        assert len(batches) == COUNT // 2
        for number, batch in enumerate(batches):
            assert batch["image"].shape == (2, 3, *trans.size(epoch, number))
            assert batch["image"][:, 0, 0, 0].tolist() == [2 * number, 2 * number + 1]
            assert batch["annotation"].shape == (2, 8, 4)


def test_batch_info_counts_epochs_and_batches() -> None:
    seen = []

    def note(values, info):
        seen.append((info.get_epoch_num(), info.get_batch_num()))
        return ([np.float32(info.get_epoch_num() * 100 + info.get_batch_num())] * len(values),)

    data = source().project(["image"]).batch(5, per_batch_map=note, input_columns=["image"])
    iterator = data.create_dict_iterator(num_epochs=2, output_numpy=True)
    values = [[float(batch["image"][0]) for batch in iterator] for _ in range(2)]
    assert values == [[0, 1, 2], [100, 101, 102]]
    assert sorted(seen) == [(e, b) for e in range(2) for b in range(3)]


def test_the_batch_size_may_be_a_function_of_batch_info() -> None:
    data = ds.GeneratorDataset(range(10), ["x"], shuffle=False).batch(lambda info: info.get_batch_num() + 1)
    assert [len(batch["x"]) for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True)] == [
        1,
        2,
        3,
        4,
    ]


def test_padded_batch_to_a_shape_and_to_the_largest() -> None:
    fixed = source().padded_batch(4, pad_info={"image": ([80, 64, 3], 7), "annotation": ([6, 4], -1)})
    for batch in fixed.create_dict_iterator(num_epochs=1, output_numpy=True):
        assert batch["image"].shape == (4, 80, 64, 3)
        assert batch["image"][0, -1, -1, 0] == 7
        assert batch["annotation"].shape == (4, 6, 4)
        assert (batch["annotation"][0] == -1).all()  # image 0, 4, 8 have no box
    largest = source().padded_batch(4, pad_info={"image": ([None, None, 3], 0), "annotation": ([None, 4], 0)})
    shapes = [batch["image"].shape for batch in largest.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert shapes == [(4, 49, 60, 3), (4, 61, 52, 3), (4, 73, 44, 3)]


def test_bucket_batch_by_length() -> None:
    """Images of like height together; little is padded and nothing is lost."""
    data = (
        source()
        .project(["image"])
        .bucket_batch_by_length(
            column_names=["image"],
            bucket_boundaries=[52, 64],
            bucket_batch_sizes=[2, 2, 2],
            element_length_function=lambda image: image.shape[0],
            pad_info={"image": ([None, None, 3], 0)},
        )
    )
    batches = [batch["image"] for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    rows = sorted(int(image[0, 0, 0]) for batch in batches for image in batch)
    assert rows == list(range(COUNT))
    for batch in batches:
        heights = [40 + 3 * int(image[0, 0, 0]) for image in batch]
        assert len({(h >= 52) + (h >= 64) for h in heights}) == 1
        assert batch.shape[1] == max(heights)


def test_without_any_of_them_the_error_says_what_to_use() -> None:
    with pytest.raises(RuntimeError) as caught:
        list(source().batch(4))
    text = str(caught.value)
    assert "image" in text
    assert "40" in text
    assert "60" in text
    assert any(way in text for way in ("padded_batch", "per_batch_map", "bucket_batch_by_length"))
