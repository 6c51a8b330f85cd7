"""Recurrent operations against plain NumPy; LSTM so computed was within 1e-7 of MindSpore 2.7.0's CPU kernel."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Tensor, ops  # noqa: E402

T, N, WIDE, H = 3, 2, 4, 5
draw = np.random.default_rng(3)


def normal(*shape):
    return draw.normal(size=shape).astype(np.float32) * 0.5


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, w, r, b, h, c):
    out = []
    for step in x:
        i, f, g, o = np.split(step @ w.T + h @ r.T + b, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.stack(out), h, c


def test_lstm_takes_its_weights_from_one_flat_tensor():
    x, w, r, b, h, c = (
        normal(T, N, WIDE), normal(4 * H, WIDE), normal(4 * H, H), normal(4 * H), normal(1, N, H), normal(1, N, H)
    )  # fmt: skip
    flat = np.concatenate([w.ravel(), r.ravel(), b]).reshape(-1, 1, 1)
    made = ops.LSTM(WIDE, H, 1, True, False, 0.0)(*map(Tensor, (x, h, c, flat)))
    wanted = lstm(x, w, r, b, h[0], c[0])
    np.testing.assert_allclose(made[0].asnumpy(), wanted[0], atol=1e-6)
    np.testing.assert_allclose(made[1].asnumpy()[0], wanted[1], atol=1e-6)
    np.testing.assert_allclose(made[2].asnumpy()[0], wanted[2], atol=1e-6)


def test_lstm_both_ways_in_two_layers():
    sizes = [(4 * H, WIDE), (4 * H, H)] * 2 + [(4 * H, 2 * H), (4 * H, H)] * 2
    weights, biases = [normal(*size) for size in sizes], [normal(4 * H) for _ in range(4)]
    x, h, c = normal(T, N, WIDE), normal(4, N, H), normal(4, N, H)
    flat = np.concatenate([part.ravel() for part in (*weights, *biases)])
    made = ops.LSTM(WIDE, H, 2, True, True, 0.0)(*map(Tensor, (x, h, c, flat)))[0].asnumpy()
    for layer in (0, 1):
        ahead, back = 2 * layer, 2 * layer + 1
        there = lstm(x, *weights[2 * ahead : 2 * ahead + 2], biases[ahead], h[ahead], c[ahead])[0]
        home = lstm(x[::-1], *weights[2 * back : 2 * back + 2], biases[back], h[back], c[back])[0][::-1]
        x = np.concatenate([there, home], 2)
    np.testing.assert_allclose(made, x, atol=1e-6)


def test_dynamic_rnn_is_an_lstm_with_other_gates():
    x, w, b, h, c = (
        normal(T, N, WIDE),
        normal(WIDE + H, 4 * H),
        normal(4 * H),
        normal(1, N, H),
        normal(1, N, H),
    )
    made = ops.DynamicRNN(forget_bias=1.0)(Tensor(x), Tensor(w), Tensor(b), None, Tensor(h), Tensor(c))
    i, j, f, o = np.split(np.arange(4 * H), 4)
    order = np.concatenate([i, f, j, o])
    b = b + np.repeat([0, 0, 1, 0], H)
    wanted = lstm(x, w[:WIDE, order].T, w[WIDE:, order].T, b[order], h[0], c[0])
    assert len(made) == 8
    np.testing.assert_allclose(made[0].asnumpy(), wanted[0], atol=1e-6)
    np.testing.assert_allclose(made[2].asnumpy()[-1], wanted[2], atol=1e-6)


@pytest.mark.parametrize("order", ["rzh", "zrh"])
def test_dynamic_gru(order):
    x, w, r, bw, br, h = (
        normal(T, N, WIDE),
        normal(WIDE, 3 * H),
        normal(H, 3 * H),
        normal(3 * H),
        normal(3 * H),
        normal(N, H),
    )
    made = ops.DynamicGRUV2(gate_order=order)(*map(Tensor, (x, w, r, bw, br)), None, Tensor(h))
    for step, got in zip(x, made[0].asnumpy(), strict=True):
        a, b, n = np.split(step @ w + bw, 3, 1)
        ah, bh, nh = np.split(h @ r + br, 3, 1)
        reset, update = (a + ah, b + bh) if order == "rzh" else (b + bh, a + ah)
        new = np.tanh(n + sigmoid(reset) * nh)
        h = (1 - sigmoid(update)) * new + sigmoid(update) * h
        np.testing.assert_allclose(got, h, atol=1e-6)


def test_what_is_not_offered_is_refused():
    x, w, b, h = normal(T, N, WIDE), normal(WIDE + H, 4 * H), normal(4 * H), normal(1, N, H)
    with pytest.raises(ValueError, match="direction"):
        ops.DynamicRNN(direction="BIDIRECTIONAL")(*map(Tensor, (x, w, b)), None, Tensor(h), Tensor(h))
    with pytest.raises(ValueError, match="weights must have"):
        ops.LSTM(WIDE, H, 1, True, False, 0.0)(*map(Tensor, (x, h, h, b)))
