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
