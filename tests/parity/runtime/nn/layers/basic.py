"""Dense and containers of it."""

from tests.parity.runtime.nn.layers import layer, make


@layer("Dense", make(4, 3))
def _(ms):
    return ms.nn.Dense(3, 5, activation="relu")


@layer("SequentialCell", make(4, 3))
def _(ms):
    return ms.nn.SequentialCell(ms.nn.Dense(3, 5), ms.nn.Tanh(), ms.nn.Dense(5, 2))
