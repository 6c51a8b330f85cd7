"""GeneratorDataset: every kind of Python object, and what may be said about its order."""

from __future__ import annotations

import collections
import gc
import itertools
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError, PlanError
from tests.unit.data.pipeline.rows import col, epochs


class Indexed:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return self.rows[index]

    def __len__(self):
        return len(self.rows)


class Iterable:
    def __init__(self, rows=(1, 2, 3)):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)


def generate():
    yield from (1, 2, 3)


SOURCES = {
    "list": [1, 2, 3],
    "tuple": (1, 2, 3),
    "range": range(1, 4),
    "array": np.array([1, 2, 3]),
    "deque": collections.deque([1, 2, 3]),
    "object with getitem": Indexed([1, 2, 3]),
    "rows as tuples": Indexed([(1,), (2,), (3,)]),
    "rows as lists": [[1], [2], [3]],
    "iterable": Iterable(),
    "set": {1, 2, 3},
    "generator function": generate,
    "generator": generate(),
    "iterator": iter([1, 2, 3]),
    "class": Iterable,
    "lambda": lambda: iter([1, 2, 3]),
    "map object": map(int, "123"),
}


@pytest.mark.filterwarnings("ignore:GeneratorDataset was given an iterator")
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_any_object_gives_the_same_rows_in_every_epoch(source):
    data = ds.GeneratorDataset(source, ["a"], shuffle=False)
    assert epochs(data, 2) == [[1, 2, 3]] * 2
    assert col(data.batch(2)) == [[1, 2], [3]]
    assert len(data) == 3


@pytest.mark.parametrize(
    ("row", "columns", "values"),
    [
        (7, ["a"], [7]),
        ((7, "x"), ["a", "b"], [7, "x"]),
        ([7, 1.5], ["a", "b"], [7, 1.5]),
        ((np.arange(2), [1, 2], b"z"), ["a", "b", "c"], [[0, 1], [1, 2], b"z"]),
        (np.arange(2), ["a"], [[0, 1]]),
        (np.float32(1.5), ["a"], [1.5]),
    ],
)
def test_what_a_row_may_be(row, columns, values):
    [got] = ds.GeneratorDataset([row], columns).create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert [value.tolist() for value in got] == values


def test_a_dict_is_one_column():
    [row] = ds.GeneratorDataset([{"k": np.arange(2)}], "d").create_dict_iterator(1, True)
    assert row["d"]["k"].tolist() == [0, 1]


def test_an_iterator_is_read_once_and_by_two_runs_at_once(nothing_said):
    pulled = []

    def rows():
        for i in range(6):
            pulled.append(i)
            yield i

    with pytest.warns(UserWarning, match="kept in memory") as said:
        data = ds.GeneratorDataset(rows(), ["a"])
    assert said[0].filename == __file__
    one, two = iter(data), iter(data)
    assert [next(one)[0].item(), next(two)[0].item(), next(one)[0].item()] == [0, 0, 1]
    assert [[row[0].item() for row in rest] for rest in (one, two)] == [[2, 3, 4, 5], [1, 2, 3, 4, 5]]
    assert pulled == list(range(6))


def test_a_left_generator_is_closed():
    closed = threading.Event()

    def rows():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    with ds.GeneratorDataset(rows, ["a"]).create_tuple_iterator() as iterator:
        next(iterator)
    assert closed.is_set()


def test_the_source_is_not_kept_alive():
    source = Indexed([1, 2])
    gone = weakref.ref(source)
    data = ds.GeneratorDataset(source, ["a"])
    assert len(col(data)) == 2
    del source, data
    gc.collect()
    assert gone() is None


def test_a_source_may_refill_one_buffer():
    class Refilled:
        buffer = np.zeros(3)

        def __getitem__(self, index):
            self.buffer[:] = index
            return (self.buffer,)

        def __len__(self):
            return 4

    data = ds.GeneratorDataset(Refilled(), ["a"], shuffle=False)
    assert col(data.batch(4)) == [[[float(i)] * 3 for i in range(4)]]


@given(rows=st.integers(1, 30), shards=st.integers(1, 6), random_access=st.booleans())
def test_shards_cover_the_rows_with_equal_steps(rows, shards, random_access):
    source = Indexed(range(rows)) if random_access else (lambda: iter(range(rows)))
    options = {"shuffle": False} if random_access else {}
    parts = [
        ds.GeneratorDataset(source, ["a"], num_shards=shards, shard_id=k, **options) for k in range(shards)
    ]
    found = [col(part) for part in parts]
    assert {row for part in found for row in part} == set(range(rows))
    if rows >= shards:
        assert {len(part) for part in found} == {-(-rows // shards)}
        assert [len(part) for part in parts] == [len(part) for part in found]


def test_shuffled_shards_agree_without_a_seed():
    parts = [col(ds.GeneratorDataset(range(12), ["a"], num_shards=3, shard_id=k)) for k in range(3)]
    assert sorted(itertools.chain(*parts)) == list(range(12))


@pytest.fixture
def nothing_said(monkeypatch):
    """Let warnings that come once per process come again."""
    monkeypatch.setattr("millrace._src.core.log._warned_keys", set())


def test_shuffle_of_a_stream_is_buffered_and_said(nothing_said):
    with pytest.warns(UserWarning, match="within a window of 1024 rows") as said:
        data = ds.GeneratorDataset(lambda: iter(range(50)), ["a"], shuffle=True)
    assert said[0].filename == __file__
    ds.GeneratorDataset(lambda: iter(range(50)), ["a"], shuffle=True)  # no second warning
    rows = col(data)
    assert sorted(rows) == list(range(50))
    assert rows != list(range(50))
    assert data.is_shuffled()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"sampler": ds.SequentialSampler(), "num_samples": 1}, ArgumentValueError, "Conflicting arguments"),
        ({"sampler": 3}, ArgumentTypeError, "sampler should be either iterable"),
        ({"batch_sampler": [[0]], "shuffle": False}, ArgumentValueError, "mutually exclusive"),
        ({"batch_sampler": ds.SequentialSampler()}, PlanError, "should be a Python sampler"),
        ({"collate_fn": max}, ArgumentValueError, "only when batch_sampler is set"),
        ({"num_shards": 2}, ArgumentValueError, "need to be passed in together"),
        ({"num_shards": 2, "shard_id": 2}, ArgumentValueError, "should be less than num_shards"),
        ({"column_names": None}, ArgumentValueError, "Neither columns_names nor schema"),
        ({"column_types": [object()]}, NotImplementedError, "not a column type"),
    ],
)
def test_wrong_arguments(options, error, words):
    with pytest.raises(error, match=words):
        ds.GeneratorDataset([1, 2, 3], **{"column_names": ["a"], **options})


@pytest.mark.parametrize("method", ["use_sampler", "add_sampler"])
def test_a_stream_takes_no_sampler(method):
    data = ds.GeneratorDataset(Iterable(), ["a"])
    with pytest.raises(ArgumentValueError, match="does not have attribute '__getitem__'"):
        getattr(data, method)(ds.SequentialSampler())
    with pytest.raises(PlanError, match="randomized access"):
        data[0]


def test_samplers_pick_from_each_other():
    data = ds.GeneratorDataset(range(10), ["a"], shuffle=False)
    data.add_sampler(ds.SubsetSampler([8, 6, 4, 2]))
    data.add_sampler(ds.SequentialSampler(1, 2))
    assert col(data) == [6, 4]
    data.use_sampler(ds.SequentialSampler(3))
    assert (col(data), data[0]) == ([2], 2)


@pytest.mark.parametrize("with_method", [True, False])
def test_classes_come_from_get_label_or_from_the_label_column(with_method):
    reads = []

    class Pictures:
        def __getitem__(self, index):
            reads.append(index)
            return np.full(2, index), index % 3

        def __len__(self):
            return 9

    if with_method:
        Pictures.get_label = lambda self, index: index % 3
    column = {} if with_method else {"class_column": "y"}
    data = ds.GeneratorDataset(Pictures(), ["x", "y"], sampler=ds.PKSampler(2, **column))
    assert len(data) == 6
    assert len(reads) == (0 if with_method else 9)
    assert [sorted(labels) for labels in epochs(data, 2, "y")] == [[0, 0, 1, 1, 2, 2]] * 2
    assert len(reads) == (12 if with_method else 9 + 12)


def test_pk_sampler_without_classes_says_what_to_do():
    data = ds.GeneratorDataset([(1, 2)], ["x", "y"], sampler=ds.PKSampler(1))
    with pytest.raises(PlanError, match=r"no column 'label' .* get_label"):
        len(data)


def test_declared_types_are_checked():
    schema = ds.Schema()
    schema.add_column("x", "int32", [])
    assert ds.GeneratorDataset([np.int32(1)], schema=schema).get_col_names() == ["x"]
    for options in ({"schema": schema}, {"column_names": ["x"], "column_types": [np.int32]}):
        with pytest.raises(DataError, match="column 'x' is int64"):
            list(ds.GeneratorDataset([np.int64(1)], **options))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([(1, 2)], "size of column_names is:1 and number of returned NumPy array is:2"),
        ([None], "got None"),
        ([2**70], "Python objects"),
        ([([[1], [2, 3]],)], "different shapes"),
    ],
)
def test_rows_that_are_no_rows(source, words):
    with pytest.raises(DataError, match=words):
        list(ds.GeneratorDataset(source, ["a"]))


def test_a_bad_row_is_named_with_its_file():
    class Files:
        files = ("a.jpg", "b.jpg", "c.jpg")

        def __getitem__(self, index):
            return 1 // (index - 1)

        def __len__(self):
            return 3

    with pytest.raises(DataError) as caught:
        list(ds.GeneratorDataset(Files(), ["a"], shuffle=False))
    assert {"row": 1, "file": "b.jpg"}.items() <= caught.value.context.items()


@pytest.mark.parametrize(
    "options", [{}, {"num_parallel_workers": 2}, {"num_parallel_workers": 2, "python_multiprocessing": False}]
)
def test_workers_change_nothing(options):
    source = Indexed([(np.full(3, i), f"n{i}") for i in range(40)])
    data = ds.GeneratorDataset(source, ["a", "b"], shuffle=False, **options).batch(7)
    assert col(data) == col(ds.GeneratorDataset(source, ["a", "b"], shuffle=False).batch(7))


class Meeting:
    """Each of the first calls waits until so many threads are inside at the same time."""

    def __init__(self, threads):
        self.barrier = threading.Barrier(threads, timeout=30)
        self.met, self.inside, self.most = set(), 0, 0
        self.lock = threading.Lock()

    def __getitem__(self, i):
        me = threading.get_ident()
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            first = me not in self.met and len(self.met) < self.barrier.parties
            self.met.add(me)
        if first:
            self.barrier.wait()
        with self.lock:
            self.inside -= 1
        return np.array(i)

    def __len__(self):
        return 64


def test_as_many_threads_read_as_were_asked_for(no_leaks):
    source = Meeting(4)
    data = ds.GeneratorDataset(
        source, ["x"], shuffle=False, num_parallel_workers=4, python_multiprocessing=False
    )
    with settings.override(chunk_rows=4):
        rows = [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert rows == list(range(64))
    assert source.most == 4


def test_more_threads_in_the_map_do_not_read(no_leaks):
    source = Meeting(2)
    data = ds.GeneratorDataset(
        source, ["x"], shuffle=False, num_parallel_workers=2, python_multiprocessing=False
    ).map(lambda x: x + 1, "x", num_parallel_workers=6)
    with settings.override(chunk_rows=4):
        rows = [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert rows == list(range(1, 65))
    assert source.most == 2


def test_nobody_asked_so_one_thread_reads(no_leaks):
    source = Meeting(1)
    data = ds.GeneratorDataset(source, ["x"]).map(lambda x: x + 1, "x", num_parallel_workers=4)
    with settings.override(chunk_rows=4):
        assert sum(1 for _ in data.create_tuple_iterator(num_epochs=1)) == 64
    assert source.most == 1
