"""What MindSpore has on Ascend only, against its definitions: attention with caches and lengths, experts,
statistics."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Parameter, Tensor, int32, mint, ops  # noqa: E402


def randn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def attention(q, k, v, scale, seen=None):
    """(heads, length, width) each, by hand."""
    scores = q @ k.swapaxes(-1, -2) * scale
    scores = scores if seen is None else np.where(seen, scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return (shares / shares.sum(-1, keepdims=True)) @ v


def heads(x, count):
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def flat(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def test_prompts_and_new_places_see_what_their_lengths_say():
    q, k, v = randn(2, 3, 8), randn(2, 5, 8, seed=1), randn(2, 5, 8, seed=2)
    seen = np.arange(5) < np.array([4, 5])[:, None]
    wanted = flat(attention(heads(q, 2), heads(k, 2), heads(v, 2), 0.5, seen[:, None, None]))
    made = ops.prompt_flash_attention(
        *map(Tensor, (q, k, v)), None, None, [4, 5], num_heads=2, scale_value=0.5
    )
    np.testing.assert_allclose(made.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    one = ops.incre_flash_attention(
        Tensor(q[:, :1]), [Tensor(k)], [Tensor(v)], None, [4, 5], num_heads=2, scale_value=0.5
    )
    np.testing.assert_allclose(one.asnumpy(), wanted[:, :1], rtol=1e-5, atol=1e-6)
    fused, total = ops.fused_infer_attention_score(
        *map(Tensor, (q, k, v)), actual_seq_lengths_kv=[4, 5], num_heads=2, scale=0.5, softmax_lse_flag=True
    )
    np.testing.assert_allclose(fused.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    assert total.shape == (2, 2, 3, 1)
    with pytest.raises(ValueError, match="'quant_scale1' must be None"):
        ops.prompt_flash_attention(*map(Tensor, (q, k, v)), quant_scale1=Tensor([1.0]))


def test_a_cache_in_pages_is_written_and_attended():
    keys, values = (Parameter(Tensor(np.zeros((4, 2, 2, 4), np.float32))) for _ in range(2))
    k, v, q = randn(1, 3, 8), randn(1, 3, 8, seed=1), randn(1, 1, 8, seed=2)
    slots = Tensor([6, 7, 2], int32)  # page 3, then page 1
    ops.ReshapeAndCache()(Tensor(k), Tensor(v), keys, values, slots)
    pages, length = Tensor([[3, 1]], int32), Tensor([3], int32)
    made = ops.PagedAttention(2, 0.5, 2)(Tensor(q), keys, values, pages, length)
    wanted = flat(attention(heads(q, 2), heads(k, 2), heads(v, 2), 0.5))
    np.testing.assert_allclose(made.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    before = keys.asnumpy().copy()
    ops.ReshapeAndCache()(Tensor(k[:, :1]), Tensor(v[:, :1]), keys, values, Tensor([-1], int32))
    assert (keys.asnumpy() == before).all()


def test_two_rings_of_attention_are_one():
    q, k, v = randn(2, 3, 8), randn(2, 6, 8, seed=1), randn(2, 6, 8, seed=2)

    def part(rows):
        made = ops.speed_fusion_attention(
            Tensor(q), Tensor(k[:, rows]), Tensor(v[:, rows]), 2, "BSH", scale=0.5
        )
        return made[0].transpose(1, 0, 2), made[1], made[2]

    joined, top, total = ops.ring_attention_update(*part(slice(0, 4)), *part(slice(4, 6)))
    whole = part(slice(0, 6))
    for mine, wanted in zip((joined, top, total), whole, strict=True):
        np.testing.assert_allclose(mine.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)


def test_tokens_go_to_experts_and_come_back():
    tokens = Tensor(randn(4, 3))
    experts = Tensor([[2, 0], [1, 2], [0, 1], [2, 1]], int32)
    sorted_tokens, places = ops.moe_token_permute(tokens, experts)
    order = np.argsort(experts.asnumpy().ravel(), kind="stable")
    np.testing.assert_array_equal(sorted_tokens.asnumpy(), tokens.asnumpy()[order // 2])
    shares = np.abs(randn(4, 2, seed=1))
    back = ops.moe_token_unpermute(sorted_tokens, places, Tensor(shares))
    np.testing.assert_allclose(back.asnumpy(), tokens.asnumpy() * shares.sum(1, keepdims=True), rtol=1e-5)


def test_attention_to_a_few_places_of_maps_samples_them():
    value = randn(1, 4, 1, 2)  # one map of 2 x 2
    # the middle of the four elements, with half of the weight
    places, weight = np.full((1, 1, 1, 1, 1, 2), 0.5, np.float32), np.full((1, 1, 1, 1, 1), 0.5, np.float32)
    made = ops.multi_scale_deformable_attn_function(
        Tensor(value), Tensor([[2, 2]], int32), Tensor([0], int32), Tensor(places), Tensor(weight)
    )
    np.testing.assert_allclose(made.asnumpy()[0, 0], value[0, :, 0].mean(0) * 0.5, rtol=1e-5)


def test_statistics_of_two_devices_normalise_as_one_batch():
    x = randn(6, 3, 4)
    mean, var = Tensor(np.zeros(3, np.float32)), Tensor(np.ones(3, np.float32))
    parts = [mint.batch_norm_stats(Tensor(x[rows]), 1e-5) for rows in (slice(0, 2), slice(2, 6))]
    means, deviations = (ops.stack([part[n] for part in parts]) for n in (0, 1))
    together, scale = mint.batch_norm_gather_stats_with_counts(
        Tensor(x), means, deviations, mean, var, 0.1, 1e-5, Tensor([8.0, 16.0])
    )
    made = mint.batch_norm_elemt(Tensor(x), None, None, together, scale, 1e-5)
    wanted = torch.nn.functional.batch_norm(torch.from_numpy(x), None, None, training=True)
    np.testing.assert_allclose(made.asnumpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(var.asnumpy(), 0.9 + 0.1 * x.var((0, 2), ddof=1), rtol=1e-4)


def test_a_transducers_loss_is_the_sum_over_all_ways():
    acts = randn(1, 2, 2, 3)
    chances = np.exp(acts) / np.exp(acts).sum(-1, keepdims=True)
    blank, label = chances[0, ..., 0], chances[0, ..., 2]
    ways = label[0, 0] * blank[0, 1] * blank[1, 1] + blank[0, 0] * label[1, 0] * blank[1, 1]
    cost, slope = ops.RNNTLoss()(Tensor(acts), Tensor([[2]], int32), Tensor([2], int32), Tensor([1], int32))
    assert cost.asnumpy()[0] == pytest.approx(-np.log(ways), rel=1e-5)
    assert np.abs(slope.asnumpy().sum(-1)).max() < 1e-6  # a softmax: what one class gains others lose
