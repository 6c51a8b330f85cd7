import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.numpy import (
    array_manipulation,
    logic_functions,
    random_sampling,
    set_and_search,
)
from millrace._src.runtime.ops.numpy import indexing_routines as p
from tests.contracts.ops.samples import Call, Fails, samples


@samples(p.where)
def _(make):
    yield Call(make(2, 3, dtype="bool"), make(2, 3), make(2, 3))
    yield Call(make(2, 3, dtype="bool"), make(3), 2)
    yield Call(make(3, dtype="bool"), 1, 2.5)
    yield Call(make(3, dtype="bool"), make(3), make(3, dtype="int32"))
    yield Call(make(3, dtype="bool"))
    yield Fails(make(2, dtype="bool"), make(3), make(3))


@samples(p.argwhere)
def _(make):
    yield Call(make(2, 3, dtype="int32", low=0, high=1))


@samples(p.take)
def _(make):
    yield Call(make(3, 2), make(2, dtype="int32", low=0, high=2))
    yield Call(make(3, 2), make(2, 2, dtype="int32", low=0, high=2), 0)
    yield Call(make(3), np.array([5, -1]), mode="wrap")
    yield Call(make(3), np.array([5, -1]))
    yield Call(make(2, 3).T, np.array([1]), 1)
    yield Fails(make(3), np.array([1]), 5)


@samples(p.take_along_axis)
def _(make):
    yield Call(make(2, 3), np.array([[0], [1]]), 1)
    yield Call(make(2, 3), np.array([[0, 1, 0]]), 0)


@samples(p.choose)
def _(make):
    yield Call(make(3, dtype="int32", low=0, high=1), [make(3), make(3)])


@samples(p.select)
def _(make):
    yield Call([make(3, dtype="bool"), make(3, dtype="bool")], [make(3), make(3)], 5)
    yield Fails([make(3, dtype="bool")], [])


@samples(set_and_search.searchsorted)
def _(make):
    line = np.array([0.0, 1.0, 2.0, 3.0], np.float32)
    yield Call(line, np.array([1.5, 2.0], np.float32))
    yield Call(line, 1.0, "right")
    yield Fails(line, 1.0, "up")


@samples(set_and_search.digitize)
def _(make):
    edges = np.array([0.5, 1.5], np.float32)
    yield Call(make(5), edges)
    yield Call(make(5), edges, True)
    yield Call(make(5), edges[::-1].copy())


@samples(set_and_search.unique)
def _(make):
    yield Call(np.array([3, 1, 1, 2]))
    yield Call(np.array([3, 1, 1, 2]), True)


@samples(set_and_search.isin, set_and_search.in1d)
def _(make):
    yield Call(make(5, dtype="int32", low=0, high=3), make(2, dtype="int32", low=0, high=3))
    yield Call(make(5, dtype="int32", low=0, high=3), [1], True)


@samples(set_and_search.setdiff1d, set_and_search.intersect1d)
def _(make):
    yield Call(make(5, dtype="int32", low=0, high=9), make(5, dtype="int32", low=0, high=9))


@samples(logic_functions.array_equal, logic_functions.array_equiv)
def _(make):
    yield Call(make(2), make(2))
    yield Call(make(2), make(3))
    yield Call([1, 2], [1, 2])


@samples(logic_functions.isscalar)
def _(make):
    yield Call(3)
    yield Call("text")
    yield Call(make(2))


@samples(logic_functions.array_str)
def _(make):
    yield Call(np.array([1.0, 2.0], np.float32))


@samples(p.unravel_index)
def _(make):
    yield Call(np.array([3, 5]), (2, 3))
    yield Fails(np.array([3, 5]), (2, 3), "K")


@samples(p.ravel_multi_index)
def _(make):
    yield Call((np.array([1, 0]), np.array([2, 1])), (2, 3))
    yield Fails((np.array([1, 0]), np.array([2, 1])), (2, 3), "up")


@samples(random_sampling.randn, random_sampling.rand)
def _(make):
    yield Call(2, 3)
    yield Call(2, dtype=mstype.float16)
    yield Call()


@samples(random_sampling.randint)
def _(make):
    yield Call(1, 5, (2, 3))
    yield Call(10**6)
    yield Fails(5, 1)


@samples(array_manipulation.pad)
def _(make):
    yield Call(make(3), 1)
    yield Call(make(2, 2), ((1, 0), (0, 1)), constant_values=5)
    yield Call(make(2, 2), (1, 2), constant_values=((1, 2), (3, 4)))
    for mode in ("edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean", "linear_ramp"):
        yield Call(make(2, 3), ((1, 1), (2, 1)), mode)
    yield Call(make(3), 5, "reflect")
    yield Call(make(3), 2, "reflect", reflect_type="odd")
    yield Call(make(3), 3, "maximum", 2)
    yield Call(make(2, 3).T, 1)
    yield Fails(make(3), 1, "zz")
