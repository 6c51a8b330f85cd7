"""Errors that cross a process border, and runners that cannot."""

import threading

import pytest

from millrace._src.core.errors import DataError, PlanError
from millrace._src.data.engine.executors.processes import ProcessExecutor
from millrace._src.data.engine.executors.processes.launcher import describe_exit
from millrace._src.data.engine.executors.worker_pool.remote_traceback import RemoteTraceback

from .segment_functions import Base, Call, Echo, Raises, chunk_of, result_of


def error_of(executor):
    task = executor.submit(chunk_of(4))
    assert task.wait(60)
    return task.error


def test_the_remote_traceback_is_the_cause(make_processes):
    error = error_of(make_processes(Raises("plain")))
    assert isinstance(error.__cause__, RemoteTraceback)
    assert "segment_functions.py" in str(error.__cause__)
    assert "KeyError: 'missing'" in str(error.__cause__)


def test_a_data_error_is_not_told_twice(make_forked):
    error = error_of(make_forked(Raises("data")))
    assert type(error) is DataError
    assert error.__cause__ is None


@pytest.mark.parametrize("how", ["shaped", "holder"])
def test_an_exception_that_cannot_travel_degrades_to_its_text(make_processes, how):
    error = error_of(make_processes(Raises(how)))
    assert type(error) is RuntimeError
    assert ("ShapedError: 4: four" if how == "shaped" else "Holder: holds a lock") in str(error)
    assert "segment_functions.py" in str(error.__cause__)


def test_sys_exit_in_user_code_is_an_error_not_a_death(make_processes):
    executor = make_processes(Raises("exit"))
    pids = executor.pids()
    error = error_of(executor)
    assert isinstance(error, SystemExit)
    assert executor.pids() == pids


def test_a_result_that_cannot_travel_names_its_column(make_processes):
    with pytest.raises(DataError, match=r"(?s)generator.*python_multiprocessing=False.*column: x"):
        result_of(make_processes(Raises("unsendable")).submit(chunk_of(2)))


def test_a_chunk_that_cannot_travel_is_its_own_error(make_processes):
    executor = make_processes(Echo())
    chunk = chunk_of(1)
    chunk.columns["lock"] = [threading.Lock()]
    with pytest.raises(DataError, match=r"(?s)lock.*column: lock"):
        result_of(executor.submit(chunk))
    result_of(executor.submit(chunk_of(1)))


class Dataset:
    def __init__(self):
        self.size = 3
        self.file = open("/dev/null", "rb")  # noqa: SIM115

    def close(self):
        self.file.close()


class Nested(Base):
    def __init__(self, value):
        self.ops = [Echo(), {"source": value}]


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_an_unpicklable_part_is_named(no_leaks, method):
    dataset = Dataset()
    with pytest.raises(PlanError) as caught:
        ProcessExecutor(Nested(dataset), 2, start_method=method)
    dataset.close()
    text = str(caught.value)
    assert "map(nested) cannot be sent to worker processes" in text
    assert "ops[1]['source'].file, of type _io.BufferedReader" in text
    assert "python_multiprocessing=False" in text


def test_a_lock_in_a_closure_is_named():
    lock = threading.Lock()

    def function(chunk):
        with lock:
            return chunk

    with pytest.raises(PlanError, match=r"function -> variable 'lock' of .*function, of type _thread.lock"):
        ProcessExecutor(Call(function), 1)


def test_fork_needs_no_pickle(no_leaks):
    lock = threading.Lock()

    def function(chunk):
        with lock:
            return chunk

    executor = ProcessExecutor(Call(function), 1, start_method="fork")
    assert len(result_of(executor.submit(chunk_of(4)))[0]) == 4
    executor.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (None, "vanished"),
        (-9, "was killed by SIGKILL (often the out-of-memory killer"),
        (-11, "was killed by SIGSEGV (a crash in native code)"),
        (-15, "was killed by SIGTERM"),
        (-99, "was killed by signal 99"),
        (3, "exited with status 3"),
    ],
)
def test_ends_in_words(code, said):
    assert describe_exit(code).startswith(said)
