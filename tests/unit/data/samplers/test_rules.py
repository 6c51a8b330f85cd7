"""The exact rows and sizes of every sampler, as measured on MindSpore 2.7.0."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.data.samplers import (
    BuiltinSampler,
    DistributedSampler,
    IterSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Shuffle,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
    as_sampler,
)

INT64 = "num_samples exceeds the boundary between 0 and 9223372036854775807(INT64_MAX)!"


def rows(sampler, size=5, key=1, labels=None):
    order = sampler.order(size, key, labels)
    assert order.size == sampler.count(size, labels)
    return order.at(0, order.size).tolist()


def chain(*samplers):
    for parent, child in itertools.pairwise(samplers):
        parent.add_child(child)
    return samplers[0]


class Own(Sampler):
    def __init__(self, numbers, num_samples=None):
        super().__init__(num_samples)
        self.numbers = numbers

    def __iter__(self):
        return iter(self.numbers)


def test_distributed_as_recorded():
    recorded = json.loads((Path(__file__).parent / "distributed_mindspore.json").read_text())
    assert len(recorded) > 500
    for size, shards, shard, offset, limit, want in recorded:
        sampler = DistributedSampler(shards, shard, False, limit, offset)
        assert rows(sampler, size) == want, (size, shards, shard, offset, limit)


@pytest.mark.parametrize(
    ("sampler", "want"),
    [
        (SequentialSampler(), [0, 1, 2, 3, 4]),
        (SequentialSampler(3), [3, 4]),
        (SequentialSampler(0, 0), [0, 1, 2, 3, 4]),
        (SequentialSampler(1, 9), [1, 2, 3, 4]),
        (SubsetSampler([0, 0, 4]), [0, 0, 4]),
        (SubsetSampler([0, 1, 4], 2), [0, 1]),
        (SubsetSampler([0, 1, 4], 9), [0, 1, 4]),
        (SubsetSampler([0, 7], 1), [0]),
        (SubsetSampler(3), [3]),
        (SubsetSampler(np.array([1, 2])), [1, 2]),
        (WeightedRandomSampler([0, 1], 2), [1, 1]),
        (WeightedRandomSampler([0, 1]), [1, 1, 1, 1, 1]),
        (WeightedRandomSampler([0, 1], 9), [1, 1, 1, 1, 1]),
        (WeightedRandomSampler([0, 1, 0], 3, False), [1, 0, 2]),
        (IterSampler([1, 2, 3], 2), [1, 2]),
        (IterSampler(range(3)), [0, 1, 2]),
        (Own([3, 1]), [3, 1]),
        (Own([3, 1, 2], 2), [3, 1]),
        (Own([np.int64(3)]), [3]),
        (Own([-1]), [4]),
        (DistributedSampler(3, 0, False, 2), [0, 3]),
        (DistributedSampler(3, 2, False, 9), [2, 0]),
        (DistributedSampler(3, 2, False, even_dist=False), [2]),
        (DistributedSampler(9, 7, False, even_dist=False), []),
        (chain(SequentialSampler(1, 2), SubsetSampler([4, 3, 2, 1])), [3, 2]),
        (chain(SubsetSampler([0, 2]), SequentialSampler(1, 3)), [1, 3]),
        (chain(DistributedSampler(2, 0, False), SequentialSampler(1, 3)), [1, 3]),
        (chain(DistributedSampler(2, 1, False), SequentialSampler(1, 3)), [2, 1]),
        (chain(WeightedRandomSampler([0, 1], 2), SubsetSampler([4, 3])), [3, 3]),
        (chain(Own([1, 0]), SequentialSampler(2, 2)), [3, 2]),
        (chain(SequentialSampler(1), Own([4, 3])), [3]),
        (chain(SequentialSampler(1), SequentialSampler(1), SequentialSampler(1)), [3, 4]),
    ],
    ids=repr,
)
def test_rows(sampler, want):
    assert rows(sampler) == want


def test_random_without_replacement_is_a_permutation_and_is_cut():
    assert sorted(rows(RandomSampler())) == [0, 1, 2, 3, 4]
    short = rows(RandomSampler(num_samples=3))
    assert len(set(short)) == 3
    assert short == rows(RandomSampler())[:3]


@pytest.mark.parametrize("limit", [None, 0, 5, 9])
def test_random_never_gives_more_rows_than_there_are(limit):
    assert len(rows(RandomSampler(True, limit))) == 5
    assert len(rows(RandomSampler(False, limit))) == 5


def test_subset_random_shuffles_the_first_of_the_list():
    assert sorted(rows(SubsetRandomSampler([3, 3, 1]))) == [1, 3, 3]
    seen = {tuple(rows(SubsetRandomSampler([0, 1, 2, 3, 4], 2), key=key)) for key in range(50)}
    assert seen == {(0, 1), (1, 0)}


def test_weighted_without_replacement_draws_zero_weights_last():
    for key in range(20):
        assert set(rows(WeightedRandomSampler([0, 1, 0, 2, 0], 5, False), key=key)[:2]) == {1, 3}


def test_own_sampler_knows_the_size_and_may_give_all_at_once():
    class Backwards(Sampler):
        def __iter__(self):
            return iter(range(self.dataset_size)[::-1])

    class Listed(Sampler):
        def get_indices(self):
            return np.array([1, 0])

    class NoInit(Sampler):
        def __init__(self):
            pass

        def __iter__(self):
            yield 2

    assert rows(Backwards()) == [4, 3, 2, 1, 0]
    assert rows(Listed()) == [1, 0]
    assert rows(NoInit()) == [2]
    assert rows(Own([])) == []


def test_a_generator_is_replayed():
    sampler = IterSampler(i for i in (2, 0))
    assert [rows(sampler), rows(sampler)] == [[2, 0], [2, 0]]
    assert rows(IterSampler(itertools.count(), 3)) == [0, 1, 2]


LABELS = np.array([1, 0, 1, 0, 0])


def test_pk_takes_some_rows_of_every_class_in_class_order():
    for key in range(20):
        found = rows(PKSampler(4), key=key, labels=lambda: LABELS)
        assert LABELS[found].tolist() == [0] * 4 + [1] * 4
    assert len(rows(PKSampler(2, num_samples=3), labels=lambda: LABELS)) == 3
    assert len(rows(PKSampler(2, num_samples=9), labels=lambda: LABELS)) == 4
    turns = {tuple(LABELS[rows(PKSampler(2, shuffle=True), key=k, labels=lambda: LABELS)]) for k in range(40)}
    assert turns == {(0, 0, 1, 1), (1, 1, 0, 0)}


def test_pk_classes_may_be_text_and_come_through_a_child():
    names = np.array(["b", "a", "b", "a", "c"])
    assert names[rows(PKSampler(1), labels=lambda: names)].tolist() == ["a", "b", "c"]
    sampler = chain(PKSampler(3), SubsetSampler([0, 2, 4]))
    assert set(names[rows(sampler, labels=lambda: names)].tolist()) == {"b", "c"}
    above = chain(SequentialSampler(1), PKSampler(1, class_column="kind"))
    assert names[rows(above, labels=lambda: names)].tolist() == ["b", "c"]
    assert above.class_column == "kind"


def test_padding_is_known():
    assert [DistributedSampler(3, 0).padding(size) for size in range(1, 7)] == [2, 1, 0, 2, 1, 0]
    assert DistributedSampler(3, 0, offset=0).padding(7) == 0
    assert DistributedSampler(3, 0, offset=0).padding(2) == 1


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: DistributedSampler("3", 0), ArgumentTypeError, "num_shards must be integer but was: 3."),
        (lambda: DistributedSampler(3, None), ArgumentTypeError, "shard_id must be integer but was: None."),
        (
            lambda: DistributedSampler(3, 0, 1),
            ArgumentTypeError,
            "shuffle must be a boolean value or valid shuffle mode but was: 1.",
        ),
        (lambda: DistributedSampler(3, 0, offset="x"), TypeError, "offset must be integer but was: x."),
        (lambda: DistributedSampler(3, 0, num_samples=-1), ArgumentValueError, INT64),
        (lambda: SequentialSampler(0, 2**63), ArgumentValueError, INT64),
        (lambda: SequentialSampler("x"), ArgumentTypeError, "start_index must be integer but was: x."),
        (lambda: RandomSampler(1), ArgumentTypeError, "replacement must be a boolean value but was: 1."),
        (
            lambda: RandomSampler(shuffle=Shuffle.FALSE),
            ArgumentTypeError,
            "shuffle must be valid shuffle mode but was: Shuffle.FALSE.",
        ),
        (lambda: RandomSampler(shuffle=3), TypeError, "shuffle must be valid shuffle mode but was: 3."),
        (lambda: SubsetSampler("12"), TypeError, "Unsupported sampler object of type (<class 'str'>)"),
        (lambda: SubsetSampler(1.5), TypeError, "Unsupported sampler object of type (<class 'float'>)"),
        (
            lambda: SubsetSampler([1, None]),
            ArgumentTypeError,
            (
                "SubsetSampler: Type of indices element must be int, "
                "but got list[1]: None, type: <class 'NoneType'>."
            ),
        ),
        (
            lambda: WeightedRandomSampler((1, 2)),
            ArgumentTypeError,
            "type of weights element must be number, but got w[0]: (1, 2), type: <class 'tuple'>.",
        ),
        (
            lambda: WeightedRandomSampler([1], 1, 3),
            ArgumentTypeError,
            "replacement must be a boolean value but was: 3.",
        ),
        (lambda: PKSampler("2"), ArgumentTypeError, "num_val must be integer but was: 2."),
        (lambda: PKSampler(2, 3), NotImplementedError, "Not supported to specify num_class for PKSampler."),
        (lambda: PKSampler(2, shuffle=1), ArgumentTypeError, "shuffle must be a boolean value but was: 1."),
        (lambda: PKSampler(2, class_column=1), TypeError, "class_column must be a str value but was: 1."),
        (lambda: BuiltinSampler().is_shuffled(), NotImplementedError, "Sampler must implement is_shuffled."),
        (lambda: BuiltinSampler().is_sharded(), NotImplementedError, "Sampler must implement is_sharded."),
        (
            lambda: chain(SequentialSampler(), SequentialSampler()).add_child(SequentialSampler()),
            PlanError,
            "Cannot add child sampler, this sampler already has a child.",
        ),
        (lambda: as_sampler("x"), ArgumentTypeError, "Unsupported sampler object of type (<class 'str'>)"),
        (
            lambda: as_sampler(3),
            ArgumentTypeError,
            "sampler should be either iterable or from mindspore.dataset.samplers.",
        ),
    ],
)  # fmt: skip
def test_argument_errors(make, kind, text):
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("sampler", "text"),
    [
        (DistributedSampler(0, 0), "DistributedSampler: num_shards must be greater than 0, but got: 0"),
        (DistributedSampler(3, 3), "DistributedSampler: shard_id must be in range [0, 3), but got: 3"),
        (DistributedSampler(3, -1), "DistributedSampler: shard_id must be in range [0, 3), but got: -1"),
        (
            DistributedSampler(3, 0, offset=4),
            "DistributedSampler: offset must be no more than num_shards(3), but got: 4",
        ),
        (
            DistributedSampler(3, 0, offset=-2),
            "DistributedSampler: offset must be -1 or in range [0, 3], but got: -2",
        ),
        (
            DistributedSampler(3, 0, Shuffle.PARTIAL),
            "The shuffle mode: Shuffle.PARTIAL is not supported with current dataset.",
        ),
        (
            RandomSampler(shuffle=Shuffle.INFILE),
            "The shuffle mode: Shuffle.INFILE is not supported with current dataset.",
        ),
        (
            SequentialSampler(-1),
            "SequentialSampler: start_index_ must be greater than or equal to 0, but got: -1",
        ),
        (
            SequentialSampler(5),
            "Invalid parameter, start_index must be less than num_rows, but got start_index: 5, num_rows: 5.",
        ),
        (
            chain(SequentialSampler(5), SequentialSampler(0, 2)),
            "Invalid parameter, start_index must be less than num_rows, but got start_index: 5, num_rows: 2.",
        ),
        (SubsetSampler([5]), "Sample ID (5) is out of bound, expected range [0, 4]"),
        (SubsetRandomSampler([-1]), "Sample ID (-1) is out of bound, expected range [0, 4]"),
        (SubsetSampler([]), "SubsetSampler: indices must hold at least one row number, but is empty"),
        (
            chain(SubsetSampler([3]), SequentialSampler(0, 2)),
            "Sample ID (3) is out of bound, expected range [0, 1]",
        ),
        (
            WeightedRandomSampler([0, 0, 0], 2),
            "WeightedRandomSampler: elements of weights vector must not be all zero",
        ),
        (
            WeightedRandomSampler([-1, 0, 0], 2),
            (
                "WeightedRandomSampler: weights vector must not contain negative numbers, "
                "got: weights[0] = -1.000000"
            ),
        ),
        (WeightedRandomSampler([], 2), "WeightedRandomSampler: weights vector must not be empty"),
        (
            WeightedRandomSampler([1, float("nan")], 2),
            "WeightedRandomSampler: weights vector must hold finite numbers only, got: weights[1] = nan",
        ),
        (
            WeightedRandomSampler([1] * 7, 2),
            (
                "Invalid parameter, size of sample weights must be less than or equal to num of data, "
                "otherwise might cause generated id out of bound or other errors, "
                "but got weight size: 7, num of data: 5"
            ),
        ),
        (
            WeightedRandomSampler([0, 1], 3, False),
            (
                "Invalid parameter, without replacement, weight size must be greater than or equal to "
                "num_samples, but got weight size: 2, num_samples: 3"
            ),
        ),
        (PKSampler(0), "PKSampler: num_val must be greater than 0, but got: 0"),
        (Own([1.5]), "Python sampler should return index of type integer, but got: float64"),
        (Own(["a"]), "Python sampler should return index of type integer, but got: string"),
        (Own([True]), "Python sampler should return index of type integer, but got: bool"),
        (Own([99]), "Sample ID (99) is out of bound, expected range [0, 4]"),
        (Own([-6]), "Sample ID (-6) is out of bound, expected range [0, 4]"),
        (
            Sampler(),
            (
                "Call get_num_samples method failed: NotImplementedError: Sampler implements neither "
                "__iter__ nor get_indices"
            ),
        ),
    ],
    ids=repr,
)
def test_errors_when_the_order_is_made(sampler, text):
    with pytest.raises(PlanError) as caught:
        sampler.order(5, 1, lambda: np.zeros(5))
    assert str(caught.value) == text


def test_pk_says_what_it_needs():
    with pytest.raises(PlanError, match="get_label"):
        PKSampler(1).order(5, 1)
    with pytest.raises(PlanError, match="shape"):
        PKSampler(1).count(5, lambda: np.zeros(4))


def test_a_child_must_be_a_sampler_and_not_the_parent():
    sampler = SequentialSampler()
    with pytest.raises(TypeError, match="int"):
        sampler.add_child(3)
    with pytest.raises(ValueError, match="own child"):
        sampler.add_child(sampler)
    sampler.add_child(None)
    assert sampler.get_child() is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ds.DistributedSampler(2, 0, shufle=False), r"DistributedSampler\(\).*'shufle'.*'shuffle'"),
        (lambda: ds.PKSampler(num_vals=2), r"PKSampler\(\).*'num_vals'.*'num_val'"),
        (lambda: ds.RandomSampler(replace=True), r"RandomSampler\(\).*'replace'.*'replacement'"),
        (lambda: ds.SequentialSampler(start=1), r"SequentialSampler\(\).*'start'.*'start_index'"),
        (lambda: ds.SubsetRandomSampler(index=[1]), r"SubsetRandomSampler\(\).*'index'.*'indices'"),
        (lambda: ds.WeightedRandomSampler(weight=[1]), r"WeightedRandomSampler\(\).*'weight'.*'weights'"),
        (lambda: ds.IterSampler(samplers=[1]), r"IterSampler\(\).*'samplers'.*'sampler'"),
    ],
)
def test_a_misspelt_argument_names_the_sampler_and_the_right_one(make, words):
    with pytest.raises(TypeError, match=words):
        make()
