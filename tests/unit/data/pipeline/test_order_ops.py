"""split, concat with a sampler, zip, and endless repeats: what MindSpore does not promise, and Millrace does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core.errors import PlanError

from .rows import col, epochs, num, stream

# What may be split: a source with its own shuffle, one with a sampler, ops on top, a shuffled stream.
WHOLES = {
    "shuffled source": lambda n: ds.NumpySlicesDataset(np.arange(n), ["a"]),
    "source in order": num,
    "source with a sampler": lambda n: num(n, shuffle=None, sampler=ds.SubsetRandomSampler(list(range(n)))),
    "map": lambda n: ds.NumpySlicesDataset(np.arange(n), ["a"]).map(lambda x: x),
    "shuffle": lambda n: num(n).map(lambda x: x).shuffle(3),
    "filter": lambda n: num(2 * n).filter(lambda a: a < n),
    "shuffled stream": lambda n: stream(range(n)).shuffle(4),
    "concat": lambda n: num(1) + num(n).skip(1),
}


@pytest.mark.parametrize("whole", WHOLES.values(), ids=WHOLES)
@pytest.mark.parametrize("randomize", [True, False])
def test_parts_share_no_row_and_miss_none_in_every_epoch_and_run(whole, randomize):
    for _ in range(2):
        parts = [epochs(part, 2) for part in whole(10).split([7, 3], randomize)]
        for epoch in range(2):
            assert sorted(row for part in parts for row in part[epoch]) == list(range(10))
        assert all(set(part[0]) == set(part[1]) for part in parts)
    again = [col(part) for part in whole(10).split([7, 3], randomize)]
    assert [set(part) for part in again] == [set(part[0]) for part in parts]


def test_another_seed_gives_other_parts():
    def first():
        return set(col(num(40).split([20, 20])[0]))

    ds.config.set_seed(1)
    one = first()
    ds.config.set_seed(2)
    assert first() != one
    ds.config.set_seed(1)
    assert first() == one


@given(rows=st.integers(4, 30), shards=st.integers(1, 4), cut=st.floats(0.1, 0.9), shuffle=st.booleans())
def test_shards_of_a_part_cover_the_part(rows, shards, cut, shuffle):
    size = min(rows - 1, max(1, round(rows * cut)))
    part = col(num(rows).split([size, rows - size])[0])
    seen = []
    for shard in range(shards):
        mine = num(rows).split([size, rows - size])[0]
        mine.use_sampler(ds.DistributedSampler(shards, shard, shuffle))
        assert len(col(mine)) == len(mine) == -(-size // shards)
        seen += col(mine)
    assert set(seen) == set(part)


def test_a_part_takes_any_sampler_and_rows_by_number():
    part = num(10).split([6, 4], randomize=False)[1]
    part.use_sampler(ds.SubsetSampler([3, 0]))
    assert col(part) == [9, 6]
    assert part.get_dataset_size() == 2
    assert [value.item() for value in part[0]] == [9]


def test_split_of_an_op_has_no_sampler_to_replace():
    part = num(6).batch(2).split([1, 2], randomize=False)[0]
    with pytest.raises(PlanError, match="use_sampler works on a source or a concatenation"):
        part.use_sampler(ds.SequentialSampler())


@given(sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4), shards=st.integers(1, 5))
def test_shards_of_a_concatenation_are_disjoint_and_complete(sizes, shards):
    whole = [(part, row) for part, size in enumerate(sizes) for row in range(size)]
    seen = []
    for shard in range(shards):
        first, *others = [
            num(size).map(lambda x, part=part: (np.int64(part), x), output_columns=["p", "a"])
            for part, size in enumerate(sizes)
        ]
        data = first.concat(others)
        data.use_sampler(ds.DistributedSampler(shards, shard, shuffle=False))
        mine = list(zip(col(data, "p"), col(data, "a"), strict=True))
        assert mine == whole[shard::shards]
        assert len(data) == len(mine)
        seen += mine
    assert sorted(seen) == whole


def test_a_random_sampler_mixes_the_parts_anew_in_each_epoch():
    data = num(20) + num(20).map(lambda x: x + 20)
    data.use_sampler(ds.RandomSampler())
    one, two = epochs(data, 2)
    assert sorted(one) == sorted(two) == list(range(40))
    assert one != two
    assert sorted(one[:20]) != list(range(20))


def test_the_last_sampler_of_a_concatenation_counts():
    data = num(3) + num(4)
    data.use_sampler(ds.RandomSampler())
    data.use_sampler(ds.DistributedSampler(3, 1, shuffle=False))
    assert (col(data), len(data), data.is_sharded(), data.is_shuffled()) == ([1, 1], 2, True, False)


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (lambda: num(2).repeat().take(5), [0, 1, 0, 1, 0]),
        (lambda: ds.zip((num(2).repeat(), num(3).rename("a", "b"))), [0, 1, 0]),
        (lambda: num(3).repeat().batch(2).take(2), [[0, 1], [2, 0]]),
        (lambda: num(3).repeat().skip(4).take(2), [1, 2]),
    ],
)
def test_an_endless_repeat_ends_where_it_is_cut(data, rows):
    assert col(data()) == rows


def test_one_dataset_may_feed_two_pipelines():
    base = num(4).map(lambda x: x + 1)
    one, two = base.batch(2), base.repeat(2)
    both = ds.zip((one, two.rename("a", "b").batch(3)))
    assert col(one) == [[1, 2], [3, 4]]
    assert col(both, "b") == [[1, 2, 3], [4, 1, 2]]
    assert col(base) == [1, 2, 3, 4]
    assert col(base + base) == [1, 2, 3, 4, 1, 2, 3, 4]
