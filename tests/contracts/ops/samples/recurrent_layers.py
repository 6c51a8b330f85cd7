"""Recurrent layers; nn.LSTM and its like are compared in tests/parity/runtime/nn."""

import numpy as np

from millrace._src.runtime.ops.nn.recurrent import (
    gru_cell,
    gru_layers,
    lstm_cell,
    lstm_layers,
    rnn_cell,
    rnn_layers,
)

from . import Call, Fails, samples

LENGTHS = np.array([3, 1], np.int32)


def weights(make, gates, layers=1, ways=1):
    found = []
    for layer in range(layers):
        wide = 3 if layer == 0 else 2 * ways
        for _ in range(ways):
            found += [make(2 * gates, wide), make(2 * gates, 2), make(2 * gates), make(2 * gates)]
    return found


@samples(lstm_layers)
def _(make):
    yield Call(make(3, 2, 3), make(1, 2, 2), make(1, 2, 2), weights=weights(make, 4))
    both = weights(make, 4, 2, 2)
    yield Call(make(3, 2, 3), make(4, 2, 2), make(4, 2, 2), both, LENGTHS, num_layers=2, bidirectional=True)
    yield Fails(make(3, 3), make(1, 2, 2), make(1, 2, 2), weights=weights(make, 4))
    yield Fails(make(3, 2, 5), make(1, 2, 2), make(1, 2, 2), weights=weights(make, 4))
    yield Fails(make(3, 2, 3), make(1, 1, 2), make(1, 2, 2), weights=weights(make, 4))


@samples(gru_layers)
def _(make):
    yield Call(make(3, 2, 3), make(1, 2, 2), weights=weights(make, 3))
    yield Call(
        make(2, 3, 3), make(2, 2, 2), weights(make, 3, 1, 2), LENGTHS, bidirectional=True, batch_first=True
    )


@samples(rnn_layers)
def _(make):
    yield Call(make(3, 2, 3), make(1, 2, 2), weights=weights(make, 1), nonlinearity="relu")
    yield Call(make(3, 2, 3), make(1, 2, 2), weights=weights(make, 1), seq_length=LENGTHS)


@samples(lstm_cell)
def _(make):
    yield Call(make(2, 3), make(2, 2), make(2, 2), *weights(make, 4))


@samples(gru_cell)
def _(make):
    yield Call(make(2, 3), make(2, 2), *weights(make, 3))


@samples(rnn_cell)
def _(make):
    yield Call(make(2, 3), make(2, 2), *weights(make, 1))
    yield Call(make(2, 3), make(2, 2), *weights(make, 1)[:2], None, None, "relu")
