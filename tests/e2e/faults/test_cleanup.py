"""However a run ends, nothing is left: no thread, process, file or shared block."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from tests.contracts.pipelines.pipelines import PIPELINES

EXECUTORS = ["inline", "threads", "processes"]
SOME = ["batch", "random map", "filter", "stream shuffle", "zip of unequal", "shuffle of repeat", "flat map"]


def script(code: str) -> str:
    return textwrap.dedent(code)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", SOME)
def test_consumer_stops_early(name: str, executor: str, no_leaks: None) -> None:
    settings.update(executor=executor)
    iterator = PIPELINES[name]().create_dict_iterator()
    next(iterator)
    iterator.stop()
    with pytest.raises(RuntimeError, match="does not have a running pipeline"):
        next(iterator)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", SOME)
def test_iterator_dropped(name: str, executor: str, no_leaks: None) -> None:
    settings.update(executor=executor)
    data = PIPELINES[name]()
    for _ in data.create_dict_iterator():
        break
    del data
    gc.collect()


def test_dataset_dropped_before_its_iterator(no_leaks: None) -> None:
    iterator = PIPELINES["batch"]().create_dict_iterator(num_epochs=1)
    gc.collect()
    assert len(list(iterator)) == 6


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_interpreter_ends_with_a_live_iterator(executor: str) -> None:
    code = script(
        f"""
        import numpy as np
        import millrace.dataset as ds
        from millrace._src.core import settings
        settings.update(executor={executor!r})
        data = ds.NumpySlicesDataset(np.arange(100000)).map(lambda x: x + 1).batch(10).repeat()
        iterator = data.create_dict_iterator()
        next(iterator)
        print("bye")
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "bye\n", "")


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_control_c(executor: str) -> None:
    """SIGINT to the whole foreground group, as a terminal sends it, while rows are being made."""
    code = script(
        f"""
        import time
        import millrace.dataset as ds
        from millrace._src.core import settings
        settings.update(executor={executor!r})
        def slow(x):
            time.sleep(0.01)
            return x
        data = ds.GeneratorDataset(range(100000), "x").map(slow).batch(10)
        try:
            for step, row in enumerate(data):
                if step == 3:
                    print("running", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:  # nothing that a test starts outlives it, red or green
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, out) == (0, "interrupted\n"), err
    assert "Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # no worker outlives it


def test_worker_killed_mid_epoch_is_replaced(no_leaks: None) -> None:
    settings.update(executor="processes", num_parallel_workers=2, chunk_rows=4)
    data = ds.NumpySlicesDataset(np.arange(400), shuffle=False).map(
        lambda x: (x, np.int64(os.getpid())), output_columns=["x", "pid"]
    )
    rows, killed = [], 0
    for x, pid in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        rows.append(int(x))
        if len(rows) == 40:
            killed = int(pid)
            os.kill(killed, signal.SIGKILL)
    assert rows == list(range(400))
    assert killed


def test_worker_that_always_dies_is_an_error(no_leaks: None) -> None:
    def die(x: Any) -> Any:
        if int(x) == 30:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    settings.update(executor="processes", num_parallel_workers=2, chunk_rows=4)
    data = ds.NumpySlicesDataset(np.arange(100), shuffle=False).map(die)
    seen = []
    with pytest.raises(RuntimeError, match="SIGKILL") as caught:  # noqa: PT012
        for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
            seen.append(int(x))
    assert seen == list(range(28))
    assert "die" in str(caught.value)


def test_no_more_threads_gives_the_numbers() -> None:
    """A stack no machine has makes the system refuse the thread, as it does at ``ulimit -u``."""
    code = script(
        """
        import threading
        import millrace.dataset as ds
        data = ds.NumpySlicesDataset(list(range(100))).batch(4)
        threading.stack_size(1 << 46)
        try:
            next(iter(data))
        except RuntimeError as error:
            print(error)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    for word in ("can't start new thread", "ulimit -u", "cores available", "num_parallel_workers"):
        assert word in done.stdout, done.stderr


def test_fewer_threads_than_asked_go_on(monkeypatch: pytest.MonkeyPatch, no_leaks: None) -> None:
    started = 0
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        nonlocal started
        if thread.name.startswith("millrace"):
            started += 1
            if started > 2:
                raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    data = ds.NumpySlicesDataset(list(range(10)), shuffle=False, num_parallel_workers=16)
    with pytest.warns(UserWarning, match="started 2"):
        assert [int(row[0]) for row in data] == list(range(10))


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_200_pipelines_leave_nothing(no_leaks: None) -> None:
    def once(k: int) -> None:
        data = PIPELINES[SOME[k % len(SOME)]]()
        iterator = data.create_dict_iterator(num_epochs=2)
        for step, _ in enumerate(iterator):
            if step == k % 4:
                break
        if k % 2:
            iterator.stop()

    for k in range(50):
        once(k)
    gc.collect()
    before = resident()
    for k in range(200):
        once(k)
    gc.collect()
    assert resident() - before < 16 << 20


def test_watchdog_names_the_op_and_shows_where_it_stands(caplog: pytest.LogCaptureFixture) -> None:
    free = threading.Event()

    def stuck(x: Any) -> Any:
        free.wait(30)
        return x

    ds.config.set_multiprocessing_timeout_interval(1)
    data = ds.NumpySlicesDataset([1, 2, 3], shuffle=False).map(stuck)

    class Release:
        """Lets the function go on as soon as the watchdog has spoken."""

        def filter(self, record: Any) -> bool:
            free.set()
            return True

    from millrace._src.data.engine import pipeline_run as driver

    driver.log.addFilter(watcher := Release())
    try:
        assert [int(row[0]) for row in data] == [1, 2, 3]
    finally:
        driver.log.removeFilter(watcher)
    assert "produced nothing for" in caplog.text
    assert "stuck" in caplog.text
    assert "free.wait(30)" in caplog.text
