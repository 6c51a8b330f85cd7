"""What losses refuse, and how they print, copy and pickle; values are in tests/parity/runtime/nn."""

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import Tensor, nn
from tests.contracts.layers.check_cell import check_cell

X = np.linspace(0.1, 0.9, 12).reshape(3, 4).astype(np.float32)
Y = X[::-1].copy()
N = np.array([0, 3, 1], np.int32)
PLAIN = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "DiceLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L1LossExt",
    "MAELoss",
    "MSELoss",
    "PoissonNLLLoss",
    "RMSELoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "SoftmaxCrossEntropyWithLogits",
]


@pytest.mark.parametrize("name", PLAIN)
def test_losses_of_two_tensors(name):
    check_cell(getattr(nn, name), X, Y, parameters={}, text=f"{name}()")


@pytest.mark.parametrize("name", ["CrossEntropyLoss", "NLLLoss", "MultiMarginLoss"])
def test_losses_of_class_numbers(name):
    check_cell(getattr(nn, name), X, N, output=(), parameters={}, text=f"{name}()")


@pytest.mark.parametrize("name", [*PLAIN, "CrossEntropyLoss", "NLLLoss", "FocalLoss", "TripletMarginLoss"])
def test_ways_that_are_no_reduction(name):
    if name not in ("DiceLoss", "RMSELoss"):
        with pytest.raises(ValueError, match=f"For '{name}', the 'reduction' must be in"):
            getattr(nn, name)(reduction="spoon")


def test_values_known_by_hand():
    ones, signs = np.ones((2, 3), np.float32), np.array([[1, -1, 1], [-1, 1, 1]], np.float32)
    assert nn.SoftMarginLoss()(Tensor(ones), Tensor(signs)).item() == pytest.approx(
        (4 * np.log1p(np.exp(-1)) + 2 * np.log1p(np.e)) / 6
    )
    hinge = nn.HingeEmbeddingLoss(margin=3.0, reduction="none")(Tensor(ones), Tensor(signs))
    assert hinge.asnumpy().tolist() == [[1, 2, 1], [2, 1, 1]]
    far = nn.TripletMarginLoss(reduction="none")(Tensor(ones), Tensor(ones), Tensor(ones * 5))
    assert far.asnumpy().max() == 0


def test_what_is_no_tensor_is_named():
    with pytest.raises(TypeError, match="For 'MSELoss', the 'labels' must be Tensor, but got 'float'"):
        nn.MSELoss()(Tensor(X), 3.0)
    with pytest.raises(ValueError, match="For 'DiceLoss'"):
        nn.DiceLoss()(Tensor(X), Tensor(N))
    with pytest.raises(TypeError, match="gamma"):
        nn.FocalLoss(gamma="a")
    with pytest.raises(NotImplementedError):
        nn.LossBase()(Tensor(X), Tensor(Y))


def test_a_loss_of_ones_own():
    class Weighed(nn.LossBase):
        def construct(self, x, weights):
            return self.get_loss(x, weights)

    assert Weighed("sum")(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).item() == 11.0
    assert str(Weighed("none")(Tensor(X.astype(np.float16)), 1.0).dtype) == "Float16"
    assert (Weighed("none").reduce, Weighed("sum").average) == (False, False)
