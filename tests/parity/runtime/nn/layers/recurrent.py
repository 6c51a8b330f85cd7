"""Recurrent layers, and their cells."""

import numpy as np

from tests.parity.runtime.nn.layers import layer, make

X, B = make(5, 3, 4), make(3, 5, 4)
LENGTHS = np.array([5, 2, 3], np.int32)


@layer("LSTM", X)
def _(ms):
    return ms.nn.LSTM(4, 6)


@layer("LSTM.two layers, both ways", X, (make(4, 3, 6), make(4, 3, 6, seed=1)))
def _(ms):
    return ms.nn.LSTM(4, 6, 2, bidirectional=True)


@layer("LSTM.batch first, no bias", B)
def _(ms):
    return ms.nn.LSTM(4, 6, has_bias=False, batch_first=True)


@layer("LSTM.lengths", X, (make(2, 3, 6), make(2, 3, 6, seed=1)), LENGTHS)
def _(ms):
    return ms.nn.LSTM(4, 6, bidirectional=True)


@layer("GRU", X)
def _(ms):
    return ms.nn.GRU(4, 6)


@layer("GRU.two layers, both ways, batch first", B, make(4, 3, 6))
def _(ms):
    return ms.nn.GRU(4, 6, 2, batch_first=True, bidirectional=True)


@layer("GRU.lengths", X, make(2, 3, 6), LENGTHS)
def _(ms):
    return ms.nn.GRU(4, 6, bidirectional=True)


@layer("RNN", X)
def _(ms):
    return ms.nn.RNN(4, 6)


@layer("RNN.relu, both ways", X, make(2, 3, 6))
def _(ms):
    return ms.nn.RNN(4, 6, nonlinearity="relu", bidirectional=True)


@layer("RNN.lengths", X, make(1, 3, 6), LENGTHS)
def _(ms):
    return ms.nn.RNN(4, 6)


@layer("LSTMCell", make(3, 4), (make(3, 6), make(3, 6, seed=1)))
def _(ms):
    return ms.nn.LSTMCell(4, 6)


@layer("GRUCell", make(3, 4), make(3, 6))
def _(ms):
    return ms.nn.GRUCell(4, 6)


@layer("RNNCell", make(3, 4), make(3, 6))
def _(ms):
    return ms.nn.RNNCell(4, 6)


@layer("RNNCell.relu, no bias", make(3, 4), make(3, 6))
def _(ms):
    return ms.nn.RNNCell(4, 6, has_bias=False, nonlinearity="relu")
