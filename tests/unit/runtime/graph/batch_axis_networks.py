"""Networks that the tests of the batch axis and those of the server share."""

import numpy as np

import millrace as ms
from millrace import Tensor, nn, ops


class Function(nn.Cell):
    """A function of one tensor as a network."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def construct(self, x):
        return self.function(x)


class RunningTotal(nn.Cell):
    """It keeps the sum of all rows that it has ever seen."""

    def __init__(self):
        super().__init__()
        self.total = ms.Parameter(Tensor(np.zeros(4, np.float32)), name="total")

    def construct(self, x):
        ops.assign(self.total, self.total + x.sum(0))
        return x + self.total
