import numpy as np

from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.random import categorical
from millrace._src.runtime.ops.random import distributions as c
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32

# Weights that leave no choice.
SURE = np.array([[0, 0, 1, 0], [1, 0, 0, 0]], "float32")


@samples(c.gamma, c.gamma_of)
def _(make):
    yield Call((2, 3), make(3, low=0.5), make(3, low=0.5))


@samples(c.random_gamma, c.random_gamma_of)
def _(make):
    yield Call(i32(2), make(3, low=0.5))


@samples(c.poisson, c.poisson_of)
def _(make):
    yield Call((2, 3), make(3, low=0.5))


@samples(c.random_poisson, c.random_poisson_of)
def _(make):
    yield Call(i32(2), make(3, low=0.5))


@samples(c.laplace)
def _(make):
    yield Call((2, 3), make(3), make(3, low=0.5))


@samples(c.standard_laplace, c.standard_laplace_of)
def _(make):
    yield Call((2, 3))
    yield Fails((-2, 3))


@samples(c.truncated_normal)
def _(make):
    yield Call(i32(2, 3))


@samples(c.parameterized_truncated_normal)
def _(make):
    yield Call(i32(2, 3), make(2), make(2, low=0.5), make(2, low=-3, high=-1), make(2, low=1, high=3))


@samples(categorical.bernoulli)
def _(make):
    yield Call(make(3, 4))
    yield Call(make(3, 4, dtype="int32"), 1.0)
    yield Call(make(3), np.array([0, 1, 1], "float32"))
    yield Fails(make(3), 2.0)
    yield Fails(make(3), "text")


@samples(categorical.bernoulli_mint)
def _(make):
    yield Call(make(3, 4, low=0, high=1))


@samples(categorical.bernoulli_of)
def _(make):
    yield Call(make(3, 4), 0.5)


@samples(categorical.multinomial)
def _(make):
    yield Call(make(4, low=0.5), 3)
    yield Call(make(2, 4, low=0.5), 3, False)
    yield Call(np.array([0, 9, 0], "float32"), 4)
    yield Fails(make(3, low=0.5), 4, False)


@samples(categorical.multinomial_mint)
def _(make):
    yield Call(make(4, low=0.5), 3)


@samples(categorical.multinomial_of)
def _(make):
    yield Call(make(2, 4, low=0.5), 3)


@samples(categorical.multinomial_with_replacement)
def _(make):
    yield Call(SURE, np.array(1), np.array(1), 3, True)
    yield Call(SURE, np.array(1), np.array(1), 1)


@samples(categorical.random_categorical)
def _(make):
    yield Call(99 * SURE, 3, 0)
    yield Call(99 * SURE, 3, 1, mstype.int32)


@samples(categorical.choice_with_mask, categorical.random_choice_with_mask)
def _(make):
    yield Call(make(3, 4, dtype="bool"), 3)
    yield Call(SURE.astype(bool)[0], 9)
