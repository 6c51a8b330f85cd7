"""What callbacks are: old and new names, entered and left, and what they may ask."""

import pytest

from millrace._src.train.callbacks.callback import CallbackList, CallbackParams
from millrace.train import Callback, RunContext


class Old(Callback):
    def __init__(self):
        self.seen = []

    def begin(self, run_context):
        self.seen.append("begin")

    def step_end(self, run_context):
        self.seen.append("step_end")


class Both(Old):
    def on_train_step_end(self, run_context):
        self.seen.append("on_train_step_end")


def tell_all(callback):
    with CallbackList(callback) as told:
        for what in ("train", "eval"):
            for moment in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end"):
                told.call(f"on_{what}_{moment}", RunContext(CallbackParams()))
    return callback.seen


def test_old_names_are_called_while_training_and_while_evaluating():
    assert tell_all(Old()) == ["begin", "step_end", "begin", "step_end"]


def test_a_new_name_takes_the_place_of_the_old_one():
    assert tell_all(Both()) == ["begin", "on_train_step_end", "begin", "step_end"]


def test_methods_put_onto_one_object_are_called():
    callback = Old()
    callback.on_train_end = lambda run_context: callback.seen.append("mine")
    assert "mine" in tell_all(callback)


def test_moments_that_nobody_wrote_a_method_for_are_known():
    with CallbackList([Both()]) as told:
        assert told.watched("on_train_step_end")
        assert not told.watched("on_train_step_begin")


def test_callbacks_are_entered_and_left_also_when_one_fails():
    seen = []

    class Holding(Callback):
        def __enter__(self):
            seen.append("in")
            return self

        def __exit__(self, *err):
            seen.append(err[0])

    class Failing(Callback):
        def step_end(self, run_context):
            raise ValueError("boo")

    with pytest.raises(ValueError, match="boo"), CallbackList([Holding(), Failing()]) as told:
        told.call("on_train_step_end", RunContext({}))
    assert seen == ["in", ValueError]


@pytest.mark.parametrize("given", [1, "x", [1], [None], Callback, {"a": 1}])
def test_what_is_no_callback_is_refused(given):
    with pytest.raises(TypeError, match="must be Callback functions"):
        CallbackList(given)


@pytest.mark.parametrize(
    ("given", "count"), [(None, 0), ([], 0), (Callback(), 1), ((Callback(), Callback()), 2)]
)
def test_callbacks_come_alone_or_several_at_once(given, count):
    assert len(CallbackList(given).callbacks) == count


def test_what_is_not_known_at_a_moment_is_a_key_error_that_getattr_understands():
    params = CallbackParams(cur_step_num=1)
    with pytest.raises(KeyError, match=r"'metrics' is not known at this moment .* there are: cur_step_num"):
        _ = params.metrics
    assert getattr(params, "metrics", 3) == 3
    assert not hasattr(params, "metrics")


def test_a_run_context_needs_a_dict():
    with pytest.raises(TypeError, match="should be dict type"):
        RunContext(3)
