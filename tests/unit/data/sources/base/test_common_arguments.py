"""The arguments that many sources share mean the same everywhere, and are refused in the same words."""

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import PlanError
from millrace._src.data.sources.text_file import TextFileDataset


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "images" / "x").mkdir(parents=True)
    (tmp_path / "images" / "x" / "0.png").write_bytes(b"")
    records = str(tmp_path / "r.mindrecord")
    ds.NumpySlicesDataset({"x": np.arange(4)}).save(records)
    return {
        "text": lambda **more: TextFileDataset(str(tmp_path / "a.txt"), **more),
        "images": lambda **more: ds.ImageFolderDataset(str(tmp_path / "images"), **more),
        "records": lambda **more: ds.MindDataset(records, **more),
        "random": lambda **more: ds.RandomDataset(4, **more),
    }


@pytest.mark.parametrize("source_name", ["text", "images", "records", "random"])
def test_shards_are_checked_alike(sources, source_name):
    make = sources[source_name]
    with pytest.raises(PlanError, match="num_shards is specified and currently requires shard_id"):
        make(num_shards=2)
    with pytest.raises(PlanError, match="shard_id is specified but num_shards is not"):
        make(shard_id=0)
    with pytest.raises(ValueError, match="shard_id"):
        make(num_shards=2, shard_id=2)
    with pytest.raises(ValueError, match="num_shards"):
        make(num_shards=0, shard_id=0)


@pytest.mark.parametrize("source_name", ["images", "records"])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("shuffle", {"shuffle": True}),
        ("sharding", {"num_shards": 2, "shard_id": 0}),
        ("num_samples", {"num_samples": 1}),
    ],
)
def test_a_sampler_stands_alone(sources, source_name, name, more):
    with pytest.raises(PlanError, match=f"sampler and {name} cannot be specified"):
        sources[source_name](sampler=ds.SequentialSampler(), **more)
