"""Q27: RuntimeError: can't start new thread, because num_parallel_workers is too large."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.machine.cores import available_cores

# A user with a limit of its own: root has none, so the script becomes somebody else, after all is imported.
LIMITED = """
    import os, resource, threading, warnings
    import numpy as np
    import millrace.dataset as ds
    warnings.simplefilter("always")
    list(ds.NumpySlicesDataset([1]).batch(1))  # everything is imported now

    def limit(tasks):
        if os.getuid() == 0:
            os.setuid(100_000 + os.getpid())  # nobody else's, whatever runs beside this
        resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))

    def pipeline(workers):
        return ds.NumpySlicesDataset(np.arange(40), shuffle=False).map(lambda x: x + 1, num_parallel_workers=workers)

    def rows(data):
        return [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
"""

root_only = pytest.mark.skipif(
    os.getuid() != 0, reason="needs a user with no other process, so root to become one"
)


def ran(code: str) -> subprocess.CompletedProcess[str]:
    text = textwrap.dedent(LIMITED) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)


@root_only
def test_at_the_limit_the_error_gives_the_numbers() -> None:
    done = ran(
        """
        limit(1)
        try:
            rows(pipeline(16))
        except RuntimeError as error:
            print(error)
        """
    )
    said = done.stdout
    assert said.startswith("can't start new thread: wanted 16 workers, started 0;"), done.stderr
    assert "(ulimit -u) is 1 " in said
    assert "this process runs 1 threads" in said
    assert f"cores available {available_cores()}" in said
    assert "Lower num_parallel_workers, or raise the limit with ulimit -u" in said


@root_only
def test_with_room_for_some_it_goes_on_with_those() -> None:
    done = ran(
        """
        limit(4)
        print(rows(pipeline(16)) == list(range(1, 41)), threading.active_count())
        """
    )
    assert done.stdout == "True 1\n", done.stderr
    assert "(ulimit -u) is 4 " in done.stderr
    # a thread or two of the limit may be taken by libraries
    started = re.search(r"wanted 16 workers, started ([123]);", done.stderr)
    assert started, done.stderr
    assert f"Continuing with {started[1]}" in done.stderr


@root_only
def test_no_process_can_be_started() -> None:
    """Processes are refused too: threads do the work, or the error gives the numbers; nothing hangs."""
    done = ran(
        """
        import millrace._src.data.engine.executors.processes
        limit(1)
        try:
            print(rows(ds.NumpySlicesDataset(np.arange(9), shuffle=False).map(abs, python_multiprocessing=True)))
        except RuntimeError as error:
            print(error)
        """
    )
    assert done.returncode == 0, done.stderr
    assert str(list(range(9))) in done.stdout or "ulimit -u" in done.stdout


def test_more_workers_than_cores_is_allowed() -> None:
    """Useful where the work is waiting: 16 functions wait at the same time on any number of cores."""
    together = threading.Barrier(16)

    def wait(x):
        together.wait(30)
        return x

    ds.config.set_executor("threads")
    ds.config.set_chunk_rows(1)
    data = ds.NumpySlicesDataset(np.arange(32), shuffle=False).map(wait, num_parallel_workers=16)
    assert [int(row[0]) for row in data] == list(range(32))


def test_many_operations_share_one_budget() -> None:
    """Five operations with 16 workers each do not start 80 threads."""
    seen = set()

    def look(x):
        seen.update(thread.name for thread in threading.enumerate() if thread.name.startswith("millrace"))
        return x

    data = ds.NumpySlicesDataset({"x": np.arange(400)}, shuffle=False)
    for _ in range(5):
        data = data.map(look, input_columns="x", num_parallel_workers=16)
    data = data.batch(4, num_parallel_workers=16)
    assert sum(1 for _ in data) == 100
    assert len(seen) <= 16 + 16 + 2


def test_a_number_beyond_reason_is_refused_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="num_parallel_workers"):
        ds.NumpySlicesDataset([1]).map(abs, num_parallel_workers=0)
