"""Q19: pushing data to the device failed. The first real error comes first; slow, bad and stopped are told apart."""

from __future__ import annotations

import threading

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace.dataset as ds
from millrace import nn, train
from millrace._src.core.errors import DataError, DeviceQueueError, SinkEnded, SinkStopped, StallError
from millrace._src.train.dataset_helper import DatasetHelper
from tests.unit.transfer.log_capture import logged


def rows(function=lambda x: x, count=8):
    x = np.arange(count, dtype=np.float32).reshape(count, 1)
    return ds.NumpySlicesDataset({"x": x}, shuffle=False).map(function, "x").batch(2)


def bad(x):
    if x[0] == 5:
        raise ValueError("this sample is broken")
    return x


def test_a_bad_sample_is_a_data_error_with_its_row_and_it_comes_first(no_leaks):
    queue = rows(bad).device_que()
    queue.send(num_epochs=1)
    assert [next(queue)[0].shape for _ in range(2)] == [(2, 1)] * 2
    with pytest.raises(DataError, match=r"this sample is broken(.|\n)*row: 5"):
        next(queue)
    assert "this sample is broken" in queue.get_send_info()["verdict"]
    with pytest.raises(DeviceQueueError, match=r"ended early(.|\n)*this sample is broken") as later:
        next(queue)
    assert isinstance(later.value.__cause__, DataError)  # what followed from it names it
    queue.release()


def test_in_a_training_too(no_leaks):
    net = nn.Dense(1, 1)
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    data = rows(bad).map(lambda x: (x, x), "x", ["x", "y"])
    for sinks in (True, False):
        with pytest.raises(DataError, match="this sample is broken"):
            model.train(1, data, dataset_sink_mode=sinks)


def test_slow_data_is_a_stall_with_the_stage_and_the_status(no_leaks):
    go_on = threading.Event()

    def slow(x):
        assert go_on.wait(60)
        return x

    with rows(slow).device_que(queue_name="slow rows") as queue:
        queue.send(num_epochs=1)
        with pytest.raises(StallError, match=r"data slow \(.*map\(slow\)") as caught:
            queue._feed.take(timeout=0.05)
        go_on.set()
        assert "channel_name: slow rows" in str(caught.value)
        assert next(queue)[0].shape == (2, 1)  # late, and not lost


def test_a_shutdown_is_told_as_one(no_leaks):
    queue = rows().device_que()
    queue.send(num_epochs=1)
    next(queue)
    queue.release()
    with pytest.raises(SinkStopped, match="it was stopped after"):
        next(queue)


def test_data_that_ended_is_told_with_both_numbers(no_leaks):
    queue = rows().device_que(send_epoch_end=False)
    queue.send(num_epochs=1)
    for _ in range(4):
        next(queue)
    with pytest.raises(
        SinkEnded, match="the data ended after 4 batches, 4 of them used, and a step requested another batch"
    ):
        next(queue)
    queue.release()


def test_the_classes_are_told_apart():
    kinds = {DataError, StallError, SinkStopped, SinkEnded}
    for one in kinds:
        assert issubclass(one, RuntimeError)
        assert not any(issubclass(one, other) for other in kinds - {one})


def test_batches_and_steps_are_compared_before_the_first_step(no_leaks):
    with logged("millrace.train.dataset_helper") as said:
        helper = DatasetHelper(rows(), dataset_sink_mode=True, sink_size=3, epoch_num=1)
    assert (
        "1 epochs of sink_size=3 are 3 steps, and the data's epoch has 4 batches: 1 of them are never used"
        in said[0]
    )
    assert helper.get_send_info()["have_taken"] == 0
    helper.release()
    with logged("millrace.train.dataset_helper") as said:
        DatasetHelper(rows(), dataset_sink_mode=True, sink_size=4, epoch_num=3).release()
    assert said == []
