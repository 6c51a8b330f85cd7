import numpy as np

from millrace._src.runtime.ops.math.beta import betainc
from tests.contracts.ops.samples import Call, Fails, samples


@samples(betainc)
def _(make):
    yield Call(make(3, 4, low=0.5, high=5), make(3, 4, low=0.5, high=5), make(3, 4, low=0.05, high=0.95))
    yield Call(*(make(5, dtype="float64", low=0.1, high=0.9) for _ in range(3)))
    yield Call(
        np.float32([1, 2, -0.5, 1, 1, 80]),
        np.float32([2, 3, 0.5, 0, 1, 30]),
        np.float32([0, 1, 0.9, 0.5, 2, 0.7]),
    )
    yield Call(make(0, low=1), make(0), make(0))
    yield Fails(make(3), make(), make(3))
    yield Fails(make(3, dtype="int32"), make(3, dtype="int32"), make(3, dtype="int32"))
