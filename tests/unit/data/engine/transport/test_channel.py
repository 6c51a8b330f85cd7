"""Messages through a socket pair: inline and by slab, with slabs used again and views that stay valid."""

import os

import numpy as np
import pytest

from millrace._src.data.engine.transport.block_pool import MAX_FREE_BLOCKS, BlockPool
from millrace._src.data.engine.transport.channel import INLINE, MessageChannel, RawMessage, pair


@pytest.fixture
def ends():
    a, b = (MessageChannel(sock) for sock in pair())
    yield a, b
    a.close()
    b.close()


BIG = 4 * INLINE


def test_small_messages_go_inline(ends):
    a, b = ends
    a.send(3, RawMessage(b"hello"))
    kind, data = b.receive(5)
    assert (kind, bytes(data)) == (3, b"hello")
    assert len(a.pool) == 0
    data[0] = 0  # a worker's user function may write into its input


@pytest.mark.parametrize("size", [0, 1, INLINE, INLINE + 1, BIG])
def test_any_size_arrives(ends, size):
    a, b = ends
    payload = os.urandom(size)
    a.send(0, RawMessage(payload))
    assert bytes(b.receive(5)[1]) == payload


def test_a_slab_is_used_again_once_nobody_looks(ends):
    a, b = ends
    for i in range(20):
        a.send(0, RawMessage(bytes([i]) * BIG))
        data = b.receive(5)[1]
        assert data[0] == data[-1] == i
        del data
        b.send(1, RawMessage(b"next"))
        a.receive(5)
    assert a.pool.num_created == 1


def test_a_slab_that_is_looked_at_is_not_written(ends):
    a, b = ends
    held = []
    for i in range(12):
        a.send(0, RawMessage(bytes([i]) * BIG))
        held.append(b.receive(5)[1][100:200])
        b.send(1, RawMessage(b""))
        a.receive(5)
    assert a.pool.num_created == 12
    assert [int(view[0]) for view in held] == list(range(12))


def test_views_outlive_the_channel(no_leaks):
    a, b = (MessageChannel(sock) for sock in pair())
    a.send(0, RawMessage(b"x" * BIG))
    data = b.receive(5)[1]
    a.close()
    b.close()
    assert bytes(data[:3]) == b"xxx"


def test_dropped_views_shrink_the_pool_on_both_sides(ends):
    a, b = ends
    held = []
    for _ in range(10):
        a.send(0, RawMessage(b"x" * BIG))
        held.append(b.receive(5)[1])
    held.clear()
    for _ in range(3):
        b.send(1, RawMessage(b""))
        a.receive(5)
        a.send(0, RawMessage(b""))
        b.receive(5)
    assert len(a.pool) == MAX_FREE_BLOCKS
    assert len(b.leases) == MAX_FREE_BLOCKS


def test_the_end_of_the_other_side_is_none(ends):
    a, b = ends
    a.send(0, RawMessage(b"last"))
    a.hang_up()
    assert bytes(b.receive(5)[1]) == b"last"
    assert b.receive(5) is None
    b.close()
    with pytest.raises(OSError, match="Broken pipe"):
        a.send(0, RawMessage(b"too late"))


def test_nothing_in_time(ends):
    with pytest.raises(TimeoutError):
        ends[0].receive(0)


def test_descriptors_are_closed_once_sent(ends, no_leaks):
    a, b = ends
    before = len(os.listdir("/proc/self/fd"))
    held = []
    for _ in range(30):
        a.send(0, RawMessage(b"x" * BIG))
        held.append(b.receive(5)[1])
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_length_beyond_the_slab_is_refused(ends):
    a, b = ends
    a.send(0, RawMessage(b"x" * BIG))
    data = b.receive(5)[1]
    with pytest.raises(ValueError, match="does not fit into a block"):
        b.leases.lease(0, 1 << 40)
    assert data.size == BIG


def test_pool_prefers_the_smallest_that_fits():
    pool = BlockPool()
    small, large = pool.take(100_000), pool.take(400_000)
    pool.give_back(large.number)
    pool.give_back(small.number)
    pool.give_back(small.number)  # said twice: still one slab
    assert pool.take(90_000) is small
    assert pool.take(90_000) is large
    assert pool.take(90_000) is not large
    pool.close()


def test_pool_lets_old_sizes_go():
    pool = BlockPool()
    for number in [pool.take(70_000).number for _ in range(MAX_FREE_BLOCKS)]:
        pool.give_back(number)
    big = pool.take(50_000_000)
    assert len(pool) == MAX_FREE_BLOCKS
    assert list(pool.forgotten) == [0]
    assert big.bytes.dtype == np.uint8
    pool.close()
