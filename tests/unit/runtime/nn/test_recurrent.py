"""Recurrent layers: what they hold and refuse; values are in tests/parity/runtime/nn."""

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Tensor, nn, set_context
from tests.contracts.layers.check_cell import check_cell

X = np.linspace(-1, 1, 30).reshape(5, 2, 3).astype(np.float32)


def test_layers():
    check_cell(
        lambda: nn.LSTM(3, 4),
        X,
        parameters={
            "weight_ih_l0": (16, 3),
            "weight_hh_l0": (16, 4),
            "bias_ih_l0": (16,),
            "bias_hh_l0": (16,),
        },
        output=[(5, 2, 4), (1, 2, 4), (1, 2, 4)],
    )
    check_cell(
        lambda: nn.GRU(3, 4, has_bias=False, bidirectional=True),
        X,
        parameters={
            "weight_ih_l0": (12, 3),
            "weight_ih_l0_reverse": (12, 3),
            "weight_hh_l0": (12, 4),
            "weight_hh_l0_reverse": (12, 4),
        },
        output=[(5, 2, 8), (2, 2, 4)],
    )
    check_cell(lambda: nn.RNN(3, 4, 2, "relu", batch_first=True), X, output=[(5, 2, 4), (2, 5, 4)])


def test_cells():
    x, h = X[0], np.zeros((2, 4), np.float32)
    check_cell(lambda: nn.GRUCell(3, 4), x, h, output=(2, 4))
    check_cell(lambda: nn.RNNCell(3, 4), x, h, output=(2, 4))
    assert [a.shape for a in nn.LSTMCell(3, 4)(Tensor(x), (Tensor(h), Tensor(h)))] == [(2, 4), (2, 4)]


def test_dropout_is_for_training():
    net = nn.LSTM(3, 4, 2, dropout=0.5)
    assert np.array_equal(net(Tensor(X))[0].asnumpy(), net(Tensor(X))[0].asnumpy())
    net.set_train()
    assert not np.array_equal(net(Tensor(X))[0].asnumpy(), net(Tensor(X))[0].asnumpy())


def test_lengths_may_change_in_a_graph():
    net = nn.GRU(3, 4, bidirectional=True)
    lengths = [Tensor(np.array(pair, np.int32)) for pair in ((5, 2), (1, 4), (3, 3))]
    h = Tensor(np.zeros((2, 2, 4), np.float32))
    plain = [net(Tensor(X), h, each)[0].asnumpy() for each in lengths]
    set_context(mode=GRAPH_MODE)
    try:
        graph = [net(Tensor(X), h, each)[0].asnumpy() for each in lengths]
    finally:
        set_context(mode=PYNATIVE_MODE)
    assert all(np.array_equal(a, b) for a, b in zip(plain, graph, strict=True))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: nn.LSTM(3, -3), ValueError, "For 'LSTM', the 'hidden_size' must be int and must > 0"),
        (lambda: nn.LSTM(3, 3, dropout=1.5), ValueError, r"in range \[0, 1\)"),
        (lambda: nn.LSTM(3, 3, dropout="a"), TypeError, "must be 'float', but got 'str'"),
        (lambda: nn.RNN(3, 3, nonlinearity="sin"), ValueError, r"must be in \['tanh', 'relu'\], but got sin"),
        (lambda: nn.LSTM(3, 4)(Tensor(X[0])), ValueError, "must have 3 axes"),
        (lambda: nn.GRU(7, 4)(Tensor(X)), ValueError, "must be input_size 7"),
        (
            lambda: nn.GRU(3, 4)(Tensor(X), Tensor(np.zeros((2, 2, 4), np.float32))),
            ValueError,
            "must have the shape",
        ),
    ],
)
def test_what_they_refuse(make, error, text):
    with pytest.raises(error, match=text):
        make()
