import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.array import creation
from millrace._src.runtime.ops.array import index_routines as m
from millrace._src.runtime.ops.math import statistics
from millrace._src.runtime.ops.nn import sequence
from millrace._src.runtime.ops.random import candidate_sampler
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32


def i64(*values):
    return np.array(values, "int64")


@samples(m.list_diff)
def _(make):
    yield Call(i32(1, 2, 3, 4, 5, 6), i32(1, 3, 5))
    yield Call(make(6, low=0, high=3).round(), make(2, low=0, high=3).round(), mstype.int64)
    yield Call(i64(3, 3, 1), i64(1))
    yield Fails(make(2, 2), make(3))
    yield Fails(i32(1), i32(2), mstype.float32)


@samples(m.unravel_index)
def _(make):
    yield Call(i32(2, 5), i32(3, 3))
    yield Call(i64(0, 23, 7), i64(2, 3, 4))
    yield Call(np.array(5, "int32"), i32(3, 3))
    yield Fails(i32(2, 50), i32(3, 3))
    yield Fails(make(2), i32(3, 3))


@samples(creation.ragged_range)
def _(make):
    yield Call(i32(0, 5, 8), i32(3, 7, 8), i32(1, 1, 1), mstype.int64)
    yield Call(make(3, low=0, high=2), make(3, low=4, high=7), make(3, low=0.5, high=1.5), mstype.int32)
    yield Call(i64(5, 9), i64(0, 10), i64(-2, 3), mstype.int32)
    yield Fails(i32(0, 5, 8), i32(3, 7), i32(1, 1, 1), mstype.int64)
    yield Fails(i32(0, 5), i32(3, 7), i32(1, 1), mstype.float32)


@samples(m.sub_and_filter)
def _(make):
    yield Call(i32(1, 3, 5, 8, 2, 16), 10, 5)
    yield Call(i64(1, 3, 5, 8, 2, 16), 3, 0)
    yield Fails(make(3), 2, 1)


@samples(m.map_uniform)
def _(make):
    yield Call(i32(0, 1, 2, 3, 4, 5, 6, 7), 4, 8)
    yield Call(i64(0, 1, 2, 3, 4, 5, 6, 7), 3, 3)
    yield Fails(make(3), 2, 1)


@samples(statistics.confusion_matrix)
def _(make):
    yield Call(i32(0, 1, 1, 3), i32(1, 1, 1, 3), num_classes=4)
    yield Call(i32(0, 1, 1, 2), i32(1, 1, 1, 2), make(4), num_classes=3, dtype="float32")
    yield Fails(i32(0, 1), i32(1, 1, 0), num_classes=2)
    yield Fails(i32(0, 1), i32(1, 1), num_classes="text")


@samples(candidate_sampler.compute_accidental_hits)
def _(make):
    yield Call(np.array([[1, 2], [0, 4], [3, 3]]), i64(0, 1, 2, 3, 4), num_true=2)
    yield Call(np.array([[1], [0]], "int32"), i32(5, 1))
    yield Fails(np.array([[1], [0]]), i64(5, 1), num_true=2)
    yield Fails(make(2, 1), i32(5, 1))


@samples(sequence.edit_distance)
def _(make):
    said = np.array([[0, 0, 0], [1, 0, 1], [1, 1, 1]]), np.float32([1, 2, 3]), i64(2, 2, 2)
    true = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]]), np.float32([1, 2, 3, 1]), i64(2, 2, 2)
    yield Call(*said, *true)
    yield Call(*said, *true, normalize=False)
    words = np.array([[0, 0], [0, 1], [0, 2], [1, 0]]), i64(1, 2, 3, 4), i64(2, 3)
    others = np.array([[0, 0], [0, 1], [0, 2], [0, 3]]), i64(1, 3, 3, 9), i64(2, 4)
    yield Call(*words, *others)
    yield Call(*words, *others, normalize=False)
    yield Fails(said[0], said[1], i64(2, 2), *true)
    yield Fails(*said, *true, normalize=1)
