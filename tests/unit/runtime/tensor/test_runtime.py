"""`runtime`, `hal`, generators and the settings of parallel training, as MindSpore answers on a CPU."""

import logging
import os
import pickle

import pytest

torch = pytest.importorskip("torch")

import millrace as ms  # noqa: E402
from millrace import context, hal, runtime  # noqa: E402
from millrace._src.runtime.distributed import parallel_context  # noqa: E402
from millrace._src.runtime.tensor.backend.context import _context  # noqa: E402


@pytest.fixture(autouse=True)
def put_back():
    saved, state = dict(_context.values), torch.get_rng_state()
    yield
    _context.values.update(saved)
    torch.set_rng_state(state)
    context.reset_auto_parallel_context()
    context.reset_ps_context()


def test_on_a_cpu_the_counts_are_zero_and_nothing_has_to_be_waited_for():
    for module in (runtime, hal):
        stats = module.memory_stats()
        assert stats["max_allocated_memory"] == module.memory_allocated() == module.max_memory_reserved() == 0
        assert "Max allocated memory" in module.memory_summary()
        module.reset_peak_memory_stats()
        module.empty_cache()
        module.synchronize()
    with pytest.raises(ValueError, match="must be one of"):
        hal.memory_allocated("TPU")


def test_streams_and_events_keep_their_contract():
    stream, other = runtime.Stream(), runtime.Stream()
    with runtime.StreamCtx(stream):
        start = stream.record_event(runtime.Event(enable_timing=True))
        total = ms.Tensor([1.0, 2.0]).sum()
    end = runtime.Event(enable_timing=True)
    end.record(other)
    other.wait_event(start)
    other.wait_stream(stream)
    assert stream.query()
    assert end.query()
    assert total.item() == 3.0
    assert start.elapsed_time(end) >= 0
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        start.elapsed_time(runtime.Event())
    with pytest.raises(TypeError, match="'ctx_stream' should be Stream"):
        runtime.StreamCtx(1)
    with pytest.raises(TypeError, match="'stream' should be Stream"):
        runtime.set_cur_stream(1)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"max_size": 2}, TypeError, "'max_size' must be <class 'str'>"),
        ({"max_size": "2048MB"}, ValueError, "2048MB"),
        ({"max_size": "0GB"}, ValueError, "0GB"),
        ({"optimize_level": "O2"}, ValueError, r"\['O0', 'O1'\]"),
        ({"huge_page_reserve_size": "1MB"}, ValueError, "1MB"),
    ],
)
def test_sizes_that_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        runtime.set_memory(**given)


def test_a_cap_is_kept():
    runtime.set_memory(max_size="2.5GB")
    assert ms.get_context("max_device_memory") == "2.5GB"


def test_threads():
    before = torch.get_num_threads()
    try:
        runtime.dispatch_threads_num(1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    for wrong, error in ((0, ValueError), (True, TypeError), ("a", TypeError)):
        with pytest.raises(error, match="threads_num"):
            runtime.dispatch_threads_num(wrong)
    with pytest.raises(ValueError, match="evenly divisible"):
        runtime.set_kernel_launch_group(2, 3)


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system lets no process choose its cores"
)
def test_cores():
    there = os.sched_getaffinity(0)
    first = min(there)
    try:
        runtime.set_cpu_affinity(True, {"device0": [f"{first}-{first}"]})
        assert os.sched_getaffinity(0) == {first}
        runtime.set_cpu_affinity(False)
        assert os.sched_getaffinity(0) == there
        with pytest.raises(RuntimeError, match=r"CPU id:99999 .* is not available"):
            runtime.set_cpu_affinity(True, ["99999"])
        with pytest.raises(TypeError, match="must be list"):
            runtime.set_cpu_affinity(True, {"device0": "0-1"})
    finally:
        os.sched_setaffinity(0, there)


def test_devices():
    assert (hal.device_count(), hal.get_device_name(0), hal.get_device_properties(0)) == (1, "CPU", None)
    assert (hal.is_available("CPU"), hal.is_available("Ascend"), hal.is_initialized("CPU")) == (
        True,
        False,
        True,
    )
    with pytest.raises(ValueError, match="less than device count: 1, but got 3"):
        hal.get_device_name(3)
    with pytest.raises(TypeError, match="'device_id' must be int"):
        hal.get_device_capability("a", "CPU")
    with pytest.raises(ValueError, match="Ascend backend is not available"):
        hal.device_count("Ascend")


def test_a_generator_goes_on_from_a_kept_state():
    ms.manual_seed(5)
    assert ms.initial_seed() == 5
    state = ms.get_rng_state()
    first = ms.ops.rand((3,)).tolist()
    ms.set_rng_state(state)
    assert ms.ops.rand((3,)).tolist() == first
    own = ms.Generator().manual_seed(7)
    copy = pickle.loads(pickle.dumps(own))
    assert ms.mint.rand(4, generator=own).tolist() == ms.mint.rand(4, generator=copy).tolist()
    for wrong in ("a", 1.5):
        with pytest.raises(TypeError, match="Seed must be an integer"):
            ms.manual_seed(wrong)
    with pytest.raises(RuntimeError, match="expected the state of a generator"):
        ms.set_rng_state(ms.Tensor([1.0]))


def test_settings_of_parallel_training_are_kept_and_said_to_change_nothing(caplog):
    parallel_context._warned_settings.clear()
    with caplog.at_level(logging.INFO):
        context.set_auto_parallel_context(
            parallel_mode=context.ParallelMode.DATA_PARALLEL,
            gradients_mean=True,
            device_num=8,
            pipeline_stages=2,
        )
    assert [record.args for record in caplog.records] == [("set_auto_parallel_context", "pipeline_stages")]
    assert context.get_auto_parallel_context("parallel_mode") == "data_parallel"
    assert context.get_auto_parallel_context("device_num") == 8
    context.reset_auto_parallel_context()
    assert context.get_auto_parallel_context("device_num") == 1


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"nope": 1}, ValueError, "Set context keyword nope is not recognized!"),
        ({"parallel_mode": "x"}, ValueError, "only support 'stand_alone'"),
        ({"device_num": 0}, ValueError, "must be a positive integer"),
        ({"global_rank": -1}, ValueError, r"must be in \[0, 4095\]"),
        ({"gradients_mean": 1}, TypeError, "must be <class 'bool'>"),
        ({"search_mode": "x"}, ValueError, "recursive_programming"),
    ],
)
def test_parallel_settings_that_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        context.set_auto_parallel_context(**given)


def test_parameter_servers_and_offloading():
    context.set_ps_context(enable_ps=True)
    assert context.get_ps_context("enable_ps")
    with pytest.raises(ValueError, match="Get PS context keyword client_password"):
        context.get_ps_context("client_password")
    with pytest.raises(TypeError, match="must be <class 'dict'>"):
        context.set_offload_context(1)


def test_limits_of_recursion():
    ms.set_recursion_limit(2000)
    assert ms.get_context("max_call_depth") == 2000
    with pytest.raises(TypeError, match="must be int"):
        ms.set_recursion_limit("a")
    with pytest.raises(ValueError, match="must > 0"):
        ms.set_recursion_limit(-1)


def test_the_check_prints_that_it_computes(capsys):
    ms.run_check()
    assert "multiplication calculation is correct" in capsys.readouterr().out
