"""The profiler: which steps it looks at, its table, and a trace that Chrome and Perfetto open."""

import json

import pytest

pytest.importorskip("torch")

import millrace
from millrace import Tensor, ops, profiler, train
from tests.unit.train.small_networks import data, dense


def work():
    return ops.matmul(Tensor([[1.0, 2.0]]), Tensor([[1.0], [2.0]]))


def test_a_schedule_says_what_mindspore_says():
    plan = profiler.schedule(wait=1, active=2, warmup=1, repeat=2, skip_first=1)
    names = "NONE NONE WARM_UP RECORD RECORD_AND_SAVE NONE WARM_UP RECORD RECORD_AND_SAVE NONE NONE NONE"
    assert [plan(step).name for step in range(12)] == names.split(" ")
    assert plan.to_dict() == {"wait": 1, "active": 2, "warmup": 1, "repeat": 2, "skip_first": 1}


@pytest.mark.parametrize(
    "given", [{"wait": -1, "active": 1}, {"wait": "a", "active": 1}, {"wait": 0, "active": 0}]
)
def test_a_number_that_is_none_is_told_and_taken_as_the_least(given):
    from millrace._src.core.log import reset_warn_once

    reset_warn_once()
    with pytest.warns(UserWarning, match="must be an int of at least"):
        made = profiler.schedule(**given)
    assert (made.wait, made.active) == (0, 1)


def test_only_the_scheduled_steps_are_recorded_and_handed_over(tmp_path):
    ready = []
    plan = profiler.schedule(wait=1, active=1, repeat=2)
    with profiler.profile(schedule=plan, on_trace_ready=lambda prof: ready.append(prof.step_num)) as prof:
        for _ in range(6):
            work()
            prof.step()
    assert ready == [1, 3]
    assert len(prof.step_seconds) == 6


def test_the_trace_is_one_that_chrome_opens_and_the_table_names_operations(tmp_path):
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path), "me")) as prof:
        prof.add_metadata("run", "first")
        with_mark = profiler.mstx.range_start("by hand")
        work()
        profiler.mstx.range_end(with_mark)
        prof.step()
    (path,) = tmp_path.glob("*.pt.trace.json")
    trace = json.loads(path.read_text())
    names = {each.get("name") for each in trace["traceEvents"]}
    assert {"by hand", "aten::matmul"} <= names
    assert trace["run"] == "first"
    assert "aten::matmul" in prof.table()
    rows = {row["name"]: row for row in prof.rows()}
    assert rows["aten::matmul"]["calls"] == 1
    (table,) = tmp_path.glob("me.*.operators.csv")
    assert table.read_text().startswith("name,calls,self_cpu_us")


def test_a_training_is_looked_at_in_a_callback(tmp_path):
    class Look(train.Callback):
        def __init__(self):
            self.prof = profiler.profile()

        def on_train_begin(self, run_context):
            self.prof.start()

        def on_train_step_end(self, run_context):
            self.prof.step()

        def on_train_end(self, run_context):
            self.prof.stop()

    look = Look()
    dense().train(1, data(), callbacks=look)
    assert len(look.prof.step_seconds) == 3
    assert any("aten::" in row["name"] for row in look.prof.rows())


def test_the_older_profiler_starts_at_once_and_analyse_writes(tmp_path):
    prof = millrace.Profiler(output_path=str(tmp_path), profiler_level=profiler.ProfilerLevel.Level1)
    work()
    prof.analyse()
    assert len(list(tmp_path.iterdir())) == 3
    assert json.loads(prof.op_analyse("matmul"))["matmul"]["calls"] == 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: profiler.profile(activities=[3]), TypeError),
        (lambda: profiler.profile(schedule=3), TypeError),
        (lambda: profiler.profile().step(), RuntimeError),
        (lambda: profiler.profile().stop(), RuntimeError),
        (lambda: profiler.profile().table(), RuntimeError),
        (lambda: profiler.profile().add_metadata_json("a", "{"), ValueError),
        (lambda: millrace.Profiler(output_path=3), TypeError),
        (lambda: millrace.Profiler(foo=3), TypeError),
        (lambda: profiler.tensorboard_trace_handler(3), TypeError),
        (lambda: profiler.DynamicProfilerMonitor(), RuntimeError),
    ],
)
def test_wrong_calls_are_refused(call, error):
    with pytest.raises(error):
        call()
