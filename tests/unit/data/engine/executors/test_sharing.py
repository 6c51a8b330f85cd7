"""What is shared: large arrays once for all workers, results without a copy, slabs used again."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest

from millrace._src.data.engine.executors.processes import ProcessExecutor
from millrace._src.data.engine.executors.worker_pool import worker_setup as kit
from tests.support.leaks import family, mapped

from .segment_functions import Double, Echo, Facts, Keeps, Prints, Table, chunk_of, result_of


def memory_of(pid):
    """Proportional and private bytes of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return 1024 * kib["Pss"], 1024 * (kib["Private_Dirty"] + kib["Private_Clean"])


def held_by(method, workers, size):
    """Proportional bytes of workers that have all read a table of so many, and the private bytes of each."""
    executor = ProcessExecutor(Table(size), workers, start_method=method)
    readers = set()
    while len(readers) < workers:  # until every worker has read every page
        tasks = [executor.submit(chunk_of(1)) for _ in range(workers)]
        reports = [result_of(task)[1] for task in tasks]
        assert [total for _, total in reports] == [size] * workers
        readers |= {pid for pid, _ in reports}
    each = [memory_of(pid) for pid in executor.pids()]
    executor.close()
    return sum(pss for pss, _ in each), [private for _, private in each]


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_large_array_in_the_runner_exists_once(method, no_leaks):
    size = 200_000_000
    for workers in (2, 4):
        # what the interpreters take themselves depends on all that this process has imported
        alone, _ = held_by(method, workers, 1000)
        together, private = held_by(method, workers, size)
        assert together - alone < 1.25 * size
        assert all(own < size // 2 for own in private)


def test_the_kit_cannot_be_changed():
    fd = kit.write_worker_setup(Table(10_000))
    with pytest.raises(PermissionError):
        os.pwrite(fd, b"x", 0)
    runner = kit.load_runner(fd)
    runner.data[:] = 7  # a worker's own copy, page by page
    assert kit.load_runner(fd).data[0] == 1
    os.close(fd)


def test_results_are_views_that_outlive_the_executor(make_processes):
    executor = make_processes(Double())
    chunks = [result_of(executor.submit(chunk_of(64, 64 * i, width=500)))[0] for i in range(10)]
    executor.close()
    gc.collect()
    for i, chunk in enumerate(chunks):
        x = chunk.columns["x"]
        assert not x.flags.owndata
        assert x.flags.writeable
        assert x[:, 0].tolist() == [2.0 * k for k in range(64 * i, 64 * i + 64)]


def test_results_held_are_not_overwritten(make_forked):
    executor = make_forked(Echo())
    held = []
    for i in range(40):
        held.append(result_of(executor.submit(chunk_of(64, i, width=300)))[0].columns["x"][5])
    assert [row[0] for row in held] == [i + 5 for i in range(40)]


def test_slabs_are_used_again(make_forked):
    executor = make_forked(Echo(), workers=1)
    for _ in range(50):
        result_of(executor.submit(chunk_of(64, width=300)))
    worker = executor._pool.supervisors[0].worker
    assert worker.channel.pool.num_created <= 3  # requests
    assert len(worker.channel.leases) <= 3  # results


def test_many_results_held_take_no_descriptors(make_forked):
    executor = make_forked(Echo())
    result_of(executor.submit(chunk_of(64, width=300)))
    before = len(os.listdir("/proc/self/fd"))
    held = [result_of(executor.submit(chunk_of(64, width=300))) for _ in range(100)]
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(held) == 100


def test_input_that_user_code_keeps_is_not_overwritten(make_processes):
    executor = make_processes(Keeps(), workers=1)
    for i in range(10):
        chunk, _ = result_of(executor.submit(chunk_of(64, i, width=300)))
        assert chunk.columns["x"][0, 0] == 0


def test_a_full_shm_does_not_matter(make_forked, monkeypatch):
    """Nothing of ours lies there: chunks pass with no room in it at all."""
    from types import SimpleNamespace

    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=0, f_frsize=4096))
    executor = make_forked(Echo())
    before = mapped(family())
    held = result_of(executor.submit(chunk_of(64, width=3000)))
    assert mapped(family()) <= before
    del held


def test_no_shared_memory_at_all_is_the_tasks_error(make_forked, monkeypatch):
    from millrace._src.core.errors import ResourceError
    from millrace._src.core.machine import shared_memory as slab

    executor = make_forked(Echo())

    def refuse(*_):
        raise OSError(38, "not here")

    monkeypatch.setattr(os, "memfd_create", refuse)
    monkeypatch.setattr(slab, "fallback_folders", list)
    with pytest.raises(ResourceError, match="cannot allocate"):
        result_of(executor.submit(chunk_of(64, width=3000)))
    monkeypatch.undo()
    result_of(executor.submit(chunk_of(64, width=3000)))  # and the worker lives on


def test_the_world_of_a_worker(make_processes, monkeypatch, tmp_path):
    """Environment, folder and path as they are when the executor starts, long after the fork server did."""
    monkeypatch.setenv("MILLRACE_TEST_VALUE", "fresh")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "more"))
    executor = make_processes(Facts())
    facts = {}
    while len(facts) < 2:
        tasks = [executor.submit(chunk_of(1)) for _ in range(4)]
        facts |= {report["pid"]: report for report in (result_of(task)[1] for task in tasks)}
    one, two = facts.values()
    for fact in (one, two):
        assert fact["cwd"] == str(tmp_path)
        assert fact["env"] == "fresh"
        assert str(tmp_path / "more") in fact["path"]
        assert fact["sigint"]
        assert fact["omp"] == "1"
    assert one["random"] != two["random"]
    assert one["numpy"] != two["numpy"]


def test_prints_go_where_the_parents_go(make_processes, capfd):
    executor = make_processes(Prints(), workers=1)
    result_of(executor.submit(chunk_of(1)))
    executor.close()
    printed = capfd.readouterr()
    assert printed.out == "from a worker: out\n"
    assert printed.err == "from a worker: err\n"


def test_large_and_small_and_empty_alternate(make_forked):
    executor = make_forked(Echo())
    for size in (1, 100_000, 3, 40_000, 0, 500_000, 10):
        chunk, _ = result_of(executor.submit(chunk_of(size)))
        np.testing.assert_array_equal(chunk.columns["x"], np.arange(size, dtype=np.float32))
