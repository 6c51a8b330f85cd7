"""QMNIST at its full size: which rows each usage has. The hashes are those of the rows that MindSpore 2.7.0 gives."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds

COUNT = 60_000
WANTED = {
    ("test10k", True): (10_000, "f237b9ca4d37e960f5a17ad8"),
    ("test10k", False): (10_000, "151b886fb28af1ec088ec6f4"),
    ("test50k", True): (50_000, "f2e39b9107b91e634666ec1b"),
    ("test50k", False): (50_000, "2213edc82e0cdd1297f76b1e"),
    ("nist", True): (5, "be1a032437890d7b4ed2d698"),
    ("nist", False): (5, "1657eb458a28aebaa6401775"),
    ("test", True): (60_000, "bbd837214de2ec56e4686e11"),
    ("test", False): (60_000, "73992107cb4bb2c44978ff5a"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("qmnist")
    images = np.zeros((COUNT, 28, 28), np.uint8)
    images[:, 0, :4] = np.arange(COUNT, dtype=">u4").view(np.uint8).reshape(COUNT, 4)
    labels = np.arange(COUNT * 8, dtype=np.int32).reshape(COUNT, 8)
    write(root / "qmnist-test-images-idx3-ubyte", 8, images)
    write(root / "qmnist-test-labels-idx2-int", 12, labels)
    write(root / "xnist-images-idx3-ubyte", 8, images[:5] + 1)
    write(root / "xnist-labels-idx2-int", 12, labels[:5] + 3)
    return root


def write(path: Path, code: int, array: Any) -> None:
    head = bytes([0, 0, code, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.write_bytes(head + array.astype(array.dtype.newbyteorder(">")).tobytes())


@pytest.mark.parametrize(("usage", "compat"), WANTED, ids=str)
def test_usage(folder: Path, usage: str, compat: bool) -> None:
    data = ds.QMnistDataset(str(folder), usage, compat, shuffle=False)
    size, wanted = WANTED[usage, compat]
    assert data.get_dataset_size() == size
    digest = hashlib.sha256()
    for image, label in data.batch(1000).create_tuple_iterator(num_epochs=1, output_numpy=True):
        digest.update(image.tobytes() + label.tobytes())
    assert digest.hexdigest()[:24] == wanted
