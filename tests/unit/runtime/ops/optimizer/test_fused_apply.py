"""Steps of optimizers in one kernel, and by rows; the numbers are what MindSpore 2.7.0 leaves in the Parameters."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Parameter, Tensor, float16, int32, ops  # noqa: E402


def parameters(*values):
    return [Parameter(Tensor(np.array(value, np.float32))) for value in values]


def close(found, *wanted):
    for mine, value in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine.asnumpy(), value, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, [[0.9924385, 1.9870321], [2.9846237, 3.9824197]]),
        ({"enable_scale_parameter": True}, [[0.9792919, 1.964486], [2.95789, 3.9518547]]),
        ({"enable_first_moment": True}, [[0.9092438, 1.9087032], [2.9084623, 3.908242]]),
        ({"enable_weight_decay": True}, [[0.9921385, 1.9864321], [2.9837236, 3.9812198]]),
    ],
)
def test_adafactor(options, wanted):
    held = parameters([[1, 2], [3, 4]], np.full((2, 2), 0.1), [0.1, 0.2], [0.3, 0.4], np.full((2, 2), 0.5))
    grad = Tensor([[0.1, 0.2], [0.3, 0.4]])
    ops.FusedAdaFactor(**options)(Tensor([1e-30, 1e-3]), 1.0, 0.9, 0.8, 0.01, 0.03, grad, *held)
    close([held[0], *held[2:4]], wanted, [0.085, 0.185], [0.25, 0.34])


def test_adafactor_of_a_vector_and_by_a_norm():
    held = parameters([1, 2], [0.1, 0.1], [0.1, 0.2], [0.3, 0.4], [0.5, 0.5])
    ops.FusedAdaFactor()(Tensor([1e-30, 1e-3]), 0.001, 0.9, 0.8, 0.01, 0.03, Tensor([0.1, 0.2]), *held)
    close([held[0], held[4]], [0.9999809, 1.9999621], [0.402, 0.408])
    held = parameters([[1, 2], [3, 4]], np.full((2, 2), 0.1), [0.1, 0.2], [0.3, 0.4], np.full((2, 2), 0.5))
    grad = Tensor([[0.1, 0.2], [0.3, 0.4]])
    rest = (*held, Tensor(4.0))
    ops.FusedAdaFactorWithGlobalNorm()(Tensor([1e-30, 1e-3]), 1.0, 0.9, 0.8, 0.01, 0.03, grad, *rest)
    close([held[0]], [[0.9981238, 1.9967524], [2.9960315, 3.9954207]])


def test_adam_of_a_short_gradient():
    held = parameters([1, 2], [0.5, 0.25], [0.1, 0.2])
    grad = Tensor(np.float32([0.1, 0.2]), float16)
    ops.FusedCastAdamWeightDecay()(*held, 0.01, 0.9, 0.99, 1e-8, 0.1, grad, Tensor(4.0))
    close(held, [0.9846191, 1.9928315], [0.4524994, 0.2299988], [0.0990063, 0.198025])


def test_rows_that_have_a_gradient():
    held = parameters([[0.6, 0.3], [0.1, 0.5]], [[0.2, 0.4], [0.1, 0.3]], [[0.3, 0.1], [0.3, 0.6]])
    grad, rows = Tensor([[0.3, 0.7], [0.1, 0.8]]), Tensor([0, 1], int32)
    ops.SparseApplyRMSProp(0.2, 0.01, 1e-6)(*held, 0.01, grad, rows)
    close(
        held,
        [[0.5880358, 0.2888111], [0.091024, 0.4834223]],
        [[0.112, 0.472], [0.028, 0.572]],
        [[0.0119642, 0.0111889], [0.008976, 0.0165777]],
    )


def test_by_rows_is_as_whole_where_every_row_has_a_gradient():
    """MindSpore has no kernel of these two for the CPU: they are held against the ones for whole tensors."""
    start = ([[0.2, 0.3], [0.1, 0.2]],) * 3
    grad, rows = Tensor([[0.3, 0.7], [0.2, 0.1]]), Tensor([0, 1], int32)
    mine, whole = parameters(*start), parameters(*start)
    ops.SparseApplyAdadelta(1e-6)(*mine, 0.01, 0.9, grad, rows)
    ops.ApplyAdadelta()(*whole, 0.01, 0.9, 1e-6, grad)
    close(mine, *(each.asnumpy() for each in whole))
    mine, whole = parameters(*start), parameters(*start)
    ops.SparseApplyFtrlV2(0.01, 0.1, 0.2, 0.0, -0.5)(*mine, grad, rows)
    ops.ApplyFtrl()(*whole, grad, 0.01, 0.1, 0.2, -0.5)
    close(mine, *(each.asnumpy() for each in whole))
    one = parameters(*start)
    ops.SparseApplyAdadelta(1e-6)(*one, 0.01, 0.9, grad[:1], Tensor([1], int32))
    assert one[0].asnumpy()[0].tolist() == parameters(*start)[0].asnumpy()[0].tolist()
