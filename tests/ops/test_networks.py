"""What the suite over the table cannot say of operations of neural networks: state that is written in place."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Tensor, ops  # noqa: E402
from millrace.ops import normalise  # noqa: E402


def test_batch_norm_moves_the_running_statistics_in_place():
    x = np.random.default_rng(0).normal(size=(4, 3, 2, 2)).astype(np.float32)
    mean, variance = Tensor(np.zeros(3, np.float32)), Tensor(np.ones(3, np.float32))
    one, zero = Tensor(np.ones(3, np.float32)), Tensor(np.zeros(3, np.float32))
    made = ops.batch_norm(Tensor(x), mean, variance, one, zero, training=True, momentum=0.25)
    over = (0, 2, 3)
    np.testing.assert_allclose(mean.asnumpy(), 0.25 * x.mean(over), rtol=1e-5)
    np.testing.assert_allclose(variance.asnumpy(), 0.75 + 0.25 * x.var(over, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(made.asnumpy().mean(over), 0, atol=1e-6)


@pytest.mark.parametrize("training", [True, False])
def test_the_gradient_of_batch_norm(training):
    draw = torch.Generator().manual_seed(0)
    x, scale, bias = (torch.randn(s, dtype=torch.float64, generator=draw) for s in ((4, 3, 2), (3,), (3,)))
    mean, variance = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)

    def made(x, scale, bias):
        return normalise.batch_norm.raw(x, mean.clone(), variance.clone(), scale, bias, training)

    torch.autograd.gradcheck(made, [t.requires_grad_() for t in (x, scale, bias)], fast_mode=True)


def test_the_gradient_of_regions_by_the_features():
    from millrace.ops import boxes

    draw = torch.Generator().manual_seed(0)
    features = torch.randn((2, 2, 6, 5), dtype=torch.float64, generator=draw).requires_grad_()
    rois = torch.tensor([[0, 1, 1, 6, 5], [1, 0, 0, 12, 12]], dtype=torch.float64)
    torch.autograd.gradcheck(lambda x: boxes.roi_align.raw(x, rois, 2, 3, 0.5), [features], fast_mode=True)


def test_summaries_reach_whoever_listens():
    from millrace.ops.summaries import on_summary

    seen = []
    stop = on_summary(lambda kind, name, value: seen.append((kind, name, value.asnumpy().tolist())))
    try:
        ops.ScalarSummary()("loss", Tensor(0.5))
        ops.TensorSummary()("a name with spaces", Tensor([1, 2]))
        with pytest.raises(TypeError, match="must be a Tensor"):
            ops.ImageSummary()("x", 3)
        with pytest.raises(TypeError, match="must be a str"):
            ops.HistogramSummary()(3, Tensor(0.5))
    finally:
        stop()
    ops.ScalarSummary()("loss", Tensor(0.5))
    assert seen == [("scalar", "loss", 0.5), ("tensor", "a name with spaces", [1, 2])]


def test_flags_of_overflow():
    assert ops.FloatStatus()(Tensor([1.0, float("nan")])).asnumpy().tolist() == [1]
    flag = ops.NPUAllocFloatStatus()()
    assert ops.NPUClearFloatStatus()(flag).shape == ops.NPUGetFloatStatus()(flag).shape == (8,)
