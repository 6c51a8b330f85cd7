"""Workers that die, hang or cannot start: a clear outcome for every task, and nothing left behind."""

import errno
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from millrace._src.core.errors import ArgumentValueError, PlanError, ResourceError, WorkerDiedError
from millrace._src.data.engine.executors.processes import ProcessExecutor, forkserver
from millrace._src.data.engine.executors.processes import launcher as launch

from .segment_functions import (
    BadLoad,
    Closes,
    CrashLoad,
    Dies,
    Echo,
    Forever,
    Gate,
    alive,
    chunk_of,
    result_of,
    wait_until,
)


def began(folder, count=1):
    """The pids of workers that have a chunk in hand, once there are as many."""

    def there():
        pids = [int(path.name[6:]) for path in folder.glob("began-*")]
        return pids if len(pids) >= count else None

    return wait_until(there)


def test_a_worker_killed_in_mid_task_is_replaced(no_leaks, make_processes, tmp_path):
    executor = make_processes(Gate(tmp_path))
    tasks = [executor.submit(chunk_of(5, 5 * i)) for i in range(6)]
    victim = began(tmp_path)[0]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(list(tmp_path.glob("began-*"))) == 3)  # two at first, and the one that replaced it
    (tmp_path / "go").touch()
    for i, task in enumerate(tasks):
        chunk, pid = result_of(task)
        assert chunk.columns["x"].tolist() == list(range(5 * i, 5 * i + 5))
        assert pid != victim
    assert executor.num_workers == len(executor.pids()) == 2
    executor.close()


def test_all_workers_killed_again_and_again(no_leaks, make_processes):
    executor = make_processes(Echo(), workers=2)
    for round_ in range(8):
        for pid in executor.pids():
            os.kill(pid, signal.SIGKILL)
        tasks = [executor.submit(chunk_of(3, i)) for i in range(6)]
        assert [result_of(t)[0].columns["x"][0] for t in tasks] == list(range(6)), round_
    executor.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGUSR2, "exit"], ids=str)
def test_a_chunk_that_kills_twice_fails_and_the_others_live(no_leaks, make_processes, how):
    executor = make_processes(Dies(12, how=how))
    tasks = [executor.submit(chunk_of(5, 5 * i)) for i in range(8)]
    for i, task in enumerate(tasks):
        assert task.wait(60)
        if i != 2:
            assert task.error is None
    error = tasks[2].error
    assert isinstance(error, WorkerDiedError)
    assert "map(dies)" in str(error)
    assert "rows 10-14" in str(error)
    assert "ids 10, 11" in str(error)
    assert {"exit": "status 3", signal.SIGUSR2: "SIGUSR2"}.get(how, "SIGKILL (often the out-of") in str(error)
    executor.close()


def test_a_crash_in_native_code_shows_where(make_forked, capfd):
    task = make_forked(Dies(0, how=signal.SIGSEGV)).submit(chunk_of(1))
    with pytest.raises(WorkerDiedError, match=r"SIGSEGV \(a crash in native code"):
        result_of(task)
    printed = capfd.readouterr().err
    assert "Segmentation fault" in printed
    assert "segment_functions.py" in printed


def test_a_chunk_that_kills_once_runs_again(make_processes, tmp_path):
    executor = make_processes(Dies(3, tmp_path), workers=1)
    assert len(result_of(executor.submit(chunk_of(5)))[0]) == 5


def test_workers_that_die_while_loading_fail_at_last(no_leaks, make_forked):
    executor = make_forked(CrashLoad())
    tasks = [executor.submit(chunk_of(1, i)) for i in range(12)]
    for task in tasks:
        assert task.wait(60)
        assert isinstance(task.error, WorkerDiedError)
        assert "status 9" in str(task.error)
    assert "in a row" in str(tasks[-1].error)
    late = executor.submit(chunk_of(1))
    assert late.done()
    assert isinstance(late.error, WorkerDiedError)
    executor.close()


def test_a_runner_that_does_not_load_names_the_module(no_leaks, make_forked):
    executor = make_forked(BadLoad())
    with pytest.raises(PlanError, match=r"a_module_that_is_not_there.*register_pickle_by_value"):
        result_of(executor.submit(chunk_of(1)))
    with pytest.raises(PlanError, match="a_module_that_is_not_there"):
        result_of(executor.submit(chunk_of(1)))
    executor.close()


def test_close_ends_a_worker_that_never_returns(no_leaks, make_processes, tmp_path):
    executor = make_processes(Forever(tmp_path), grace=0.1)
    tasks = [executor.submit(chunk_of(1)) for _ in range(5)]
    pids = began(tmp_path, 2)
    executor.close()
    assert not any(map(alive, pids))
    for task in tasks:
        assert task.done()
        assert isinstance(task.error, WorkerDiedError)


def test_close_ends_a_stopped_worker(no_leaks, make_forked):
    executor = make_forked(Echo(), grace=0.1)
    result_of(executor.submit(chunk_of(1)))
    for pid in executor.pids():
        os.kill(pid, signal.SIGSTOP)
    executor.close()


def test_close_while_workers_are_being_killed(no_leaks, make_processes):
    executor = make_processes(Echo(), workers=3)
    stop = threading.Event()

    def killer():
        while not stop.is_set():
            for pid in executor.pids():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    thread = threading.Thread(target=killer)
    thread.start()
    tasks = [executor.submit(chunk_of(3)) for _ in range(20)]
    executor.close()
    stop.set()
    thread.join()
    assert all(task.done() for task in tasks)


def test_an_idle_worker_closes_its_runner(make_processes, tmp_path):
    executor = make_processes(Closes(tmp_path))
    pids = {result_of(executor.submit(chunk_of(1)))[1] for _ in range(20)}
    everyone = set(executor.pids())
    executor.close()
    closed = {int(path.name[7:]) for path in tmp_path.glob("closed-*")}
    assert pids <= everyone <= closed
    assert closed - everyone == {os.getpid()}  # the parent's own copy, once


def test_dropped_without_close(no_leaks):
    executor = ProcessExecutor(Echo(), 2, name="dropped")
    task = executor.submit(chunk_of(1))
    result_of(task)
    del executor, task
    gc.collect()  # no_leaks waits for the closing thread


def test_stacks_of_a_stuck_worker(make_processes, tmp_path):
    executor = make_processes(Forever(tmp_path), grace=0.1)
    executor.submit(chunk_of(4))
    (pid,) = began(tmp_path)

    def stacks() -> str:
        """It has begun, but it may not have come to the loop yet, nor its dump to the end of the stack."""
        text, deadline = executor.stacks(), time.monotonic() + 60
        while "a_loop_with_a_name" not in text and time.monotonic() < deadline:
            text = executor.stacks()
        return text

    text = stacks()
    assert "a_loop_with_a_name" in text
    assert f"process {pid}" in text
    assert "working on rows 0-3" in text
    assert "waiting for work" in text
    assert stacks().count("a_loop_with_a_name") == 1  # asking does no harm, and again works
    assert alive(pid)


# ---- the machine refuses -------------------------------------------------------------------------------


def refuse_after(monkeypatch, count, error):
    real, left = launch.ProcessLauncher.start, [count]

    def start(self, *given):
        left[0] -= 1
        if left[0] < 0:
            raise error
        return real(self, *given)

    monkeypatch.setattr(launch.ProcessLauncher, "start", start)


EAGAIN = OSError(errno.EAGAIN, "Resource temporarily unavailable")


def test_fewer_workers_than_asked_go_on(no_leaks, monkeypatch):
    refuse_after(monkeypatch, 2, EAGAIN)
    with pytest.warns(UserWarning, match=r"wanted 5, started 2.*ulimit -u.*Continuing with 2"):
        executor = ProcessExecutor(Echo(), 5)
    assert executor.num_workers == 2
    result_of(executor.submit(chunk_of(3)))
    executor.close()


def test_no_worker_at_all_is_an_error_with_the_numbers(no_leaks, monkeypatch):
    refuse_after(monkeypatch, 0, EAGAIN)
    with pytest.raises(ResourceError, match=r"wanted 5, started 0.*ulimit -u\).*ulimit -n\)"):
        ProcessExecutor(Echo(), 5)


def test_no_threads_for_the_lanes(no_leaks, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ResourceError, match="can't start new thread"):
        ProcessExecutor(Echo(), 3)


def test_a_lost_worker_that_cannot_be_replaced_leaves_the_others(no_leaks, monkeypatch):
    executor = ProcessExecutor(Echo(), 2)
    result_of(executor.submit(chunk_of(1)))
    refuse_after(monkeypatch, 0, EAGAIN)
    os.kill(executor.pids()[0], signal.SIGKILL)
    for _ in range(10):
        result_of(executor.submit(chunk_of(1)))
    for pid in executor.pids():
        os.kill(pid, signal.SIGKILL)
    task = executor.submit(chunk_of(1))
    assert task.wait(60)
    assert isinstance(task.error, ResourceError)
    assert "started 0" in str(task.error)
    executor.close()


def test_descriptors_run_out_for_real():
    code = """
import resource, sys, warnings
import numpy as np
from millrace._src.core.values.chunk import Chunk
from millrace._src.core.errors import ResourceError
from millrace._src.data.engine.executors.processes import ProcessExecutor
class Echo:
    def __call__(self, chunk): return chunk, None
    def init_worker(self, worker): pass
    def describe(self): return "echo"
    def close(self): pass
resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    executor = ProcessExecutor(Echo(), 50)
print("started", executor.num_workers > 0, "fewer", executor.num_workers < 50)
print("said", "ulimit -n" in str(said[0].message))
task = executor.submit(Chunk({"x": np.arange(4)}, np.arange(4, dtype=np.uint64)))
print("ran", task.wait(60), task.error)
executor.close()
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.splitlines() == ["started True fewer True", "said True", "ran True None"], done.stderr


def test_unknown_start_method():
    with pytest.raises(ArgumentValueError, match="forkserver, spawn, fork"):
        ProcessExecutor(Echo(), 1, start_method="magic")


# ---- the fork server -----------------------------------------------------------------------------------


def test_a_killed_fork_server_is_replaced(tmp_path):
    executor = ProcessExecutor(Gate(tmp_path), 2)
    server = forkserver.current()
    tasks = [executor.submit(chunk_of(2)) for _ in range(4)]
    old = set(began(tmp_path, 2))
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: not any(map(alive, old)))  # its workers went with it
    (tmp_path / "go").touch()
    for task in tasks:
        result_of(task)
    assert forkserver.current().pid != server.pid
    executor.close()


def test_one_server_for_all_and_none_after_stop(warm):
    first = forkserver.current()
    one, two = ProcessExecutor(Echo(), 1), ProcessExecutor(Echo(), 1)
    assert forkserver.current() is first
    assert forkserver.helper() == (first.pid, first.sock.fileno())
    one.close()
    two.close()
    forkserver.stop()
    assert not alive(first.pid)
    assert forkserver.helper() is None


def test_a_forked_child_of_the_parent_has_its_own(warm):
    """The copy in the child is inert, closing it harms nobody, and a new executor works there."""
    executor = ProcessExecutor(Echo(), 1)
    result_of(executor.submit(chunk_of(1)))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with pytest.raises(RuntimeError, match="belong to the process"):
                executor.submit(chunk_of(1))
            executor.close()
            with_own = ProcessExecutor(Echo(), 1)
            result_of(with_own.submit(chunk_of(1)))
            with_own.close()
            forkserver.stop()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    result_of(executor.submit(chunk_of(1)))
    executor.close()


# ---- the parent dies -----------------------------------------------------------------------------------

ORPHANS = """
import sys, time
import numpy as np
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.executors.processes import forkserver
from millrace._src.data.engine.executors.processes import ProcessExecutor
class Busy:
    def __call__(self, chunk):
        while True: sum(range(1000))
    def init_worker(self, worker): pass
    def describe(self): return "busy"
    def close(self): pass
class Idle(Busy):
    def __call__(self, chunk): return chunk, None
busy = ProcessExecutor(Busy(), 2, start_method=sys.argv[1])
idle = ProcessExecutor(Idle(), 2, start_method=sys.argv[1])
chunk = Chunk({"x": np.arange(4)}, np.arange(4, dtype=np.uint64))
for _ in range(2): busy.submit(chunk)
idle.submit(chunk).wait(60)
helper = forkserver.helper()
print(*busy.pids(), *idle.pids(), *([helper[0]] if helper else []), flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("method", launch.METHODS)
def test_nobody_outlives_a_killed_parent(method):
    command = [sys.executable, "-c", ORPHANS, method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        family = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(family) == (5 if method == "forkserver" else 4)
        assert all(map(alive, family))
        parent.kill()
    wait_until(lambda: not any(map(alive, family)), seconds=20)


def test_the_last_worker_stays_when_others_are_let_go(no_leaks, make_processes):
    executor = make_processes(Echo(), workers=3)
    executor.resize(1)
    tasks = [executor.submit(chunk_of(2, 2 * i)) for i in range(6)]
    for i, task in enumerate(tasks):
        assert result_of(task)[0].columns["x"].tolist() == [2.0 * i, 2.0 * i + 1]
    wait_until(lambda: len(executor.pids()) == 1)
    # a sign to end that was meant for one that is gone already
    executor._pool.shrink(1)
    assert result_of(executor.submit(chunk_of(1, 7)))[0].columns["x"].tolist() == [7.0]
    assert executor.resize(2) == 2
    wait_until(lambda: len(executor.pids()) == 2)
    executor.close()
