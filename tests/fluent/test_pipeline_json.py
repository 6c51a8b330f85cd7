"""Pipelines to JSON and back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import millrace.dataset as ds
from millrace.dataset import vision


def image_rows() -> ds.Dataset:
    schema = ds.Schema()
    schema.add_column("image", "uint8", [6, 6, 3])
    return ds.RandomDataset(total_rows=5, schema=schema)


def rows(data: ds.Dataset) -> list[np.ndarray]:
    return [row[0] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def test_a_pipeline_of_transforms_comes_back_whole(tmp_path: Path) -> None:
    ds.config.set_seed(3)
    data = (
        image_rows().map([vision.CenterCrop(4), vision.RandomHorizontalFlip(0.5)], "image").batch(2).take(2)
    )
    ds.serialize(data, str(tmp_path / "plan.json"))
    again = ds.deserialize(json_filepath=str(tmp_path / "plan.json"))
    assert again is not None
    assert ds.compare(data, again)
    for one, two in zip(rows(data), rows(again), strict=True):
        assert np.array_equal(one, two)


def test_python_functions_are_refused() -> None:
    saved = ds.serialize(image_rows().map(lambda x: x, "image"))
    with pytest.raises(RuntimeError, match="Python function"):
        ds.deserialize(saved)


@pytest.mark.parametrize("module", ["os", "millrace.transforms.base", "subprocess"])
def test_nothing_else_is_imported_or_called(module: str) -> None:
    saved = ds.serialize(image_rows().map(vision.CenterCrop(4), "image"))
    saved["operations"] = [{"python_module": module, "tensor_op_name": "system", "tensor_op_params": {}}]
    with pytest.raises(RuntimeError, match="cannot be rebuilt"):
        ds.deserialize(json.loads(json.dumps(saved)))
