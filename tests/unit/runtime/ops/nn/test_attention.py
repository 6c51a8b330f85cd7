"""Attention against plain NumPy: MindSpore has it on Ascend only."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Tensor, ops  # noqa: E402

B, N, S, KEYS, D = 2, 2, 3, 5, 4
draw = np.random.default_rng(5)


def attention(q, k, v, scale, hidden=None, shift=0.0):
    scores = (q @ k.swapaxes(-1, -2) + shift) * scale
    scores = scores if hidden is None else np.where(hidden, -np.inf, scores)
    share = np.exp(scores - scores.max(-1, keepdims=True))
    return share / share.sum(-1, keepdims=True) @ v


def normal(*shape):
    return draw.normal(size=shape).astype(np.float32)


def laid(x, layout):
    """(B, N, S, D) in another layout."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(0, 2, 1, 3)
    flat = x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)
    return flat if layout == "BSH" else flat.transpose(1, 0, 2)


@pytest.mark.parametrize("layout", ["BSH", "BNSD", "SBH", "BSND"])
def test_every_layout_gives_the_same(layout):
    q, k, v = normal(B, N, S, D), normal(B, N, KEYS, D), normal(B, N, KEYS, D)
    made = ops.flash_attention_score(
        *(Tensor(laid(x, layout)) for x in (q, k, v)), N, scalar_value=0.5, input_layout=layout
    )
    np.testing.assert_allclose(made.asnumpy(), laid(attention(q, k, v, 0.5), layout), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "hidden"),
    [
        ({"sparse_mode": 2}, np.triu(np.ones((S, KEYS), bool), 1)),
        ({"sparse_mode": 3}, np.triu(np.ones((S, KEYS), bool), 1 + KEYS - S)),
        ({"pre_tokens": 1, "next_tokens": 1}, ~(abs(np.arange(KEYS) - np.arange(S)[:, None]) <= 1)),
    ],
    ids=["first", "last", "band"],
)
def test_who_sees_whom(options, hidden):
    q, k, v = normal(B, N, S, D), normal(B, N, KEYS, D), normal(B, N, KEYS, D)
    made = ops.flash_attention_score(*map(Tensor, (q, k, v)), N, input_layout="BNSD", **options)
    np.testing.assert_allclose(made.asnumpy(), attention(q, k, v, 1.0, hidden), atol=1e-5)


def test_a_mask_a_shift_and_fewer_heads_of_keys():
    q, k, v = normal(B, 4, S, D), normal(B, 2, KEYS, D), normal(B, 2, KEYS, D)
    shift, hidden = normal(B, 4, S, KEYS), np.triu(np.ones((S, KEYS), bool), 2)
    made = ops.flash_attention_score(
        Tensor(laid(q, "BSH")), Tensor(laid(k, "BSH")), Tensor(laid(v, "BSH")), 4,
        real_shift=Tensor(shift), attn_mask=Tensor(hidden), scalar_value=0.5,
    )  # fmt: skip
    wide = [x.repeat(2, 1) for x in (k, v)]
    wanted = attention(q, *wide, 0.5, hidden, shift)
    np.testing.assert_allclose(made.asnumpy(), laid(wanted, "BSH"), atol=1e-5)


def test_rotation_keeps_lengths():
    x, angle = normal(2, 3, 1, 4), normal(1, 3, 1, 2)
    for mode, spread in ((0, np.tile(angle, 2)), (1, angle.repeat(2, -1))):
        made = ops.rotary_position_embedding(Tensor(x), Tensor(np.cos(spread)), Tensor(np.sin(spread)), mode)
        np.testing.assert_allclose(np.square(made.asnumpy()).sum(-1), np.square(x).sum(-1), rtol=1e-5)
