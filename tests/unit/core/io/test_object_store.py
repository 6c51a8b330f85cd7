"""``s3://`` over real HTTP: moto's server in a process of its own, obstore on our side."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import MillraceError
from millrace._src.core.io.object_store import s3_file_system
from millrace._src.core.io.remote import remote_exists, remote_glob, upload
from millrace.mindrecord import FileWriter
from tests.support.s3_server import server, store

__all__ = ["server", "store"]  # fixtures

pytest.importorskip("obstore")
pytest.importorskip("moto")


def write(address: str, rows: int, shards: int = 1) -> None:
    writer = FileWriter(address, shard_num=shards, overwrite=True)
    writer.add_schema({"n": {"type": "int32"}, "v": {"type": "float32", "shape": [3]}})
    writer.write_raw_data([{"n": n, "v": np.full(3, n, np.float32)} for n in range(rows)])
    writer.commit()


def numbers(data: ds.Dataset) -> list[int]:
    return sorted(row["n"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True))


def test_written_listed_and_read_back(store: str) -> None:
    write("s3://bucket/run/x.mindrecord", 30, shards=2)
    assert remote_exists("s3://bucket/run/x.mindrecord0")
    assert not remote_exists("s3://bucket/run/x.mindrecord9")
    found = remote_glob("s3://bucket/run/*.mindrecord?")
    assert found == ["s3://bucket/run/x.mindrecord0", "s3://bucket/run/x.mindrecord1"]
    assert numbers(ds.MindDataset("s3://bucket/run/x.mindrecord0")) == list(range(30))


def test_worker_processes_read_it_too(store: str, no_leaks: None) -> None:
    write("s3://bucket/workers.mindrecord", 24)
    with settings.override(executor="processes", num_parallel_workers=2):
        assert numbers(ds.MindDataset("s3://bucket/workers.mindrecord")) == list(range(24))


def test_the_keys_of_the_call(server: str) -> None:
    """No environment: endpoint and keys are those of OBSMindDataset."""
    options = {"key": "key", "secret": "secret", "client_kwargs": {"endpoint_url": server}}
    fs = s3_file_system(options)
    fs.pipe_file("bucket/obs/plain", b"0123456789")
    assert fs.cat_file("bucket/obs/plain", start=2, end=5) == b"234"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", server)
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        write("s3://bucket/obs/x.mindrecord", 8)
    data = ds.OBSMindDataset(["s3://bucket/obs/x.mindrecord"], server, "key", "secret", "s3://bucket/sync")
    assert numbers(data) == list(range(8))


def test_a_file_that_is_not_there_is_named(store: str) -> None:
    with pytest.raises((MillraceError, ValueError), match=r"s3://bucket/none\.mindrecord"):
        ds.MindDataset("s3://bucket/none.mindrecord").get_dataset_size()


def test_the_how_to_page_holds_on_a_real_store(store: str, tmp_path: Path) -> None:
    """Its blocks, word by word, with an address of S3 in the place of memory://."""
    page = Path(__file__).parents[4] / "docs" / "how-to" / "object-storage.md"
    text = page.read_text().replace("memory://results/run1", "s3://bucket/run1")
    for mine, its in ((store, "https://obs.example.com"), ("key", "access key"), ("secret", "secret key")):
        text = text.replace(f'"{its}"', f'"{mine}"')
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    upload(tmp_path / "lines.txt", "s3://bucket/run1/lines.txt")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        # the page fills memory:// through fsspec, which has no driver for S3 of its own
        exec(block[block.find("lines = ") :] if "fsspec.open" in block else block, names)
