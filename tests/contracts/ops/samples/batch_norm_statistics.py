from millrace._src.runtime.ops.nn import normalization as n
from tests.contracts.ops.samples import Call, Fails, samples


@samples(n.batch_norm_stats)
def _(make):
    yield Call(make(4, 3, 2), 1e-5)
    yield Call(make(4, 3, dtype="float16"), 1e-3)
    yield Fails(make(4), 1e-5)


@samples(n.batch_norm_gather_stats_with_counts)
def _(make):
    yield Call(
        make(4, 3),
        make(2, 3),
        make(2, 3, low=0.5),
        make(3),
        make(3, low=0.5),
        0.1,
        1e-5,
        make(2, low=3, high=9),
    )
    yield Fails(make(4, 3), make(3), make(3))


@samples(n.batch_norm_elemt)
def _(make):
    yield Call(make(4, 3, 2), make(3), make(3), make(3), make(3, low=0.5), 1e-5)
    yield Call(make(4, 3))
    yield Fails(make(4))
