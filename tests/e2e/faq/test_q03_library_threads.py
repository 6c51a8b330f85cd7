"""Q03: sy occupation is high and us occupation is low: cv2, OpenBLAS and numba threads fight the pipeline's."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import types

import cv2
import numpy as np
import pytest
import threadpoolctl

import millrace.dataset as ds
from millrace._src.data.engine import thread_limits as budget

EXECUTORS = ["threads", "processes"]


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]


def look(x):
    """What a user's function finds: threads of OpenCV, the most threads of any BLAS or OpenMP pool, the process."""
    np.ones((64, 64)) @ np.ones((64, 64))
    pools = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return np.array([cv2.getNumThreads(), max(pools), os.getpid()])


@pytest.fixture(autouse=True)
def no_other_pipeline(monkeypatch):
    """As in a process of the user's in which no other pipeline runs, whatever iterator an earlier test still holds."""
    monkeypatch.setattr(budget, "_caps", budget._ThreadPoolLimits())


@pytest.fixture
def many_threads():
    """The user's process as users have it: libraries free to use several threads each."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(5)
    with threadpoolctl.threadpool_limits(3, user_api="blas"):
        yield
    cv2.setNumThreads(before)


def rows() -> np.ndarray:
    data = ds.NumpySlicesDataset({"x": np.arange(12)}, shuffle=False)
    data = data.map(look, input_columns=["x"], num_parallel_workers=2)
    return np.stack([row["x"] for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)])


def test_a_library_imported_after_us_is_capped_from_the_first_row_on(tmp_path) -> None:
    """SciPy brings a BLAS of its own, and is imported when Millrace has looked for them already."""
    code = """
import numpy as np
import millrace.dataset as ds
import scipy.linalg, threadpoolctl

def most(x):
    return np.array(max(p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"))

with threadpoolctl.threadpool_limits(3, user_api="blas"):
    data = ds.NumpySlicesDataset({"x": np.arange(12)}, shuffle=False).map(most, num_parallel_workers=2)
    print({int(row["x"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)})
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, cwd=tmp_path
    )
    assert (ran.stdout, ran.returncode) == ("{1}\n", 0), ran.stderr


@pytest.mark.parametrize("executor", EXECUTORS)
def test_cv2_and_blas_are_capped_inside_workers(executor, many_threads) -> None:
    ds.config.set_executor(executor)
    cv2_threads, blas, pids = rows().T
    assert set(cv2_threads.tolist()) == {1}
    assert set(blas.tolist()) == {1}
    assert (os.getpid() in pids) == (executor == "threads")


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_users_process_is_left_as_it_was(executor, many_threads) -> None:
    ds.config.set_executor(executor)
    environment = dict(os.environ)
    before = cv2.getNumThreads(), blas_threads()
    rows()
    assert (cv2.getNumThreads(), blas_threads()) == before
    assert cv2.getNumThreads() == 5
    assert dict(os.environ) == environment


def test_many_runs_with_many_workers_leave_it_as_it_was() -> None:
    """In a process of its own: here nobody has asked threadpoolctl for anything before."""
    code = """
        import numpy as np, threadpoolctl
        import millrace.dataset as ds
        def blas():
            return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
        before = blas()
        ds.config.set_executor("threads")
        for _ in range(30):
            list(ds.NumpySlicesDataset(np.arange(20), ["x"]).map(lambda x: x, num_parallel_workers=4))
            assert blas() == before, (before, blas())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_left_as_it_was_after_an_early_stop_and_after_an_error(many_threads) -> None:
    data = ds.NumpySlicesDataset({"x": np.arange(1000)}, shuffle=False).map(look, "x")
    iterator = data.create_dict_iterator(output_numpy=True)
    next(iterator)
    iterator.stop()
    assert cv2.getNumThreads() == 5
    failing = ds.NumpySlicesDataset({"x": np.arange(8)}, shuffle=False).map(lambda x: 1 // int(x), "x")
    with pytest.raises(RuntimeError):
        list(failing)
    assert (cv2.getNumThreads(), set(blas_threads())) == (5, {3})


def test_numba_is_capped_inside_threads(monkeypatch) -> None:
    """numba keeps its number by thread; a stand-in shows that the workers' is set and the user's is not."""
    import threading

    kept = threading.local()
    numba = types.ModuleType("numba")
    numba.set_num_threads = lambda n: setattr(kept, "n", n)
    numba.get_num_threads = lambda: getattr(kept, "n", 8)
    monkeypatch.setitem(sys.modules, "numba", numba)
    data = ds.NumpySlicesDataset({"x": np.arange(6)}, shuffle=False)
    data = data.map(lambda x: np.int64(numba.get_num_threads()), "x", num_parallel_workers=2)
    assert {int(row[0]) for row in data} == {1}
    assert numba.get_num_threads() == 8


def test_libraries_loaded_inside_a_worker_process_are_capped() -> None:
    """numba and OpenBLAS read the environment when they load, also where the function imports them itself."""
    ds.config.set_executor("processes")

    def inside(x):
        import os

        import cv2

        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        return np.array([cv2.getNumThreads(), *(int(os.environ.get(name, 0)) for name in names)])

    data = ds.NumpySlicesDataset({"x": np.arange(4)}, shuffle=False).map(inside, "x", num_parallel_workers=2)
    assert {
        tuple(row[0].tolist()) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    } == {(1,) * 5}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_it_says_what_it_did(executor) -> None:
    code = f"""
        import cv2, numpy as np, logging
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        import millrace.dataset as ds
        ds.config.set_executor({executor!r})
        data = ds.NumpySlicesDataset({{"x": np.arange(4)}}).map(lambda x: cv2.getNumThreads() + x, "x")
        list(data)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    said = [line for line in done.stderr.splitlines() if "OpenCV" in line and "->" in line]
    assert len(said) == 1, done.stderr
    assert "OpenCV" in said[0]
    assert "BLAS" in said[0]


def test_the_users_own_call_does_no_harm() -> None:
    """``cv2.setNumThreads(2)`` in the function, as the page advises, still works."""

    def resize(x):
        cv2.setNumThreads(2)
        return cv2.resize(np.full((8, 8), x, np.float32), (4, 4))

    before = cv2.getNumThreads()
    data = ds.NumpySlicesDataset({"x": np.arange(4)}, shuffle=False).map(resize, "x").batch(4)
    assert next(iter(data))[0].shape == (4, 4, 4)
    assert cv2.getNumThreads() == before
