"""Q01: how do I feed a device without the high-level train API?"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace as ms  # noqa: E402
import millrace.dataset as ds  # noqa: E402
from millrace import nn, ops  # noqa: E402
from millrace._src.core.errors import DeviceQueueError  # noqa: E402
from millrace._src.transfer import DevicePrefetcher  # noqa: E402

X = np.arange(24, dtype=np.float32).reshape(12, 2)


def data():
    return ds.NumpySlicesDataset({"x": X, "y": np.arange(12, dtype=np.float32)}, shuffle=False).batch(4)


@pytest.mark.parametrize("make", ["device_que", "to_device"])
def test_a_queue_with_send_stop_info_and_release(make, no_leaks):
    queue = getattr(data(), make)()
    _, shapes = queue.get_data_info()
    assert shapes == [[4, 2], [4]]
    queue.send(num_epochs=1)
    queue.stop_send()
    queue.continue_send()
    assert [batch[0].shape for batch in queue] == [(4, 2)] * 3
    info = queue.get_send_info()
    assert (info["have_sent"], info["have_taken"], queue.get_mbuf_queue_size()) == (3, 3, 0)
    queue.release()
    with pytest.raises(DeviceQueueError):
        next(queue)


def test_a_plain_loop_trains_with_device_batches(no_leaks):
    net = nn.Dense(2, 1, weight_init="zeros", bias_init="zeros")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 1e-3))
    losses = []
    with data().create_device_iterator(num_epochs=5) as batches:
        for _ in range(5):
            losses += [step(batch["x"], batch["y"].reshape(-1, 1)).item() for batch in batches]
    assert len(losses) == 15
    assert losses[-1] < losses[0]


def test_a_queue_and_get_next_in_a_net(no_leaks):
    queue = data().device_que(queue_name="q01")
    queue.send(num_epochs=1)
    take = ops.GetNext([ms.float32, ms.float32], [[4, 2], [4]], 2, "q01")
    assert np.array_equal(np.concatenate([take()[0].asnumpy() for _ in range(3)]), X)
    queue.release()


def pointers(monkeypatch):
    """Where the numbers of each batch lie when they leave the sink."""
    seen = []
    take = DevicePrefetcher.take

    def noted(self, *args):
        values = take(self, *args)
        seen.append([value._torch.data_ptr() for value in values or ()])
        return values

    monkeypatch.setattr(DevicePrefetcher, "take", noted)
    return seen


def test_torch_tensors_without_another_copy(monkeypatch, no_leaks):
    seen = pointers(monkeypatch)
    with data().create_device_iterator(num_epochs=1, as_dict=False, output="torch") as batches:
        kept = list(batches)  # all held at once: none has another's memory
    assert np.array_equal(np.concatenate([batch[0].numpy() for batch in kept]), X)
    assert [[value.data_ptr() for value in batch] for batch in kept] == seen[:3]
    assert len({pointer for batch in seen for pointer in batch}) == 6


def test_jax_arrays_without_another_copy(monkeypatch, no_leaks):
    jax = pytest.importorskip("jax")
    seen = pointers(monkeypatch)
    with data().create_device_iterator(num_epochs=1, as_dict=False, output="jax") as batches:
        kept = list(batches)
    assert all(isinstance(value, jax.Array) for batch in kept for value in batch)
    assert np.array_equal(np.concatenate([np.asarray(batch[0]) for batch in kept]), X)
    assert [[value.unsafe_buffer_pointer() for value in batch] for batch in kept] == seen[:3]
