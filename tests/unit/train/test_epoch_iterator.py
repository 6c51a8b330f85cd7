"""Batches through the sink, as on a device: the same ones, and the place in the data is that of the last one used."""

from __future__ import annotations

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.train.epoch_iterator import EpochIterator


def data():
    ds.config.set_seed(4)
    return ds.NumpySlicesDataset({"x": np.arange(20)}, shuffle=True).batch(3)


def values(batches):
    return [batch[0].asnumpy().tolist() for batch in batches]


@pytest.mark.parametrize("stop", [0, 1, 6, 7, 8, 13])
def test_the_state_is_after_the_batch_that_was_used(stop):
    plain = EpochIterator(data(), epochs=2)
    whole = values(plain.take(14))
    plain.close()
    first = EpochIterator(data(), epochs=2, through_sink=True)
    seen = values(first.take(stop))
    at = first.state()
    first.close()
    second = EpochIterator(data(), epochs=2, at=at, through_sink=True)
    assert seen + values(second.take(14 - stop)) == whole
    second.close()


def test_epochs_end_where_the_dataset_says():
    feed = EpochIterator(data(), epochs=2, through_sink=True)
    assert [len(values(feed.epoch())) for _ in range(2)] == [7, 7]
    assert feed.batches_delivered == 14
    assert feed.prefetcher.channel.taken == 14
    feed.close()
