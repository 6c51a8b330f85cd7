import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.random import candidate_sampler as c
from millrace._src.runtime.ops.random import uniform_normal
from tests.contracts.ops.samples import Call, Fails, samples

TRUE = np.array([[1], [3], [4]])


@samples(c.uniform_candidate_sampler)
def _(make):
    yield Call(TRUE, 1, 3, False, 5)
    yield Call(TRUE, 1, 5, True, 9, 3)
    yield Call(TRUE[:2], 1, 3, True, 5, remove_accidental_hits=True)
    yield Fails(TRUE, 1, 6, True, 5)
    yield Fails(TRUE, 2, 3, True, 5)
    yield Fails(TRUE, 1, "text", True, 5)
    yield Fails(TRUE, 1, 3, 1, 5)


@samples(c.log_uniform_candidate_sampler)
def _(make):
    yield Call(TRUE, 1, 3, False, 5)
    yield Call(np.array([[1, 7], [0, 4], [3, 3]]), 2, 5, True, 10, 3)
    yield Fails(TRUE, 1, 6, True, 5)
    yield Fails(TRUE, 2, 3, True, 5)
    yield Fails(TRUE, 1, "text", True, 5)


@samples(uniform_normal.non_deterministic_ints)
def _(make):
    yield Call(np.array([2, 3], "int32"))
    yield Call(np.array([4]), mstype.int32)
    yield Fails(np.array([[4]]), mstype.int32)
    yield Fails(np.array([4]), mstype.float32)
    yield Fails(np.array([4.0], "float32"))
