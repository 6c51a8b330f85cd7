"""Pipelines to JSON and back."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import PlanError
from millrace._src.core.lazy import NAMES
from millrace._src.data.pipeline import serialization as pipeline_json
from millrace._src.data.sources.base.table_dataset import TableDataset
from millrace.common import dtype as mstype
from millrace.dataset import transforms, vision
from tests.support.mutations import mutated_json


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


@pytest.mark.parametrize("module", ["os", "millrace._src.data.transforms.base", "subprocess"])
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


# --- sources ----------------------------------------------------------------------------------------------------------


def test_every_source_that_can_be_rebuilt_is_in_the_table_of_sources() -> None:
    sources = NAMES["millrace.dataset"]
    for name, (module, _) in sources.items():
        if module.startswith("millrace._src.data.sources."):
            pipeline_json._source(name)
    tables = {f"{module}.{name}" for name, (module, _) in sources.items()}
    registered = {name for name in pipeline_json._SOURCES if name.startswith("millrace.")}
    assert len(registered) > 60
    assert registered <= tables


def test_a_source_of_the_user_is_not_called() -> None:
    class MnistDataset(TableDataset):
        def __init__(self, **arguments: Any) -> None:
            raise AssertionError("code of the user ran")

    with pytest.raises(PlanError):
        ds.deserialize({"op_type": "MnistDataset", "dataset_dir": "nowhere"})

    class OwnDataset(TableDataset):
        def __init__(self, **arguments: Any) -> None:
            raise AssertionError("code of the user ran")

    with pytest.raises(PlanError, match="unsupported operation type"):
        ds.deserialize({"op_type": "OwnDataset"})


# --- damage -----------------------------------------------------------------------------------------------------------


def many_operations(folder: Path) -> list[dict[str, Any]]:
    """Pipelines of most operations, as JSON."""
    (folder / "lines.txt").write_text("one\ntwo\n")
    lines = ds.TextFileDataset(str(folder / "lines.txt"), num_shards=2, shard_id=1, shuffle=ds.Shuffle.FILES)
    (folder / "classes" / "a").mkdir(parents=True)
    (folder / "classes" / "a" / "1.png").write_bytes(
        vision.encode_png(np.zeros((4, 4, 3), np.uint8)).tobytes()
    )
    sampler = ds.RandomSampler(num_samples=1)
    sampler.add_child(ds.SequentialSampler())
    images = ds.ImageFolderDataset(str(folder / "classes"), decode=True, sampler=sampler)
    numbers = ds.RandomDataset(total_rows=6).rename(["c0"], ["a"]).project(["a", "c1"])
    pipelines = [
        lines.repeat(2).skip(1).take(3).shuffle(4).batch(2),
        images.map([vision.CenterCrop(3), vision.RandomHorizontalFlip()], "image").batch(1, True),
        numbers.padded_batch(2, pad_info={"c1": ([6], 0)}).concat(numbers.batch(2)),
        ds.zip((lines.batch(1), numbers.batch(2))).map(transforms.Compose([transforms.OneHot(5)]), "a"),
        ds.RandomDataset(total_rows=6).project("c0").pack(4, split=True),
        ds.mix([numbers, numbers], [0.5, 0.5]),
    ]
    return [json.loads(json.dumps(ds.serialize(pipeline))) for pipeline in pipelines]


def test_damaged_pipelines_raise_one_class_of_error(tmp_path: Path) -> None:
    rng = random.Random(27)
    seeds = many_operations(tmp_path)
    refused = 0
    for saved in seeds:
        assert ds.serialize(ds.deserialize(saved)) == saved
    for _ in range(3000):
        try:
            ds.deserialize(mutated_json(rng.choice(seeds), rng))
        except PlanError:
            refused += 1
    assert refused > 1000


def test_a_pipeline_that_is_nested_too_deeply() -> None:
    saved: dict[str, Any] = ds.serialize(ds.RandomDataset(total_rows=2))
    for _ in range(5000):
        saved = {"op_type": "Take", "count": 1, "children": [saved]}
    with pytest.raises(PlanError, match="levels"):
        ds.deserialize(saved)


def test_a_long_pipeline_comes_back() -> None:
    data: ds.Dataset = ds.RandomDataset(total_rows=2)
    for _ in range(150):
        data = data.take(2)
    again = ds.deserialize(ds.serialize(data))
    assert again is not None
    assert again.get_dataset_size() == 2


@pytest.mark.parametrize(
    "document",
    [
        *(b"", b"[", b"[]", b"null", b"\xff\xfe", b"{}", b'{"tree": {}}', b'{"op_type": null}'),
        b'{"op_type": "Take", "op_type": "Take"}',
        b'{"op_type": "Take", "count": ' + b"9" * 5000 + b"}",
        b'{"children": ' + b"[" * 10**5,
    ],
    ids=lambda document: ascii(document[:24].decode("latin-1")),
)
def test_files_that_hold_no_pipeline(document: bytes, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(document)
    with pytest.raises(PlanError):
        ds.deserialize(json_filepath=str(tmp_path / "plan.json"))
