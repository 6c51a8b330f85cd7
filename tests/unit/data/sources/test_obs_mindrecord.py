"""OBSMindDataset: rows from object storage, with the keys of the call."""

from __future__ import annotations

import json
import pickle
from typing import Any

import fsspec
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import MillraceError
from millrace.mindrecord import FileWriter

SERVER = ("https://127.0.0.1:9000", "the access key", "the secret key", "s3://bucket/sync")


class Store(MemoryFileSystem):
    """A store in memory that remembers who asked."""

    protocol = "s3"
    store: dict[str, Any] = {}
    pseudo_dirs = [""]
    requested: list[dict[str, Any]] = []
    cachable = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        Store.requested.append(options)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(path.replace("s3://", "memory://") if isinstance(path, str) else path)


@pytest.fixture(autouse=True)
def s3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_registry, "s3", Store)
    Store.store.clear()
    Store.requested.clear()


def write(sizes: list[int], scheme: str = "s3") -> list[str]:
    """Files whose rows count on from file to file."""
    files, at = [], 0
    for number, size in enumerate(sizes):
        files.append(f"{scheme}://bucket/part{number}.mindrecord")
        writer = FileWriter(files[-1])
        writer.add_schema({"n": {"type": "int32"}, "v": {"type": "float32", "shape": [2]}})
        writer.write_raw_data([{"n": at + k, "v": np.full(2, at + k, np.float32)} for k in range(size)])
        writer.commit()
        at += size
    Store.requested.clear()
    return files


def numbers(data: Any) -> list[int]:
    return [row["n"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_rows_in_order_and_shuffled() -> None:
    files = write([4, 3])
    data = ds.OBSMindDataset(files, *SERVER, shuffle=False)
    assert (data.get_dataset_size(), data.get_col_names()) == (7, ["n", "v"])
    assert numbers(data) == list(range(7))
    ds.config.set_seed(4)
    shuffled = numbers(ds.OBSMindDataset(files, *SERVER))
    assert sorted(shuffled) == list(range(7)) != shuffled
    assert ds.OBSMindDataset(files, *SERVER, columns_list=["v"]).get_col_names() == ["v"]


def test_the_server_and_the_keys_reach_the_driver_and_nothing_else() -> None:
    files = write([3])
    data = ds.OBSMindDataset(files, *SERVER)
    assert len(numbers(data)) == 3
    wanted = {"key": SERVER[1], "secret": SERVER[2], "client_kwargs": {"endpoint_url": SERVER[0]}}
    assert Store.requested == [wanted] * len(Store.requested) != []
    shown = json.dumps(ds.serialize(data)) + data.explain() + repr(data)
    assert SERVER[1] not in shown
    assert SERVER[2] not in shown
    with pytest.raises(MillraceError, match="create it again"):
        ds.deserialize(ds.serialize(data))


def test_other_addresses_take_no_keys() -> None:
    files = write([3], scheme="memory")
    assert numbers(ds.OBSMindDataset(files, *SERVER, shuffle=False)) == [0, 1, 2]
    fsspec.filesystem("memory").rm("/bucket", recursive=True)


def test_a_worker_process_takes_the_keys_along() -> None:
    source = ds.OBSMindDataset(write([3]), *SERVER)._source
    Store.requested.clear()
    reader = pickle.loads(pickle.dumps(source)).open()
    assert reader.read(np.array([2, 0]))["n"].tolist() == [2, 0]
    reader.close()
    assert {options["secret"] for options in Store.requested} == {SERVER[2]}


@pytest.mark.parametrize(
    ("equal", "wanted"),
    [(True, [[0, 1, 2, 3], [4, 5, 6, 0]]), (False, [[0, 1, 2, 3, 6], [4, 5]])],
    ids=["equal rows", "whole files"],
)
def test_shards(equal: bool, wanted: list[list[int]]) -> None:
    files = write([4, 2, 1])
    options = {"shuffle": False, "num_shards": 2, "shard_equal_rows": equal}
    assert [numbers(ds.OBSMindDataset(files, *SERVER, shard_id=k, **options)) for k in (0, 1)] == wanted


def test_resume() -> None:
    settings.update(num_parallel_workers=2)
    data = ds.OBSMindDataset(write([5, 6]), *SERVER).batch(2)
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    head = [next(iterator)["n"].tolist() for _ in range(2)]
    state = json.loads(json.dumps(iterator.state()))
    rest = [row["n"].tolist() for row in iterator]
    resumed = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=state)
    assert [row["n"].tolist() for row in resumed] == rest
    assert sorted(n for batch in head + rest for n in batch) == list(range(11))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"dataset_files": "s3://bucket/part0.mindrecord"}, TypeError, "dataset_files"),
        ({"dataset_files": [3]}, TypeError, "Item of dataset files"),
        ({"dataset_files": []}, ValueError, "empty"),
        ({"dataset_files": ["part0.mindrecord"]}, ValueError, "MindDataset reads local files"),
        ({"dataset_files": ["s3://bucket/none"]}, ValueError, "s3://bucket/none does not exist"),
        ({"server": "obs.example.com"}, ValueError, "http://"),
        ({"ak": 3}, TypeError, "ak"),
        ({"columns_list": ["x"]}, ValueError, "columns_list"),
        ({"shuffle": "yes"}, TypeError, "shuffle"),
        ({"num_shards": 2}, RuntimeError, "shard_id"),
        ({"num_shards": 2, "shard_id": 2}, ValueError, "shard_id"),
        ({"shard_equal_rows": 1}, TypeError, "shard_equal_rows"),
    ],
    ids=str,
)
def test_wrong_arguments(change: dict[str, Any], error: type[Exception], message: str) -> None:
    names = ("server", "ak", "sk", "sync_obs_path")
    with pytest.raises(error, match=message):
        ds.OBSMindDataset(**({"dataset_files": write([2])} | dict(zip(names, SERVER)) | change))


def test_a_damaged_file_is_named() -> None:
    files = write([3])
    Store.store["/bucket/part0.mindrecord"].truncate(100)
    with pytest.raises(MillraceError, match=r"s3://bucket/part0\.mindrecord"):
        ds.OBSMindDataset(files, *SERVER)


def test_nothing_to_wait_for() -> None:
    ds.sync_wait_for_dataset(0, 8, 1)
    with pytest.raises(ValueError, match="rank_id"):
        ds.sync_wait_for_dataset(8, 8, 1)
