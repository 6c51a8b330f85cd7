"""Attention and transformers: what they hold and refuse; values are in tests/parity/runtime/nn."""

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import Tensor, nn
from tests.contracts.layers.check_cell import check_cell

X = np.linspace(-1, 1, 40).reshape(5, 2, 4).astype(np.float32)


def test_attention():
    check_cell(
        lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True),
        X,
        X,
        X,
        parameters={
            "in_proj_weight": (12, 4),
            "in_proj_bias": (12,),
            "bias_k": (1, 1, 4),
            "bias_v": (1, 1, 4),
            "out_proj.weight": (4, 4),
            "out_proj.bias": (4,),
        },
        output=[(5, 2, 4), (2, 5, 6)],
    )
    with pytest.raises(ValueError, match="divisible"):
        nn.MultiheadAttention(5, 2)
    with pytest.raises(ValueError, match="embed_dim"):
        nn.MultiheadAttention(8, 2)(Tensor(X), Tensor(X), Tensor(X))


def test_transformers():
    check_cell(lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), X, output=(5, 2, 4))
    check_cell(lambda: nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0), X, X, output=(5, 2, 4))
    net = check_cell(lambda: nn.Transformer(4, 2, 1, 2, 8, dropout=0.0), X, X, output=(5, 2, 4))
    names = [p.name for p in net.get_parameters()]
    assert names[0] == "encoder.layers.0.self_attn.in_proj_weight"
    assert names[-1] == "decoder.norm.beta"
    assert len(set(names)) == len(names)
    with pytest.raises(ValueError, match="d_model"):
        net(Tensor(X[..., :3]), Tensor(X))
    with pytest.raises(ValueError, match="relu or gelu"):
        nn.TransformerEncoderLayer(4, 2, activation="sin")


def test_layers_of_a_stack_are_their_own():
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)
    first, second = (layer.dense1.weight for layer in stack.layers)
    assert first is not second
    assert np.array_equal(first.asnumpy(), second.asnumpy())


def test_dropout_is_for_training():
    net = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.5)
    assert np.array_equal(net(Tensor(X)).asnumpy(), net(Tensor(X)).asnumpy())
    net.set_train()
    assert not np.array_equal(net(Tensor(X)).asnumpy(), net(Tensor(X)).asnumpy())
