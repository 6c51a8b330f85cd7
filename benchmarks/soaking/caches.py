"""Cache servers: one that is killed or stopped and started again, and one that serves all day."""

from __future__ import annotations

import os
import signal
from typing import ClassVar

import millrace.dataset as ds
from benchmarks.soaking import Family, Place
from benchmarks.soaking.pipelines import Squares, add_one, squares
from millrace._src.data.cache import server_admin as admin
from tests.support.cache_server import PORT, CacheHome

__all__ = ["Caches"]

STEADY = PORT + 1


class Caches(Family):
    """Two servers in a home of their own; the steady one is measured."""

    DAY: ClassVar[dict[str, int]] = {"restart_the_cache": 4, "keep_in_the_cache": 8}

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.home = CacheHome()
        self.before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = self.home.env["XDG_RUNTIME_DIR"]
        self.restarted = self.home.start()
        self.steady = self.home.start("--port", str(STEADY))

    def processes(self) -> dict[str, int]:
        return {"a cache server": self.steady}

    def close(self) -> None:
        self.home.close()
        if self.before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = self.before

    def _epochs(self, cache: ds.DatasetCache, processes: bool) -> None:
        for _ in range(2):
            data = ds.GeneratorDataset(Squares(), ["x"], shuffle=False)
            data = data.map(
                add_one, "x", cache=cache, python_multiprocessing=processes, num_parallel_workers=2
            )
            seen = [int(v) for row in self.rows(data.batch(8)) for v in row["x"][:, 0]]
            assert seen == squares()

    def restart_the_cache(self) -> None:
        """A cache server is killed or stopped, started again, and keeps the rows of two epochs."""
        if self.draw.random() < 0.5:
            os.kill(self.restarted, signal.SIGKILL)
        else:
            self.home.run("dataset-cache", "--stop")
        self.restarted = self.home.start()
        self.did["cache servers restarted"] += 1
        self._epochs(ds.DatasetCache(session_id=self.home.session(), size=0, port=PORT), processes=False)

    def keep_in_the_cache(self) -> None:
        """Worker processes keep rows in the cache server that runs all day, in a session that ends with the turn."""
        session = self.home.session(STEADY)
        try:
            self._epochs(ds.DatasetCache(session_id=session, size=0, port=STEADY), processes=True)
        finally:
            admin.destroy(port=STEADY, session=session)
