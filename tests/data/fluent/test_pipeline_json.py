"""Pipelines to JSON and back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace.common import dtype as mstype
from millrace.dataset import transforms, vision


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


def test_transforms_inside_others_come_back_in_another_process(tmp_path: Path) -> None:
    data = ds.RandomDataset(total_rows=2).map(
        transforms.RandomApply([transforms.TypeCast(mstype.int64), vision.Rescale(2.0, 0.0)], 1.0), "c0"
    )
    ds.serialize(data.batch(2, num_parallel_workers=3), str(tmp_path / "plan.json"))
    code = (
        "import json, sys, millrace.dataset as ds\n"
        "print(json.dumps(ds.serialize(ds.deserialize(json_filepath=sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "plan.json")], capture_output=True, text=True, timeout=60
    )
    assert json.loads(done.stdout) == json.loads((tmp_path / "plan.json").read_text()), done.stderr


def test_functions_inside_others_are_named_and_refused() -> None:
    def inner(x: Any) -> Any:
        return x

    saved = ds.serialize(image_rows().map(transforms.Compose([inner, vision.CenterCrop(4)]), "image"))
    inside = saved["operations"][0]["tensor_op_params"]["transforms"]
    assert [one["tensor_op_name"] for one in inside] == ["inner", "CenterCrop"]
    with pytest.raises(RuntimeError, match=r"'inner' .* is a Python function"):
        ds.deserialize(saved)


def test_python_functions_are_refused() -> None:
    saved = ds.serialize(image_rows().map(lambda x: x, "image"))
    with pytest.raises(RuntimeError, match="Python function"):
        ds.deserialize(saved)


@pytest.mark.parametrize("module", ["os", "millrace.data.transforms.base", "subprocess"])
def test_nothing_else_is_imported_or_called(module: str) -> None:
    saved = ds.serialize(image_rows().map(vision.CenterCrop(4), "image"))
    saved["operations"] = [{"python_module": module, "tensor_op_name": "system", "tensor_op_params": {}}]
    with pytest.raises(RuntimeError, match="cannot be rebuilt"):
        ds.deserialize(json.loads(json.dumps(saved)))


def test_a_source_comes_back_in_a_process_that_has_not_used_it(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    ds.serialize(ds.TextFileDataset(str(tmp_path / "lines.txt")).batch(2), str(tmp_path / "plan.json"))
    code = "import millrace.dataset as ds, sys; print(ds.deserialize(json_filepath=sys.argv[1]).get_dataset_size())"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "plan.json")], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "1\n", done.stderr


def test_an_operation_type_that_is_no_text() -> None:
    with pytest.raises(RuntimeError, match="unsupported operation type"):
        ds.deserialize({"op_type": ["Batch"]})


def test_a_module_of_transforms_that_does_not_exist() -> None:
    saved = ds.serialize(image_rows().map(vision.CenterCrop(4), "image"))
    saved["operations"][0]["python_module"] = "millrace.data.transforms.nothing"
    with pytest.raises(RuntimeError, match="no transforms in"):
        ds.deserialize(saved)
