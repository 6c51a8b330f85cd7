"""An object store over HTTP, behind a proxy that does harm: read from, written to, trained to."""

from __future__ import annotations

import contextlib
import os
from typing import Any, ClassVar

import millrace.dataset as ds
from benchmarks.soaking import Family, Place
from benchmarks.soaking.trainings import trained
from millrace._src.core.io import remote
from millrace._src.core.io.remote import upload
from millrace.mindrecord import FileWriter
from tests.support.faulty_s3_proxy import Proxy
from tests.support.s3_server import s3_server

__all__ = ["Stores"]

ROWS = 40
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


class Stores(Family):
    """The store and the proxy are processes of their own, and none of Millrace's: they are not measured."""

    DAY: ClassVar[dict[str, int]] = {"read_from_a_store": 8, "write_to_a_store": 8, "save_to_a_store": 4}

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.closing = contextlib.ExitStack()
        try:
            self.proxy = Proxy(self.closing.enter_context(s3_server()))
            self.closing.callback(self.proxy.close)
        except BaseException:
            self.closing.close()
            raise
        self.before = {name: os.environ.get(name) for name in (*KEYS, "AWS_ENDPOINT_URL")}
        os.environ |= KEYS | {"AWS_ENDPOINT_URL": self.proxy.address}
        self.pause, remote.RETRIES.pause = remote.RETRIES.pause, 0.001  # a day has time to wait
        (self.folder / "lines.txt").write_text("".join(f"line {n}\n" for n in range(ROWS)))
        upload(self.folder / "lines.txt", "s3://bucket/lines.txt")
        for n in range(12):
            (self.folder / "image").write_bytes(bytes([n]) * (900 + n))
            upload(self.folder / "image", f"s3://bucket/pets/{'cat' if n % 2 else 'dog'}/{n:02}.jpg")
        self._write("s3://bucket/x.mindrecord")
        self.whole = trained(self, 2, "s3://bucket/whole")

    def close(self) -> None:
        remote.RETRIES.pause = self.pause
        for name, value in self.before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        self.closing.close()

    @contextlib.contextmanager
    def _faults(self, rate: float, most: int) -> Any:
        self.proxy.plan(seed=self.draw.randrange(10**6), rate=rate, most=most)
        try:
            yield
        finally:
            done = self.proxy.plan()
            self.did["requests to the object store"] += done["requests"]
            self.did["of them with a fault"] += done["faults"]

    def _write(self, address: str) -> None:
        writer = FileWriter(address, shard_num=2, overwrite=True)
        writer.add_schema({"n": {"type": "int32"}, "b": {"type": "bytes"}})
        writer.write_raw_data([{"n": n, "b": bytes([n]) * 500} for n in range(ROWS)])
        writer.commit()

    def _check_records(self, address: str) -> None:
        rows = self.rows(ds.MindDataset(f"{address}0", shuffle=True), batched=False)
        assert sorted((int(row["n"]), row["b"].tobytes()) for row in rows) == [
            (n, bytes([n]) * 500) for n in range(ROWS)
        ]

    def read_from_a_store(self) -> None:
        """Records, lines and pictures of an object store that is slow, busy, cuts and resets: every row once, right."""
        with self._faults(0.2, most=20):
            self._check_records("s3://bucket/x.mindrecord")
            lines = self.rows(ds.TextFileDataset("s3://bucket/*.txt", shuffle=False), batched=False)
            assert [str(row["text"]) for row in lines] == [f"line {n}" for n in range(ROWS)]
            pets = ds.ImageFolderDataset("s3://bucket/pets", shuffle=False, num_parallel_workers=2)
            found = [row["image"].tobytes() for row in self.rows(pets, batched=False)]
            assert sorted(found) == sorted(bytes([n]) * (900 + n) for n in range(12))

    def write_to_a_store(self) -> None:
        """A set of records is written there, with faults on the way, and read back."""
        with self._faults(0.2, most=4):  # a wrong byte fails a whole upload, which has five tries
            self._write("s3://bucket/written.mindrecord")
            self._check_records("s3://bucket/written.mindrecord")

    def save_to_a_store(self) -> None:
        """A training keeps its checkpoints there, and is resumed from there to the same bits."""
        for name in remote.remote_glob("s3://bucket/run/*"):
            remote.remove(name)
        with self._faults(0.1, most=4):
            trained(self, 1, "s3://bucket/run")
            assert trained(self, 2, "s3://bucket/run", resume="s3://bucket/run") == self.whole
        self.did["trainings resumed"] += 1
