"""Batches on their way to a device: order, ends, errors, states, and nothing left behind."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.device_queues import find_queue
from millrace._src.core.errors import DataError, DeviceQueueError, StallError
from millrace._src.transfer import DevicePrefetcher
from millrace._src.transfer.ring_buffer import RingBuffer, RingClosedError, RingItem

from .log_capture import logged


def numbers(count=10, size=2, **options):
    return ds.NumpySlicesDataset({"x": list(range(count))}, shuffle=False, **options).batch(size)


def values(feed):
    return [batch[0].asnumpy().tolist() for batch in feed]


def test_batches_come_in_order_epoch_by_epoch():
    data = numbers(5)
    with DevicePrefetcher(data.create_tuple_iterator(num_epochs=3), epochs=3, slots=2) as feed:
        epochs = [values(feed) for _ in range(3)]
    assert epochs == [[[0, 1], [2, 3], [4]]] * 3


@pytest.mark.parametrize("slots", [1, 2, 64])
@pytest.mark.parametrize("most_bytes", [1, 40, 1 << 20])
def test_the_size_of_the_ring_changes_no_batch(slots, most_bytes):
    data = numbers(33, 4)
    with DevicePrefetcher(
        data.create_tuple_iterator(num_epochs=1), epochs=1, slots=slots, most_bytes=most_bytes
    ) as feed:
        assert values(feed) == [list(range(at, min(at + 4, 33))) for at in range(0, 33, 4)]


def test_asking_after_the_last_epoch_says_that_the_data_ended():
    feed = DevicePrefetcher(numbers(4).create_tuple_iterator(num_epochs=1), epochs=1)
    assert len(values(feed)) == 2
    with pytest.raises(DeviceQueueError, match=r"ended early.*the data ended after 2 batches.*sink_size"):
        next(feed)
    feed.close()


def test_an_error_of_a_row_comes_where_its_batch_would():
    def fail(x):
        if x == 5:
            raise ValueError("five is bad")
        return x

    data = ds.NumpySlicesDataset({"x": list(range(8))}, shuffle=False).map(fail).batch(2)
    feed = DevicePrefetcher(data.create_tuple_iterator(num_epochs=1), epochs=1)
    assert next(feed)[0].asnumpy().tolist() == [0, 1]
    assert next(feed)[0].asnumpy().tolist() == [2, 3]
    with pytest.raises(DataError, match="five is bad"):
        next(feed)
    assert feed.diagnosis().situation == "ended early"
    assert "five is bad" in feed.diagnosis().evidence
    with pytest.raises(DeviceQueueError, match="five is bad"):  # the first error is the one that is told
        next(feed)


def test_the_state_is_that_after_the_batch_taken_not_after_those_made_ahead():
    def shuffled():
        return ds.NumpySlicesDataset({"x": list(range(40))}, shuffle=True).batch(4)

    ds.config.set_seed(3)
    with DevicePrefetcher(shuffled().create_tuple_iterator(num_epochs=2), epochs=2, states=True) as feed:
        whole = values(feed) + values(feed)
    for taken in (1, 7, 10, 13):
        with DevicePrefetcher(shuffled().create_tuple_iterator(num_epochs=2), epochs=2, states=True) as feed:
            seen = []
            while len(seen) < taken:
                batch = feed.take()
                if batch is not None:
                    seen.append(batch[0].asnumpy().tolist())
            state = feed.state()
        again = shuffled().create_tuple_iterator(num_epochs=2, state=state)
        rest = [row[0].asnumpy().tolist() for row in again]
        if len(seen) + len(rest) < len(whole):
            rest += [row[0].asnumpy().tolist() for row in again]
        assert seen + rest == whole


def test_pause_and_resume():
    feed = DevicePrefetcher(numbers(100, 1).create_tuple_iterator(num_epochs=1), epochs=1, slots=2)
    first = next(feed)
    feed.pause()
    rest = []
    while (item := feed._ring.take(timeout=0.2)) is not None:
        rest.append(item.value.values[0].item())
    sent = feed.channel.sent
    assert sent < 100
    feed.resume()
    assert [first[0].item(), *rest, *(batch[0].item() for batch in feed)] == list(range(100))
    feed.close()


def threads():
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("sink-")}


@pytest.mark.parametrize("how", ["closed", "forgotten", "exhausted"])
def test_nothing_is_left(how):
    feed = DevicePrefetcher(numbers(1000, 1).create_tuple_iterator(num_epochs=1), epochs=1, slots=2)
    name = feed.name
    next(feed)
    if how == "closed":
        feed.close()
        feed.close()
        with pytest.raises(DeviceQueueError, match="it was stopped"):
            next(feed)
    elif how == "exhausted":
        assert len(values(feed)) == 999
    del feed
    gc.collect()
    assert not [thread for thread in threads() if thread.startswith(f"{name}-")]
    with pytest.raises(DeviceQueueError, match="no channel"):
        find_queue(name)


def test_a_step_that_waits_too_long_is_told_what_for():
    release = threading.Event()

    def slow(x):
        release.wait(30)
        return x

    data = ds.NumpySlicesDataset({"x": [1, 2]}, shuffle=False).map(slow)
    feed = DevicePrefetcher(data.create_tuple_iterator(num_epochs=1), epochs=1)
    try:
        with pytest.raises(
            StallError,
            match=r"no batch came within 0.05 s.*data slow \(.*map\(slow\) at .*\): the pipeline has produced no batch",
        ):
            feed.take(timeout=0.05)
    finally:
        release.set()
        feed.close()


def test_a_step_that_waits_longer_than_its_limit_is_logged_with_the_status():
    release = threading.Event()

    def slow(x):
        release.wait(30)
        return x

    data = ds.NumpySlicesDataset({"x": [1, 2]}, shuffle=False).map(slow)
    feed = DevicePrefetcher(data.create_tuple_iterator(num_epochs=1), epochs=1, patience=0.01, name="slowly")
    with logged("millrace.transfer.prefetcher", then=release.set) as seen:
        assert next(feed)[0].item() == 1
    feed.close()
    assert "channel_name: slowly" in seen[0]
    assert "have_sent: 0;" in seen[0]
    assert "data slow" in seen[0]


def test_a_ring_closed_from_either_side_frees_the_other():
    ring = RingBuffer(1, 10)
    ring.put(RingItem("a", 1))
    got = []

    def put():
        try:
            ring.put(RingItem("b", 1))
        except RingClosedError:
            got.append("closed")

    thread = threading.Thread(target=put)
    thread.start()
    ring.close()
    thread.join(10)
    assert got == ["closed"]
    with pytest.raises(RingClosedError):
        ring.take()


def test_a_finished_ring_is_emptied_first():
    ring = RingBuffer(4, 100)
    ring.put(RingItem("a", 1))
    ring.finish()
    assert ring.take().value == "a"
    with pytest.raises(RingClosedError):
        ring.take()


def test_text_and_dicts_pass():
    data = ds.NumpySlicesDataset({"t": ["a", "b"], "n": np.arange(2)}, shuffle=False)
    with DevicePrefetcher(data.create_tuple_iterator(num_epochs=1), epochs=1) as feed:
        assert [str(batch[0].asnumpy()) for batch in feed] == ["a", "b"]


def test_where_no_more_memory_can_be_pinned_batches_come_all_the_same(monkeypatch):
    """There is no GPU here, and nothing can be pinned: the same as on a machine that refuses to pin more."""
    import contextlib

    import torch

    from millrace._src.core.settings import override
    from millrace._src.transfer.pinned_memory import PinnedAllocator

    def refuse(*args, **kwargs):
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(torch, "empty", refuse)
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: False)
    with logged("millrace.transfer.pinned_memory") as said, override(allocator=PinnedAllocator("cuda:0")):
        rows = numbers(6).create_tuple_iterator(num_epochs=1, output_numpy=True)
        assert [row[0].tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    assert ["no more pinned memory" in line for line in said] == [True]
