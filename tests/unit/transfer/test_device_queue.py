"""Feeding a device by hand: the queue, the iterator, and GetNext."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import millrace as ms
import millrace.dataset as ds
from millrace import ops
from millrace._src.core.errors import ArgumentValueError, DeviceQueueError


def numbers(count=6, size=2):
    return ds.NumpySlicesDataset(
        {"x": np.arange(count, dtype=np.float32), "y": list(range(count))}, shuffle=False
    ).batch(size)


def test_a_queue_is_sent_stopped_and_goes_on():
    queue = numbers().device_que()
    with pytest.raises(DeviceQueueError, match=r"Call send\(\) first"):
        queue.get_send_info()
    queue.send(num_epochs=2)
    with pytest.raises(DeviceQueueError, match="is already sending"):
        queue.send()
    queue.stop_send()
    queue.continue_send()
    assert [batch[1].asnumpy().tolist() for batch in queue] == [[0, 1], [2, 3], [4, 5]]
    assert [batch[1].asnumpy().tolist() for batch in queue] == [[0, 1], [2, 3], [4, 5]]
    info = queue.get_send_info()
    assert (info["have_sent"], info["have_taken"]) == (6, 6)
    assert len(info["push_start_time"]) == 6
    assert queue.get_mbuf_queue_size() == 0
    queue.release()


def test_types_and_shapes_are_known_before_anything_is_sent():
    queue = numbers().to_device()
    types, shapes = queue.get_data_info()
    assert shapes == [[2], [2]]
    assert [np.dtype(each) for each in types] == [np.float32, np.int64]
    assert queue.get_dataset_size() == 3  # a queue answers for its dataset


def test_epochs_run_on_where_their_ends_are_not_sent():
    queue = numbers(2).device_que(send_epoch_end=False)
    queue.send(num_epochs=3)
    assert [next(queue)[1].asnumpy().tolist() for _ in range(3)] == [[0, 1]] * 3
    queue.release()


@pytest.mark.parametrize("epochs", [0, -2])
def test_epochs_must_be_positive_or_without_end(epochs):
    with pytest.raises(ArgumentValueError, match="num_epochs"):
        numbers().device_que().send(epochs)


def test_get_next_takes_from_the_queue_by_name():
    queue = numbers().device_que(queue_name="by hand")
    queue.send(num_epochs=-1)
    step = ops.GetNext([ms.float32, ms.int64], [[2], [2]], 2, "by hand")
    assert [step()[1].asnumpy().tolist() for _ in range(4)] == [[0, 1], [2, 3], [4, 5], [0, 1]]
    with pytest.raises(ArgumentValueError, match=r"gives 2 columns, but 'output_num' is 1"):
        ops.GetNext([ms.float32], [[2]], 1, "by hand")()
    queue.release()
    with pytest.raises(ArgumentValueError, match="must have 'output_num' entries"):
        ops.GetNext([ms.float32], [[2]], 2, "by hand")


def test_get_next_in_graph_mode_takes_another_batch_each_time():
    queue = numbers().device_que(queue_name="in a graph")
    queue.send(num_epochs=-1)
    step = ops.GetNext([ms.float32, ms.int64], [[2], [2]], 2, "in a graph")

    @ms.jit
    def total():
        x, _ = step()
        return x.sum()

    with pytest.warns(UserWarning, match="GetNext"):
        first = total()
    assert [float(first), float(total()), float(total())] == [1.0, 5.0, 9.0]
    queue.release()


def test_an_iterator_over_device_batches():
    with numbers().create_device_iterator("CPU", num_epochs=2) as batches:
        for _ in range(2):
            got = list(batches)
            assert [batch["y"].asnumpy().tolist() for batch in got] == [[0, 1], [2, 3], [4, 5]]
            assert got[0]["x"].dtype == ms.float32
        assert "verdict" in batches.report()


def test_its_state_goes_on_exactly():
    batches = numbers().create_device_iterator(num_epochs=1)
    next(batches)
    state = batches.state()
    batches.close()
    with numbers().create_device_iterator(num_epochs=1, state=state) as again:
        assert again.state() == state  # before the first batch, too
        assert [batch["y"].asnumpy().tolist() for batch in again] == [[2, 3], [4, 5]]


def test_its_state_goes_on_in_a_later_epoch_and_ends_with_the_last():
    batches = numbers().create_device_iterator(num_epochs=3)
    for _ in range(3):
        next(batches)
    assert list(batches) == []
    next(batches)  # of the second epoch
    state = batches.state()
    batches.close()
    with numbers().create_device_iterator(num_epochs=3, state=state) as again:
        assert [[b["y"].asnumpy().tolist() for b in again] for _ in range(2)] == [
            [[2, 3], [4, 5]],
            [[0, 1], [2, 3], [4, 5]],
        ]
        with pytest.raises(DeviceQueueError, match="the data ended after 5 batches"):
            next(again)


def test_torch_and_jax_arrays_on_the_same_memory():
    data = numbers()
    with data.create_device_iterator(num_epochs=1, as_dict=False, output="torch") as batches:
        x, y = next(batches)
        assert isinstance(x, torch.Tensor)
        assert y.tolist() == [0, 1]
    jax = pytest.importorskip("jax")
    with data.create_device_iterator(num_epochs=1, output="jax") as batches:
        batch = next(batches)
        assert isinstance(batch["x"], jax.Array)
        assert batch["x"].tolist() == [0.0, 1.0]


def test_a_gpu_that_is_not_there_is_said():
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ArgumentValueError, match="millrace doctor"):
        numbers().create_device_iterator("GPU")
