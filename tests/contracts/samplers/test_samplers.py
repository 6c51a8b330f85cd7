"""What holds for every sampler, size, world size and key."""

import itertools
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace._src.core.random.rng import SORT_LIMIT
from millrace._src.data.samplers import (
    DistributedSampler,
    IterSampler,
    PKSampler,
    RandomSampler,
    SequentialSampler,
    Shuffle,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
    sampler_from_dict,
)
from millrace._src.data.samplers.base import SAMPLER_TYPES

KEYS = st.integers(0, 2**64 - 1)
LIMITS = st.none() | st.integers(0, 40)
LABELS = (np.arange(60) * 7) % 5


def labels_for(size):
    return lambda: LABELS[:size]


@st.composite
def samplers(draw, size):
    """One sampler that suits a source of this size."""
    limit = draw(LIMITS)
    rows = st.integers(0, size - 1)
    return draw(
        st.one_of(
            st.builds(SequentialSampler, rows, st.just(limit)),
            st.builds(RandomSampler, st.booleans(), st.just(limit)),
            st.builds(SubsetSampler, st.lists(rows, min_size=1, max_size=20), st.just(limit)),
            st.builds(SubsetRandomSampler, st.lists(rows, min_size=1, max_size=20), st.just(limit)),
            st.builds(
                WeightedRandomSampler,
                st.lists(st.floats(0.1, 9), min_size=1, max_size=size),
                st.just(limit),
            ),
            st.builds(
                DistributedSampler,
                st.just(5),
                st.integers(0, 4),
                st.booleans(),
                st.just(limit),
                st.integers(-1, 5),
            ),
            st.builds(PKSampler, st.integers(1, 4), shuffle=st.booleans(), num_samples=st.just(limit)),
            st.lists(rows, min_size=1, max_size=20).map(
                lambda some: IterSampler(some, None if limit is None else min(limit, len(some)))
            ),
        )
    )


@st.composite
def chains(draw):
    """A source size and a chain of one to three samplers over it."""
    size = draw(st.integers(1, 60))
    chain, here = [], size
    for _ in range(draw(st.integers(1, 3))):
        below = draw(samplers(here))
        if chain:
            below.add_child(chain[-1])
        chain.append(below)
        here = below.count(size, labels_for(size))
    return size, chain[-1]


@given(chains(), KEYS)
def test_order_is_pure_and_any_block_can_be_asked(made, key):
    size, sampler = made
    order = sampler.order(size, key, labels_for(size))
    rows = order.at(0, order.size)
    assert rows.dtype == np.int64
    assert order.size == len(rows)
    if "PKSampler(" not in repr(sampler) or "child=" not in repr(sampler).partition("PKSampler(")[2]:
        # how many classes a random child leaves over, only its rows tell
        assert order.size == sampler.count(size, labels_for(size))
    assert ((rows >= 0) & (rows < size)).all()
    again = sampler.order(size, key, labels_for(size))
    assert rows.tolist() == again.at(0, again.size + 5).tolist()
    positions = np.arange(order.size, dtype=np.int64)
    assert rows.tolist() == order.take(positions).tolist()
    assert rows[::-1].tolist() == order.take(positions[::-1]).tolist()
    for step in (1, 3):
        blocks = [order.at(i, i + step) for i in range(0, order.size, step)]
        assert rows.tolist() == [row for block in blocks for row in block.tolist()]


@given(chains(), KEYS)
def test_pickle_json_and_equality(made, key):
    size, sampler = made
    copies = [
        pickle.loads(pickle.dumps(sampler)),
        sampler_from_dict(json.loads(json.dumps(sampler.to_dict()))),
    ]
    want = sampler.order(size, key, labels_for(size))
    for copy in copies:
        got = copy.order(size, key, labels_for(size))
        assert got.at(0, got.size).tolist() == want.at(0, want.size).tolist()
    assert copies[0] == sampler
    assert repr(copies[0]) == repr(sampler)
    assert hash(copies[0]) == hash(sampler)


@given(st.integers(1, 200), st.integers(1, 17), KEYS, st.booleans())
def test_shards_cover_with_the_documented_padding(size, world, key, shuffle):
    shards = [DistributedSampler(world, k, shuffle) for k in range(world)]
    parts = [shard.order(size, key).at(0, size).tolist() for shard in shards]
    assert {len(part) for part in parts} == {-(-size // world)}  # equal steps
    dealt = [row for turn in itertools.zip_longest(*parts) for row in turn]
    assert sorted(dealt[:size]) == list(range(size))  # disjoint and complete
    # what follows is the beginning once more, and the sampler says how much of it there is
    assert dealt[size:] == [dealt[i % size] for i in range(len(dealt) - size)]
    assert len(dealt) - size == shards[0].padding(size)


@given(st.integers(1, 200), st.integers(1, 17), KEYS, st.booleans(), st.integers(0, 17))
def test_shards_with_an_offset_repeat_nothing(size, world, key, shuffle, offset):
    offset = min(offset, world)
    parts = [DistributedSampler(world, k, shuffle, offset=offset).order(size, key) for k in range(world)]
    rows = [part.at(0, size).tolist() for part in parts]
    if size >= world:
        assert sorted(row for part in rows for row in part) == list(range(size))
        assert max(map(len, rows)) - min(map(len, rows)) <= 1
    else:
        assert {len(part) for part in rows} == {1}
        assert {row for part in rows for row in part} == set(range(size))


@given(st.integers(0, 200), st.integers(1, 17), KEYS)
def test_uneven_shards_never_repeat(size, world, key):
    shards = [DistributedSampler(world, k, even_dist=False).order(size, key) for k in range(world)]
    assert sorted(row for shard in shards for row in shard.at(0, size + 1).tolist()) == list(range(size))


def test_keys_and_depths_give_different_orders():
    sampler = RandomSampler()
    orders = {tuple(sampler.order(20, key).at(0, 20).tolist()) for key in range(50)}
    assert len(orders) == 50
    twice = RandomSampler()
    twice.add_child(RandomSampler())
    # were both levels keyed alike, the two permutations would be one squared
    outer, inner = RandomSampler().order(20, 5).at(0, 20), twice.order(20, 5).at(0, 20)
    assert outer[outer].tolist() != inner.tolist()
    assert sorted(inner.tolist()) == list(range(20))


@pytest.mark.parametrize(
    "sampler",
    [
        RandomSampler(),
        RandomSampler(True),
        RandomSampler(num_samples=10**11),
        SequentialSampler(10**9),
        DistributedSampler(8, 3),
        DistributedSampler(8, 3, False, offset=2),
    ],
    ids=repr,
)
def test_huge_sources_cost_nothing(sampler):
    size = 10**12
    assert size > SORT_LIMIT
    order = sampler.order(size, key=4)
    assert order.size == sampler.count(size) > 10**10
    block = order.at(10**10, 10**10 + 100)
    assert len(block) == 100
    assert ((block >= 0) & (block < size)).all()


def close_to(counts, chances):
    """A loose chi-square bound: about 1 in 10**6 of fair draws fails, and these draws never change."""
    total = counts.sum()
    expected = total * np.asarray(chances)
    return ((counts - expected) ** 2 / expected).sum() < len(counts) + 7 * np.sqrt(2 * len(counts))


def test_draws_with_replacement_are_even():
    rows = RandomSampler(True).order(20_000, key=3).at(0, 20_000)
    assert close_to(np.bincount(rows // 1000, minlength=20), np.full(20, 1 / 20))


def test_every_row_comes_first_equally_often():
    first = [RandomSampler().order(10, key).at(0, 1)[0] for key in range(5000)]
    assert close_to(np.bincount(first, minlength=10), np.full(10, 0.1))


def test_weighted_draws_follow_the_weights():
    weights = np.array([1.0, 2, 0, 3, 4])
    sampler = WeightedRandomSampler(weights.tolist(), 50_000)
    counts = np.bincount(sampler.order(50_000, key=9).at(0, 50_000), minlength=5)
    assert counts[2] == 0
    assert close_to(counts[[0, 1, 3, 4]], weights[[0, 1, 3, 4]] / 10)


def test_weighted_without_replacement_follows_the_weights_too():
    weights = np.array([1.0, 2, 3, 4])
    firsts, seconds = np.zeros(4), np.zeros(4)
    for key in range(8000):
        rows = WeightedRandomSampler(weights.tolist(), 4, False).order(4, key).at(0, 4)
        assert sorted(rows.tolist()) == [0, 1, 2, 3]
        firsts[rows[0]] += 1
        if rows[0] == 3:
            seconds[rows[1]] += 1
    assert close_to(firsts, weights / 10)
    assert close_to(seconds[:3], weights[:3] / 6)


@pytest.mark.parametrize("weights", [[1e308, 1e308], [5e-324, 5e-324], [1e-300, 1e300]])
@pytest.mark.parametrize("replacement", [True, False])
def test_extreme_weights(weights, replacement):
    rows = WeightedRandomSampler(weights, 2, replacement).order(2, key=1).at(0, 2)
    assert set(rows.tolist()) <= {0, 1}


def test_a_fixed_random_order_ignores_the_epoch():
    sampler = RandomSampler().fixed(11)
    assert not sampler.reshuffle_each_epoch
    assert sampler.order(9, 1).at(0, 9).tolist() == sampler.order(9, 2).at(0, 9).tolist()
    assert sampler_from_dict(sampler.to_dict()) == sampler


def test_answers_about_chains():
    top = SequentialSampler(num_samples=3)
    top.add_child(DistributedSampler(2, 0, num_samples=2))
    assert (top.is_sharded(), top.is_shuffled(), top.get_num_samples()) == (True, True, 2)
    assert top.get_shuffle_mode() is Shuffle.FALSE
    assert SubsetSampler([1, 2]).get_num_samples() == SubsetSampler([1, 2], 5).get_num_samples() == 2
    assert not DistributedSampler(1, 0).is_sharded()
    assert PKSampler(2, shuffle=True).is_shuffled()
    assert WeightedRandomSampler([1, 2]).get_num_samples() is None
    assert PKSampler(2, shuffle=True).get_shuffle_mode() is Shuffle.FALSE


@pytest.mark.parametrize(
    ("sampler", "want"),
    [
        (SequentialSampler(), {"num_samples": 0, "sampler_name": "SequentialSampler", "start_index": 0}),
        (
            RandomSampler(True, 3),
            {
                "num_samples": 3,
                "replacement": True,
                "reshuffle_each_epoch": True,
                "sampler_name": "RandomSampler",
                "shuffle_mode": 2,
            },
        ),
        (SubsetSampler([1, 2]), {"indices": [1, 2], "num_samples": 0, "sampler_name": "SubsetSampler"}),
        (
            WeightedRandomSampler([1, np.float32(2.5)], 2, False),
            {
                "num_samples": 2,
                "replacement": False,
                "sampler_name": "WeightedRandomSampler",
                "weights": [1, 2.5],
            },
        ),
        (
            DistributedSampler(3, 1, False, 2, 1),
            {
                "even_dist": True,
                "num_samples": 2,
                "num_shards": 3,
                "offset": 1,
                "sampler_name": "DistributedSampler",
                "shard_id": 1,
                "shuffle_mode": 0,
            },
        ),
    ],
    ids=repr,
)
def test_json_has_mindspores_keys(sampler, want):
    assert sampler.to_dict() == want


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"sampler_name": "Nothing"},
        {"sampler_name": ["x"]},
        {"sampler_name": "DistributedSampler"},
        {"sampler_name": "DistributedSampler", "num_shards": 2, "shard_id": 0, "shuffle_mode": 99},
        {"sampler_name": "SubsetSampler"},
        {"sampler_name": "SequentialSampler", "child_sampler": [3]},
        {"sampler_name": "PKSampler", "num_val": "x"},
        [],
    ],
)
def test_bad_json_is_refused(bad):
    with pytest.raises((TypeError, ValueError)):
        sampler_from_dict(bad)


def test_endless_json_chains_are_refused():
    deep = {"sampler_name": "SequentialSampler"}
    for _ in range(100):
        deep = {"sampler_name": "SequentialSampler", "child_sampler": [deep]}
    with pytest.raises(ValueError, match="chain"):
        sampler_from_dict(deep)


def test_every_sampler_is_registered():
    assert {"SequentialSampler", "IterSampler", "PKSampler"} <= set(SAMPLER_TYPES)
