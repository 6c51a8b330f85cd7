"""What the suite over the table cannot say of operations of neural networks: state that is written in place."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Tensor, ops  # noqa: E402
from millrace._src.runtime.ops.image import roi_align  # noqa: E402
from millrace._src.runtime.ops.nn import normalization  # noqa: E402


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
        return normalization.batch_norm.raw(x, mean.clone(), variance.clone(), scale, bias, training)

    torch.autograd.gradcheck(made, [t.requires_grad_() for t in (x, scale, bias)], fast_mode=True)


def test_the_gradient_of_regions_by_the_features():
    draw = torch.Generator().manual_seed(0)
    features = torch.randn((2, 2, 6, 5), dtype=torch.float64, generator=draw).requires_grad_()
    rois = torch.tensor([[0, 1, 1, 6, 5], [1, 0, 0, 12, 12]], dtype=torch.float64)
    torch.autograd.gradcheck(
        lambda x: roi_align.roi_align.raw(x, rois, 2, 3, 0.5), [features], fast_mode=True
    )


def test_summaries_reach_whoever_listens():
    from millrace._src.runtime.ops.framework.summary import on_summary

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


def gradients(function, *arrays):
    """The gradients of a sum by the tensors, or None where there is none."""
    ours = [Tensor(np.array(a, np.float32)) for a in arrays]
    for tensor in ours:
        tensor._torch.requires_grad_()
    made = function(*ours)
    made._torch.sum().backward()
    return [None if t._torch.grad is None else t._torch.grad.numpy() for t in ours]


def test_the_gradient_of_cross_entropy_is_mindspores_for_any_labels():
    logits, labels = [[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]], [[0.2, 0.3, 0.1], [0.0, 0.0, 0.0]]
    by_logits, by_labels = gradients(
        lambda x, y: ops.SoftmaxCrossEntropyWithLogits()(x, y)[0], logits, labels
    )
    softmax = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(by_logits, softmax - labels, atol=1e-6)
    assert by_labels is None


def test_labels_have_no_gradient():
    x, y = [[0.3, -0.5]], [[0.2, 0.8]]
    by_x, by_y = gradients(ops.SigmoidCrossEntropyWithLogits(), x, y)
    np.testing.assert_allclose(by_x, 1 / (1 + np.exp(-np.array(x))) - y, atol=1e-6)
    assert by_y is None
    by_x, by_y = gradients(lambda a, b: ops.kl_div(a, b, "sum"), x, y)
    np.testing.assert_allclose(by_x, -np.array(y), atol=1e-6)
    assert by_y is None


def test_weights_of_classes_may_be_parameters():
    weight = Tensor(np.ones(3, np.float32))
    weight._torch.requires_grad_()
    logits, labels = Tensor(np.ones((2, 3), np.float32)), Tensor(np.array([0, 2], np.int32))
    for made in (ops.cross_entropy(logits, labels, weight), ops.NLLLoss()(logits, labels, weight)[0]):
        assert np.isfinite(made.asnumpy())


def test_a_network_is_replayed_bit_for_bit_and_its_summaries_come_each_time():
    from millrace import jit
    from millrace._src.runtime.ops.framework.summary import on_summary

    draw = np.random.default_rng(1)
    weight, scale, bias = (Tensor(draw.normal(size=s).astype(np.float32)) for s in ((4, 3, 3, 3), 4, 4))
    mean, variance = Tensor(np.zeros(4, np.float32)), Tensor(np.ones(4, np.float32))

    def step(x, labels, boxes):
        y = ops.relu(
            ops.batch_norm(ops.conv2d(x, weight, None, 2, "same"), mean, variance, scale, bias, True)
        )
        y = ops.AvgPool(2, 1, "same")(ops.MaxPool(3, 2, "same")(y))
        y = ops.adaptive_avg_pool2d(ops.interpolate(y, (5, 5), None, "bilinear"), 1).reshape(x.shape[0], -1)
        loss = ops.cross_entropy(y, labels)
        ops.ScalarSummary()("loss", loss)
        kept = ops.NMSWithMask(0.5)(boxes)[2]
        return loss, ops.softmax(y), kept, ops.IOU()(boxes[:, :4], boxes[:, :4])

    def run(function):
        mean._torch.zero_(), variance._torch.fill_(1)
        seen = []
        stop = on_summary(lambda kind, name, value: seen.append(float(value.asnumpy())))
        try:
            made = [[part.asnumpy() for part in function(*batch)] for batch in batches]
        finally:
            stop()
        return made, seen

    batches = [
        (
            Tensor(draw.normal(size=(2, 3, 9, 8)).astype(np.float32)),
            Tensor(np.array([1, 2], np.int32)),
            Tensor(draw.uniform(size=(6, 5)).astype(np.float32)),
        )
        for _ in range(3)
    ]
    plain, told = run(step)
    replayed, told_again = run(jit(step))
    assert told == told_again
    assert len(set(told)) == 3
    for one, other in zip(plain, replayed, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
