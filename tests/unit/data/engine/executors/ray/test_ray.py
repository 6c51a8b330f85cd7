"""What is Ray's alone: the object store, lost workers, files that a node has not, an instance of our own."""

import fcntl
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DataError,
    PlanError,
    WorkerDiedError,
)
from millrace._src.core.executor_traits import EXECUTORS
from millrace._src.data.engine.executors.ray import RayExecutor
from millrace._src.data.engine.executors.ray import cluster as instance
from millrace._src.data.engine.executors.ray.object_store import ResultStore, _store_maps
from tests.unit.data.engine.executors.segment_functions import (
    BadLoad,
    Call,
    Dies,
    Double,
    Forever,
    Gate,
    chunk_of,
    result_of,
    wait_until,
)

MB = 1 << 20


@pytest.fixture
def make(ray_instance):
    made = []

    def new(runner, workers=1, **more):
        made.append(RayExecutor(runner, workers, name="test-ray", **more))
        return made[-1]

    yield new
    for executor in made:
        executor.close()


def lies_in_the_store(array):
    start = array.__array_interface__["data"][0]
    return any(first <= start and start + array.nbytes <= last for first, last in _store_maps())


# the object store ------------------------------------------------------------------------------------


def _place_of_input(chunk):
    """Where a worker finds what it was given, and whether it may write there."""
    x = chunk.columns["x"]
    there, writable = lies_in_the_store(x), x.flags.writeable
    return chunk.with_columns(
        {"x": x, "there": np.full(len(x), there), "writable": np.full(len(x), writable)}
    )


class Ours(Call):
    leaves_input_unmodified = True


def test_a_result_is_used_where_the_store_has_it_and_may_be_written_to(make):
    executor = make(Double())
    x = result_of(executor.submit(chunk_of(1000, width=100)))[0].columns["x"]
    assert lies_in_the_store(x)
    assert x.flags.writeable
    x += 1
    executor.close()
    assert x[:3, 0].tolist() == [1.0, 3.0, 5.0]  # valid after the worker is gone


def test_a_worker_reads_the_store_itself_unless_a_users_function_may_write(make):
    ours = result_of(make(Ours(_place_of_input)).submit(chunk_of(1000, width=100)))[0]
    assert ours.columns["there"].all()
    assert not ours.columns["writable"].any()
    users = result_of(make(Call(_place_of_input)).submit(chunk_of(1000, width=100)))[0]
    assert not users.columns["there"].any()
    assert users.columns["writable"].all()


def test_kept_results_leave_the_store_when_it_is_half_full(make):
    executor = make(Double())
    store = executor._pool.launcher.instance.store
    before, store.most = store.most, store.held + MB
    try:
        kept = [result_of(executor.submit(chunk_of(1000, width=100)))[0].columns["x"] for _ in range(5)]
    finally:
        store.most = before
    assert [lies_in_the_store(x) for x in kept] == [True, True, False, False, False]
    assert all((x == kept[0]).all() for x in kept)


def test_a_store_counts_what_is_looked_at():
    store = ResultStore(10 * MB)
    heap = np.zeros(MB, np.uint8)
    assert store.writable_view(heap) is heap
    heap.flags.writeable = False
    assert store.writable_view(heap).flags.writeable  # a copy: it lies in no store
    assert store.held == 0


# workers that are lost -------------------------------------------------------------------------------


def test_a_worker_that_is_killed_is_replaced_and_its_chunk_runs_again(make, tmp_path, no_leaks):
    executor = make(Gate(tmp_path))
    tasks = [executor.submit(chunk_of(5, 5 * i)) for i in range(3)]
    victim = wait_until(lambda: [int(path.name[6:]) for path in tmp_path.glob("began-*")])[0]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(list(tmp_path.glob("began-*"))) == 2)
    (tmp_path / "go").touch()
    for i, task in enumerate(tasks):
        chunk, pid = result_of(task)
        assert chunk.columns["x"].tolist() == list(range(5 * i, 5 * i + 5))
        assert pid != victim
    executor.close()


def test_a_chunk_that_ends_three_workers_fails_and_names_node_and_rows(make, no_leaks):
    executor = make(Dies(12))
    tasks = [executor.submit(chunk_of(5, 5 * i)) for i in range(4)]
    for i, task in enumerate(tasks):
        assert task.wait(60)
        assert (task.error is None) == (i != 2)
    said = str(tasks[2].error)
    assert isinstance(tasks[2].error, WorkerDiedError)
    assert "3 Ray workers running map(dies) on the same rows 10-14 (ids 10, 11, 12, 13, 14)" in said
    assert "died on node " in said
    executor.close()


def test_a_runner_that_does_not_load_names_the_module_and_the_node(make):
    with pytest.raises(PlanError, match=r"Ray worker on node .*a_module_that_is_not_there.*register_pickle"):
        result_of(make(BadLoad()).submit(chunk_of(1)))


def test_the_stack_of_a_worker_that_hangs_and_a_close_that_does_not_wait_for_it(make, tmp_path, no_leaks):
    executor = make(Forever(tmp_path))
    task = executor.submit(chunk_of(3))
    wait_until(lambda: list(tmp_path.glob("began-*")))
    assert "a_loop_with_a_name" in executor.stacks()
    executor.close()
    assert task.done()


# pipelines -------------------------------------------------------------------------------------------


def rows(data):
    return [row["x"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def numbers(count=40):
    return ds.NumpySlicesDataset(np.arange(count), "x", shuffle=False, num_parallel_workers=1)


def test_run_on_and_the_setting_give_the_rows_of_threads(ray_instance, no_leaks):
    data = numbers().map(lambda x: x * 3, "x", num_parallel_workers=1).batch(8)
    wanted = rows(data)
    there = data.run_on("ray")
    assert "on=1 ray" in there.explain()
    assert "on=1 ray" not in data.explain()
    assert rows(there) == wanted
    iterator = there.create_dict_iterator(num_epochs=1, output_numpy=True)
    first = [next(iterator)["x"].tolist() for _ in range(2)]
    state = iterator.state()
    assert "Ray worker" in str(iterator.report())
    iterator.stop()
    rest = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=state)  # back on threads
    assert first + [row["x"].tolist() for row in rest] == wanted
    assert ray_instance.is_initialized()  # it was there before, and is left alone


def _fails(x):
    if x == 17:
        raise ValueError("no seventeen")
    return x


def test_an_error_of_a_users_function_reads_as_on_processes(ray_instance):
    said = {}
    for executor in ("processes", "ray"):
        data = numbers().map(_fails, "x", num_parallel_workers=1).run_on(executor)
        with pytest.raises(DataError) as caught:
            rows(data)
        said[executor] = caught.value
    assert str(said["ray"]) == str(said["processes"])
    assert said["ray"].context["row"] == 17
    assert "no seventeen" in str(said["ray"])
    assert "map" in said["ray"].context["op"]


def test_a_path_that_a_node_does_not_see_is_named_before_the_first_row(ray_instance, tmp_path, no_leaks):
    (tmp_path / "lines.txt").write_text("a\nb\n")
    fd = os.open(tmp_path / "lines.txt", os.O_RDONLY)
    mine = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 700)
    try:
        path = f"/proc/self/fd/{mine}"  # a file that this process alone can open by this name
        data = ds.TextFileDataset(path, shuffle=False, num_parallel_workers=1).run_on("ray")
        with pytest.raises(DataError, match=rf"node .* of the Ray cluster cannot open {path}") as caught:
            data.create_dict_iterator(num_epochs=1)
    finally:
        os.close(fd)
        os.close(mine)
    assert caught.value.context["file"] == path
    node = ray_instance.get_runtime_context().get_node_id()
    assert node[:8] in caught.value.context["node"]


def test_the_budget_holds_chunks_back(ray_instance, tmp_path, no_leaks):
    """With room for one chunk, a second one is not given out while nobody asks for it."""
    seen = tmp_path / "seen"

    def big(x):
        with seen.open("a") as file:
            file.write("x")
        return np.zeros(MB // 8)

    with settings.override(memory_budget=5 * MB // 2, chunk_rows=1):
        data = numbers(20).map(big, "x", num_parallel_workers=2).run_on("ray")
        iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
        next(iterator)
        assert seen.read_text() == "x"
        next(iterator)
        assert seen.read_text() == "xx"
        iterator.stop()


def test_workers_are_as_many_as_there_are_cpus_and_one_always_works(make, ray_instance):
    first = make(Double(), 8)
    assert first.num_workers == 2
    second = make(Double(), 8)
    assert second.num_workers == 1
    assert result_of(second.submit(chunk_of(2)))[0].columns["x"].tolist() == [0.0, 2.0]
    first.close()
    second.close()
    assert instance._current is None or instance._current.claimed == 0
    assert make(Double(), 3, num_cpus=0.5).num_workers == 3


# what can be wrong with the call ---------------------------------------------------------------------


def test_options_belong_to_their_executor():
    with pytest.raises(ArgumentTypeError, match=r"run_on\('threads'\) takes no address"):
        numbers().run_on("threads", address="auto")
    with pytest.raises(ArgumentValueError, match=r"horses.*inline, threads, processes, ray"):
        numbers().run_on("horses")
    with pytest.raises(ArgumentValueError, match="num_cpus"):
        numbers().run_on("ray", num_cpus=-1)
    assert EXECUTORS["ray"].options == ("address", "num_cpus", "object_store_memory")


def test_another_cluster_than_the_one_that_is_connected(ray_instance):
    with pytest.raises(ArgumentValueError, match=r"192\.0\.2\.1:6379.*connected to the Ray cluster at"):
        rows(numbers().run_on("ray", address="192.0.2.1:6379"))


# an instance of our own ------------------------------------------------------------------------------

ALONE = textwrap.dedent(
    """
    import glob, os, re
    import numpy as np
    import millrace.dataset as ds

    def commands():
        for p in filter(str.isdigit, os.listdir("/proc")):
            try:
                parent = int(open(f"/proc/{p}/stat").read().rpartition(")")[2].split()[1])
                yield parent, open(f"/proc/{p}/cmdline").read()
            except OSError:
                pass

    if __name__ == "__main__":
        before = set(glob.glob("/dev/shm/plasma*"))
        data = ds.NumpySlicesDataset(np.zeros((40, 100_000), np.float32), "x", shuffle=False)
        data = data.map(lambda x: x + 1, "x").batch(4).run_on("ray", object_store_memory="200MB")
        iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
        kept = [next(iterator)["x"] for _ in range(2)]
        # our own, and not of another run on this machine
        mine = [line for parent, line in commands() if parent == os.getpid()]
        folders = {name for line in mine for name in re.findall(r"/tmp/mray-\\w+", line)}
        print("raylet runs:", any("raylet" in line for line in mine), "in", len(folders), "folder")
        kept += [row["x"] for row in iterator]
        import ray
        print("connected:", ray.is_initialized())
        print("rows:", sum(len(x) for x in kept), {float(x.min()) for x in kept}, {float(x.max()) for x in kept})
        now = set(glob.glob("/tmp/mray-*")) & folders | set(glob.glob("/dev/shm/plasma*")) - before
        print("left:", sorted(now))
        print("processes:", [line for _, line in commands() if any(folder in line for folder in folders)])
    """
)


def test_an_instance_of_our_own_starts_with_the_iterator_and_leaves_nothing(tmp_path, no_leaks):
    (tmp_path / "alone.py").write_text(ALONE)
    env = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(
        [sys.executable, "alone.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "raylet runs: True in 1 folder",
        "connected: False",
        "rows: 40 {1.0} {1.0}",
        "left: []",
        "processes: []",
    ]
