"""The n-th system call fails, for n = 1, 2, 3 ... until none is left to fail: every row is right all the same.

In the manner of sqlite's tests of memory that runs out. A call fails once (transient), or from the n-th on (lasting).
"""

from __future__ import annotations

import errno
import os
import socket
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import MillraceError
from millrace._src.core.log import reset_warn_once
from millrace._src.core.machine import shared_memory as slab
from millrace._src.data.cache.in_process_server import stop_in_process_server
from millrace._src.data.engine.segment import cached_read_step as kept

from .cache_rows import Numbered

ROWS = 12
MOST = 400


class Faults:
    """Counts calls of this test's thread and of those it names, and lets the n-th fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls, self.at, self.lasting, self.fired = 0, 0, False, 0
        self.error = errno.ENOSPC
        for owner, name in (
            (os, "pwritev"),
            (os, "pwrite"),
            (os, "ftruncate"),
            (os, "memfd_create"),
            (os, "open"),
            (slab, "map_fd"),
        ):
            monkeypatch.setattr(owner, name, self._failing(getattr(owner, name)))
        for name in ("sendmsg", "recvmsg", "connect"):
            monkeypatch.setattr(socket.socket, name, self._failing(getattr(socket.socket, name)))

    def _failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*arguments: Any, **more: Any) -> Any:
            if self.at and not _reads(arguments):
                self.calls += 1
                if self.calls == self.at or (self.lasting and self.calls > self.at):
                    self.fired += 1
                    raise OSError(self.error, os.strerror(self.error))
            return call(*arguments, **more)

        return failing

    def arm(self, at: int, lasting: bool, error: int) -> None:
        self.calls, self.fired, self.at, self.lasting, self.error = 0, 0, at, lasting, error

    def disarm(self) -> None:
        self.at = 0


def _reads(arguments: tuple[Any, ...]) -> bool:
    """What is asked of files that are no part of the cache: what the engine reads about the machine, say."""
    first = arguments[0] if arguments else None
    return isinstance(first, (str, Path)) and str(first).startswith(("/proc", "/sys"))


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    monkeypatch.setattr(kept, "TRIAL_CHUNKS", 1 << 30)
    made = Faults(monkeypatch)
    yield made
    made.disarm()
    stop_in_process_server()


def double(x: Any) -> Any:
    return x * 2


def right(data: ds.Dataset, *, may_refuse: bool = False) -> bool:
    """Whether every row comes as it must; a cache may say before the first one that it cannot be used."""
    try:
        iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    except MillraceError:
        return may_refuse
    rows = [row["x"] for row in iterator]
    wanted = [np.full(4096, 2 * i, np.int32) for i in range(ROWS)]
    return len(rows) == ROWS and all(map(np.array_equal, rows, wanted))


def data_of(cache: Any, by_number: bool) -> ds.Dataset:
    made = ds.GeneratorDataset(Numbered(ROWS), ["x", "t"], shuffle=False).map(double, "x")
    return (made if by_number else made.filter(lambda t: True, "t")).cache(cache)


@pytest.mark.parametrize("by_number", [True, False], ids=["by number", "by place"])
@pytest.mark.parametrize("where", ["memory", "folder"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.filterwarnings("ignore")
def test_the_nth_call_fails(
    faults: Faults, where: str, by_number: bool, lasting: bool, tmp_path: Path
) -> None:
    ds.config.set_num_parallel_workers(1)
    for at in range(1, MOST):
        reset_warn_once()
        error = (errno.ENOSPC, errno.EIO, errno.EMFILE)[at % 3]
        cache = ds.DatasetCache() if where == "memory" else ds.DatasetCache(path=str(tmp_path / f"{at}"))
        if where == "memory":
            cache.resolve()
            cache.get_stat()  # the server runs, and is reached
        data = data_of(cache, by_number)
        faults.arm(at, lasting, error)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2):
                assert right(data, may_refuse=True)
        fired = faults.fired
        faults.disarm()
        # afterwards: the rows that were kept are right, and a fresh cache works
        again = data_of(cache, by_number)
        assert right(again)
        assert right(again)
        stop_in_process_server()
        if not fired:
            return
    pytest.fail(f"{MOST} calls and no end")
