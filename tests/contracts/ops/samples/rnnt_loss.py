import numpy as np

from millrace._src.runtime.ops.nn.rnnt_loss import rnnt_loss
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32


@samples(rnnt_loss)
def _(make):
    yield Call(make(1, 2, 3, 4), np.array([[1, 2]], "int32"), i32(2), i32(2))
    yield Call(make(2, 3, 3, 4), np.array([[1, 2], [0, 1]], "int32"), i32(2, 3), i32(2, 1), blank_label=3)
    yield Fails(make(1, 2, 3, 4), np.array([[1, 2, 3]], "int32"), i32(2), i32(2))
    yield Fails(make(1, 2, 3, 4), np.array([[1, 2]], "int32"), i32(2), i32(2), blank_label=4)
