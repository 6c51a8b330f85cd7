"""Q06: does GeneratorDataset support ds.PKSampler sampling? MindSpore refuses; here it works."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import millrace.dataset as ds


class ImageDataset:
    """30 rows, 3 classes of different size: 0 five times, 1 ten times, 2 fifteen times."""

    reads = 0

    def __init__(self):
        self.labels = [0] * 5 + [1] * 10 + [2] * 15

    def __getitem__(self, index):
        type(self).reads += 1
        return np.full((4, 4), index, np.uint8), np.int32(self.labels[index])

    def __len__(self):
        return len(self.labels)


class WithLabels(ImageDataset):
    reads = 0

    def get_label(self, index):
        return self.labels[index]


def drawn(data: ds.Dataset) -> list[tuple[int, int]]:
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    return [(int(row["image"][0, 0]), int(row["label"])) for row in iterator]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("source", [ImageDataset, WithLabels])
def test_k_rows_of_each_class(source, shuffle) -> None:
    ds.config.set_seed(1)
    data = ds.GeneratorDataset(source(), ["image", "label"], sampler=ds.PKSampler(4, shuffle=shuffle))
    assert data.get_dataset_size() == 12
    rows = drawn(data)
    assert Counter(label for _, label in rows) == {0: 4, 1: 4, 2: 4}
    assert all(source().labels[index] == label for index, label in rows)  # each with its own image


def test_class_column() -> None:
    sampler = ds.PKSampler(num_val=3, class_column="kind")
    data = ds.GeneratorDataset(ImageDataset(), ["image", "kind"], sampler=sampler).rename("kind", "label")
    counts = Counter(label for _, label in drawn(data))
    assert counts == {0: 3, 1: 3, 2: 3}


def test_get_label_reads_no_image() -> None:
    WithLabels.reads = 0
    data = ds.GeneratorDataset(WithLabels(), ["image", "anything"], sampler=ds.PKSampler(2))
    assert data.get_dataset_size() == 6
    assert WithLabels.reads == 0


def test_without_either_the_error_says_what_to_add() -> None:
    with pytest.raises(RuntimeError) as caught:
        list(ds.GeneratorDataset(ImageDataset(), ["image", "target"], sampler=ds.PKSampler(2)))
    text = str(caught.value)
    for part in ("PKSampler", "get_label(index)", "class_column", "['image', 'target']"):
        assert part in text


def test_with_workers_in_processes() -> None:
    ds.config.set_seed(2)
    sampler = ds.PKSampler(2, shuffle=True)
    one = drawn(ds.GeneratorDataset(ImageDataset(), ["image", "label"], sampler=sampler))
    two = drawn(
        ds.GeneratorDataset(ImageDataset(), ["image", "label"], sampler=sampler, num_parallel_workers=2)
    )
    assert one == two
