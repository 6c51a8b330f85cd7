"""Callbacks of a map, and the one that waits for training."""

import json
import pickle
import threading
import time
from pathlib import Path

import pytest

from millrace._src.core import settings
from millrace._src.data.pipeline.callbacks import CallbackParam, DSCallback, WaitedDSCallback

LISTED = json.loads(
    (Path(__file__).parents[3] / "contracts" / "public_api" / "api_mindspore_2.7.0.json").read_text()
)["dataset"]


@pytest.mark.parametrize("kind", [DSCallback, WaitedDSCallback])
def test_methods(kind):
    assert set(LISTED[kind.__name__]["methods"]) <= set(dir(kind))


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        (0, ValueError, "Input step_size is not within the required interval of [1, 2147483647]."),
        (
            "1",
            TypeError,
            "Argument step_size with value 1 is not of type [<class 'int'>], but got <class 'str'>.",
        ),
        (
            True,
            TypeError,
            "Argument step_size with value True is not of type (<class 'int'>,), but got <class 'bool'>.",
        ),
    ],
)
def test_step_size(step, kind, text):
    with pytest.raises(kind) as caught:
        DSCallback(step)
    assert str(caught.value) == text
    assert WaitedDSCallback(0).step_size == 0


def test_hooks_are_what_is_overridden():
    class Two(DSCallback):
        def ds_begin(self, ds_run_context):
            pass

        def ds_step_end(self, ds_run_context):
            pass

    assert Two().hooks() == {"ds_begin", "ds_step_end"}
    assert WaitedDSCallback().hooks() == {"ds_begin", "ds_epoch_begin", "ds_step_begin"}
    with pytest.raises(AttributeError, match="without overriding any methods"):
        DSCallback().create_runtime_obj()


class Waiting(WaitedDSCallback):
    def __init__(self, step_size=1):
        super().__init__(step_size)
        self.log = []

    def sync_epoch_begin(self, train_run_context, ds_run_context):
        self.log.append(("epoch", train_run_context, ds_run_context.cur_epoch_num))

    def sync_step_begin(self, train_run_context, ds_run_context):
        self.log.append(("step", train_run_context, ds_run_context.cur_step_num))


def test_the_map_follows_training():
    """The sequence that MindSpore shows for 3 rows, 2 epochs, one row a step."""
    callback, rows = Waiting(), []
    got = threading.Semaphore(0)

    def pipeline():
        step = 0
        for epoch in (1, 2):
            callback.ds_epoch_begin(CallbackParam(epoch, step, 0))
            for i in range(3):
                step += 1
                callback.ds_step_begin(CallbackParam(epoch, step, i + 1))
                rows.append(step)
                got.release()

    thread = threading.Thread(target=pipeline)
    thread.start()
    for step in range(1, 7):
        assert got.acquire(timeout=60)
        time.sleep(0.005)
        assert rows == list(range(1, step + 1))  # it has not run ahead
        callback.on_train_step_end(f"s{step}")
        if step == 3:
            callback.on_train_epoch_end("e1")
    callback.on_train_end("end")
    thread.join(60)
    assert not thread.is_alive()
    assert callback.log == [
        ("step", "s1", 2), ("step", "s2", 3), ("epoch", "e1", 2), ("step", "s3", 4), ("step", "s4", 5),
        ("step", "s5", 6),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["step", "epoch"])
def test_timeout(kind):
    with settings.override(callback_timeout=0.05), pytest.raises(RuntimeError) as caught:
        getattr(Waiting(), f"ds_{kind}_begin")(CallbackParam(2, 5, 2))
    assert str(caught.value) == f"ds_{kind}_begin timed out after 0.05 second(s)."


def test_no_wait_at_first_nor_after_the_end():
    callback = Waiting(step_size=4)
    callback.ds_step_begin(CallbackParam(1, 4, 4))
    callback.ds_epoch_begin(CallbackParam(1, 0, 0))
    assert callback.log == []
    callback.end("over")
    for _ in range(2):
        callback.ds_step_begin(CallbackParam(2, 5, 2))
    callback.ds_epoch_begin(CallbackParam(2, 5, 2))
    assert callback.log == [("step", "over", 5), ("step", "over", 5), ("epoch", "over", 2)]


def test_several_steps_count_as_one():
    callback = Waiting()
    for step in ("s1", "s2", "s3"):
        callback.step_end(step)
    callback.ds_step_begin(CallbackParam(1, 2, 2))
    assert callback.log == [("step", "s3", 2)]
    with settings.override(callback_timeout=0.02), pytest.raises(RuntimeError):
        callback.ds_step_begin(CallbackParam(1, 3, 3))


def test_interrupt_frees_a_waiter_and_a_new_run_starts_over():
    callback = Waiting()
    thread = threading.Thread(target=callback.ds_step_begin, args=(CallbackParam(1, 2, 2),))
    thread.start()
    callback.interrupt()
    thread.join(60)
    assert not thread.is_alive()
    assert callback.log == []
    callback.ds_begin(CallbackParam(0, 0, 0))
    with settings.override(callback_timeout=0.02), pytest.raises(RuntimeError):
        callback.ds_step_begin(CallbackParam(1, 2, 2))


def test_pickles_without_its_locks():
    callback = Waiting(3)
    callback.step_end("s")
    again = pickle.loads(pickle.dumps(callback))
    assert (again.step_size, again.log) == (3, [])
    again.step_end("t")
    again.ds_step_begin(CallbackParam(1, 9, 9))
    assert again.log == [("step", "t", 9)]


def test_as_a_context():
    with WaitedDSCallback() as callback:
        for name in ("begin", "epoch_begin", "step_begin", "on_eval_begin", "on_eval_epoch_begin"):
            getattr(callback, name)(None)
