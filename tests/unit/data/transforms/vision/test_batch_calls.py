"""Columns of small images in one call: bit for bit what the rows give, alone and joined with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core import settings
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision.batch_kernels import MAX_ROW_BYTES
from millrace._src.data.transforms.vision.fused_normalize import FusedNormalizeToCHW

ROWS = 9
SHAPES = [(28, 28), (28, 28, 1), (32, 32, 3), (8, 9, 4), (5, 7, 2)]
TYPES = ["uint8", "float32", "float64", "int16", "bool"]
OPS: dict[str, Any] = {
    "Normalize": lambda c: vision.Normalize([0.1 * (i + 1) for i in range(c)], [0.3, 0.7, 0.11, 5][:c]),
    "Normalize, one for all": lambda c: vision.Normalize([121.5], [57.1]),
    "Rescale": lambda c: vision.Rescale(1 / 255, 0.0),
    "Rescale, shifted": lambda c: vision.Rescale(2 / 255, -1.0),
    "HWC2CHW": lambda c: vision.HWC2CHW(),
    "ToTensor": lambda c: vision.ToTensor(),
    "ToTensor, float16": lambda c: vision.ToTensor(np.float16),
    "HorizontalFlip": lambda c: vision.HorizontalFlip(),
    "VerticalFlip": lambda c: vision.VerticalFlip(),
    "RandomHorizontalFlip": lambda c: vision.RandomHorizontalFlip(0.5),
    "RandomVerticalFlip": lambda c: vision.RandomVerticalFlip(0.5),
    "Invert": lambda c: vision.Invert(),
}
DECLINES = {"HWC2CHW": lambda shape, kind: len(shape) == 2, "Invert": lambda shape, kind: kind != "uint8"}


def images(shape: tuple[int, ...], kind: str, rows: int = ROWS) -> Any:
    values = np.arange(rows * int(np.prod(shape)), dtype=np.uint32).reshape(rows, *shape) * 2654435761 >> 24
    return (values / 255 if kind.startswith("float") else values).astype(kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OPS)
def test_as_row_by_row(name: str, shape: tuple[int, ...], kind: str) -> None:
    op, xs = OPS[name](shape[2] if len(shape) == 3 else 1), images(shape, kind)
    draws = (
        RandomStream.for_rows(np.arange(ROWS, dtype=np.uint64), seed=5, epoch=0, op=1) if op.random else None
    )
    params = op.params(draws) if draws is not None else ()
    try:
        rows = [np.ascontiguousarray(op.row(x, *(p[i] for p in params))) for i, x in enumerate(xs)]
    except RuntimeError:
        return  # the rows say what is wrong with them
    before = xs.copy()
    made = op.batch(xs, *params)
    np.testing.assert_array_equal(xs, before)
    if xs[0].nbytes > MAX_ROW_BYTES or (name in DECLINES and DECLINES[name](shape, kind)):
        assert made is None
        return
    assert made.flags.c_contiguous
    assert made.dtype == rows[0].dtype
    assert made.tobytes() == b"".join(row.tobytes() for row in rows)
    assert made.shape == (ROWS, *rows[0].shape)


@pytest.mark.parametrize("name", OPS)
def test_large_rows_run_alone(name: str) -> None:
    xs = images((MAX_ROW_BYTES // 64, 64, 3), "uint8", rows=1)
    op = OPS[name](3)
    assert op.batch(xs, *([np.array([True])] if op.random else [])) is None


@pytest.mark.parametrize("kind", ["uint8", "float32"])
def test_in_a_pipeline(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Normalize and HWC2CHW run as one there; what comes after them keeps its own random numbers."""
    xs = images((32, 32, 3), kind, rows=50)
    chain = [
        vision.RandomHorizontalFlip(),
        vision.Normalize([0.4, 0.5, 0.6], [0.2, 0.3, 0.1]),
        vision.HWC2CHW(),
        vision.RandomVerticalFlip(),
        vision.RandomHorizontalFlip(0.3),
    ]

    def run() -> Any:
        data = ds.NumpySlicesDataset({"x": xs}).map(chain, "x").batch(16)
        with settings.override(seed=3):
            return [row["x"] for row in data.create_dict_iterator(1, output_numpy=True)]

    whole = run()
    for each in (type(op) for op in chain):
        monkeypatch.setattr(each, "batch", None)
    monkeypatch.setattr(FusedNormalizeToCHW, "batch", None)
    rows = run()
    assert len(whole) == len(rows) == 4
    for one, two in zip(whole, rows, strict=True):
        assert one.tobytes() == two.tobytes()
