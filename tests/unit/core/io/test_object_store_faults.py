"""``s3://`` behind a proxy that does harm: whatever happens within the budget, the rows are the same."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import DataError, MillraceError
from millrace._src.core.io import remote
from millrace._src.core.io.object_store import _first_line, s3_file_system
from millrace._src.core.io.remote import download, read_bytes, remote_exists, remote_glob, upload
from millrace._src.data.formats.tfrecord.example import encode_example
from millrace._src.data.formats.tfrecord.record_file import write_record
from millrace.mindrecord import FileWriter
from tests.support.faulty_s3_proxy import KINDS, Faults, faulty
from tests.support.s3_server import server, store

__all__ = ["server", "store"]  # fixtures

pytest.importorskip("obstore")
pytest.importorskip("moto")

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote.RETRIES, "pause", 0.001)
    monkeypatch.setattr(remote.RETRIES, "budget", 30.0)


@pytest.fixture(scope="module")
def filled(server: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A bucket with a file of each kind."""
    folder = tmp_path_factory.mktemp("filled")
    lines = folder / "lines.txt"
    lines.write_text("".join(f"line {n}\n" for n in range(40)))
    table = folder / "table.csv"
    table.write_text("n,name\n" + "".join(f"{n},name {n}\n" for n in range(30)))
    examples = folder / "x.tfrecord"
    with open(examples, "wb") as file:
        for n in range(30):
            write_record(file, encode_example({"n": [n]}))
    with pytest.MonkeyPatch.context() as patch:
        at(server, patch)
        upload(lines, "s3://bucket/filled/lines.txt")
        upload(table, "s3://bucket/filled/table.csv")
        upload(examples, "s3://bucket/filled/x.tfrecord")
        for n in range(12):
            (folder / "image").write_bytes(bytes([n]) * (900 + n))
            upload(folder / "image", f"s3://bucket/filled/pets/{'cat' if n % 2 else 'dog'}/{n:02}.jpg")
        write("s3://bucket/filled/x.mindrecord", 30, shards=2)
    return server


def at(address: str, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("AWS_ENDPOINT_URL", address)
    patch.setenv("AWS_ACCESS_KEY_ID", "key")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def write(address: str, rows: int, shards: int = 1) -> None:
    writer = FileWriter(address, shard_num=shards, overwrite=True)
    writer.add_schema({"n": {"type": "int32"}, "b": {"type": "bytes"}})
    writer.write_raw_data([{"n": n, "b": bytes([n]) * 500} for n in range(rows)])
    writer.commit()


SOURCES: dict[str, Callable[[], ds.Dataset]] = {
    "MindRecord": lambda: ds.MindDataset("s3://bucket/filled/x.mindrecord0", shuffle=False),
    "TFRecord": lambda: ds.TFRecordDataset("s3://bucket/filled/*.tfrecord", shuffle=False),
    "text": lambda: ds.TextFileDataset("s3://bucket/filled/lines.txt", shuffle=False),
    "CSV": lambda: ds.CSVDataset("s3://bucket/filled/table.csv", shuffle=False),
    "image folder": lambda: ds.ImageFolderDataset("s3://bucket/filled/pets", shuffle=False),
}


def rows_of(data: ds.Dataset) -> list[tuple[bytes, ...]]:
    rows = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [tuple(np.asarray(value).tobytes() for value in row) for row in rows]


@pytest.fixture(scope="module")
def wanted(filled: str) -> Iterator[dict[str, list[tuple[bytes, ...]]]]:
    with pytest.MonkeyPatch.context() as patch:
        at(filled, patch)
        yield {name: rows_of(make()) for name, make in SOURCES.items()}


@pytest.mark.parametrize("name", SOURCES)
def test_every_row_once(name: str, wanted: dict[str, list[tuple[bytes, ...]]]) -> None:
    sizes = {"MindRecord": 30, "TFRecord": 30, "text": 40, "CSV": 30, "image folder": 12}
    assert len(wanted[name]) == len(set(wanted[name])) == sizes[name]


# Each seed is a plan of its own; the rate of faults grows with it.
PLANS = [pytest.param(seed, marks=[pytest.mark.nightly] if seed >= 4 else []) for seed in range(40)]


@pytest.mark.parametrize("seed", PLANS)
@pytest.mark.parametrize("name", SOURCES)
def test_the_rows_are_the_same_under_any_plan_of_faults(
    filled: str,
    wanted: dict[str, list[tuple[bytes, ...]]],
    seed: int,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faults = Faults(seed, 0.2 + seed % 4 / 8, most=20)
    with faulty(filled, faults) as address:
        at(address, monkeypatch)
        assert rows_of(SOURCES[name]()) == wanted[name], faults.done


@pytest.mark.parametrize("seed", PLANS)
def test_a_set_is_written_whole_under_any_plan_of_faults(
    filled: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a wrong byte anywhere fails a whole try, of which there are five
    with faulty(filled, Faults(seed, 0.2 + seed % 4 / 8, most=4)) as address:
        at(address, monkeypatch)
        write("s3://bucket/written.mindrecord", 20, shards=2)
        found = remote_glob("s3://bucket/written.mindrecord?")
    assert found == ["s3://bucket/written.mindrecord0", "s3://bucket/written.mindrecord1"]
    at(filled, monkeypatch)
    data = ds.MindDataset("s3://bucket/written.mindrecord0", shuffle=False)
    rows = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert sorted((int(row["n"]), row["b"].tobytes()) for row in rows) == [
        (n, bytes([n]) * 500) for n in range(20)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_fault(filled: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two requests of every three go wrong."""
    faults = Faults(1, rate=1.0, most=12, in_a_row=2, kinds=(kind,))
    with faulty(filled, faults) as address:
        at(address, monkeypatch)
        assert bytes(read_bytes("s3://bucket/filled/pets/dog/02.jpg")) == b"\2" * 902
    assert kind in faults.done


def test_what_came_is_not_asked_for_again(filled: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that is cut goes on where it ended."""
    data = np.random.default_rng(0).bytes(3 << 20)
    (tmp_path / "large").write_bytes(data)
    at(filled, monkeypatch)
    upload(tmp_path / "large", "s3://bucket/large")
    faults = Faults(0, rate=1.0, most=2, in_a_row=2, kinds=("cut",))
    with faulty(filled, faults) as address:
        at(address, monkeypatch)
        download("s3://bucket/large", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == data
    begins = [
        int(part.removeprefix("bytes=").partition("-")[0]) for method, _, part in faults.requests if part
    ]
    assert begins[0] == 0
    assert len(begins) == 2 or begins == sorted(set(begins))
    assert begins[-1] >= 1 << 20  # two thirds had come


def test_after_the_budget_the_object_the_tries_and_the_cause_are_named(
    filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty(filled, Faults(rate=1.0, in_a_row=10**9, kinds=("busy",))) as address:
        at(address, monkeypatch)
        with pytest.raises(DataError, match=r"failed 5 times: OSError: .*503") as caught:
            read_bytes("s3://bucket/filled/lines.txt")
        assert "s3://bucket/filled/lines.txt" in str(caught.value)
        with pytest.raises(MillraceError, match=r"failed 5 times") as caught:
            rows_of(SOURCES["image folder"]())
        assert "s3://bucket/filled/pets" in str(caught.value)
        remote.RETRIES.budget = 2.0
        with pytest.raises(DataError, match=r"failed 3 times \(the retry budget is spent\)"):
            read_bytes("s3://bucket/filled/lines.txt")


def test_a_store_that_does_not_answer_is_not_a_file_that_is_missing(
    filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty(filled, Faults(rate=1.0, most=3, kinds=("busy",))) as address:
        at(address, monkeypatch)
        assert remote_exists("s3://bucket/filled/lines.txt")
        assert not remote_exists("s3://bucket/filled/none.txt")


def test_an_object_that_is_replaced_while_it_is_read(filled: str, tmp_path, monkeypatch) -> None:
    at(filled, monkeypatch)
    (tmp_path / "x").write_bytes(b"first" * 1000)
    upload(tmp_path / "x", "s3://bucket/changing")
    fs = s3_file_system({})
    assert fs is not None
    tag = fs.info("bucket/changing")["e_tag"]
    fs.pipe_file("bucket/changing", b"other" * 1000)
    with pytest.raises(DataError, match="the object was changed while it was read"):
        remote.read_range(fs, "bucket/changing", "s3://bucket/changing", 0, 10, tag)


def test_tags_that_are_no_checksums(filled: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of objects that the store encrypts with keys of its own: two readings that agree are believed."""
    at(filled, monkeypatch)
    monkeypatch.setattr(remote, "etag_matches", lambda tag, data: False)
    (tmp_path / "x").write_bytes(b"abc")
    upload(tmp_path / "x", "s3://bucket/sealed")
    assert bytes(read_bytes("s3://bucket/sealed")) == b"abc"


def test_worker_processes_read_the_copy_of_their_parent(filled: str, monkeypatch, tmp_path) -> None:
    # not `no_leaks`: the store's library keeps its connections for half a minute
    faults = Faults()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with faulty(filled, faults) as address:
        at(address, monkeypatch)
        from millrace._src.core import settings as ours

        with ours.override(executor="processes", num_parallel_workers=2):
            data = SOURCES["text"]()
            assert len(rows_of(data)) == 40
            del data
    gc.collect()
    assert not list(tmp_path.glob("millrace-copy-*"))
    bodies = [path for method, path, _ in faults.requests if method == "GET" and path.endswith("lines.txt")]
    assert len(bodies) == 1
    assert os.environ["AWS_ENDPOINT_URL"] == address


def test_a_bucket_that_is_not_there(filled: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(filled, monkeypatch)
    (tmp_path / "x").write_bytes(b"abc")
    with pytest.raises(DataError, match="uploading failed: NoSuchBucket: there is no bucket none"):
        upload(tmp_path / "x", "s3://none/x")
    with pytest.raises(DataError, match="there is no bucket none"):
        read_bytes("s3://none/x")
    # at once: a bucket that is missing does not come by being asked for again
    with pytest.raises(DataError, match="failed: NoSuchBucket: there is no bucket none"):
        len(ds.TextFileDataset("s3://none/*.txt"))
    with pytest.raises(DataError, match="failed: NoSuchBucket: there is no bucket none"):
        remote_exists("s3://none/x")


def test_missing_keys_are_said_to_be_missing() -> None:
    """Where none are given, the driver asks for those of a machine's role, and names only that address."""
    asked = (
        "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 2s - HTTP error"
    )
    assert "no keys for the store were found: set AWS_ACCESS_KEY_ID" in _first_line(OSError(asked))
    assert _first_line(OSError("503 Slow Down")) == "503 Slow Down"
