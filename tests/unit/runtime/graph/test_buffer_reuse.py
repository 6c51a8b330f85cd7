"""Results written over operands that nobody needs again: fewer storages, the same bits."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Tensor, nn, ops, set_context, value_and_grad  # noqa: E402
from millrace._src.runtime.graph.replay import capture_cache_of  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def graph_mode():
    set_context(mode=GRAPH_MODE)
    yield
    set_context(mode=PYNATIVE_MODE)


class Call(nn.Cell):
    """A function as a cell."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def construct(self, *args):
        return self.function(*args)


def replayed(function, *arrays):
    """What a recorded function gives, the same in PyNative mode, and the names of the kernels in the recording."""
    set_context(mode=GRAPH_MODE)
    cell = Call(function)
    for _ in range(3):
        made = cell(*(Tensor(array.copy()) for array in arrays))
    set_context(mode=PYNATIVE_MODE)
    plain = cell(*(Tensor(array.copy()) for array in arrays))
    (entry,) = capture_cache_of(cell).entries.values()
    values = [part.asnumpy() for part in (made if isinstance(made, tuple) else (made,))]
    wanted = [part.asnumpy() for part in (plain if isinstance(plain, tuple) else (plain,))]
    assert all((a == b).all() and a.dtype == b.dtype for a, b in zip(values, wanted, strict=True))
    return [str(call.func).removeprefix("aten.") for call in entry.program.calls]


X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def test_a_chain_is_written_over_its_first_result():
    assert replayed(lambda x: ops.relu(ops.exp(x) * x - x), X) == [
        "exp.default", "mul_.Tensor", "sub_.Tensor", "relu_.default",
    ]  # fmt: skip


def test_an_argument_is_never_written_over():
    array = X.copy()
    assert replayed(lambda x: ops.relu(x) + x, array) == ["relu.default", "add_.Tensor"]
    assert (array == X).all()


def test_what_is_needed_again_stays():
    assert replayed(lambda x: ops.exp(y := x * x) + y, X) == ["mul.Tensor", "exp.default", "add_.Tensor"]


def test_what_is_returned_stays():
    def both(x):
        y = x * x
        return y, ops.exp(y), y.T

    assert "exp.default" in replayed(both, X)


def test_what_a_view_shows_stays():
    def later(x):
        y = x * x
        row = y[0]
        return ops.exp(y) + row

    assert replayed(later, X).count("exp.default") == 1


def test_memory_that_is_read_as_a_view_in_the_same_call_is_not_written():
    square = np.arange(9, dtype=np.float32).reshape(3, 3)
    assert "add.Tensor" in replayed(lambda x: (y := x * x) + y.T, square)


def test_a_result_of_another_shape_or_type_has_memory_of_its_own():
    assert "add.Tensor" in replayed(lambda x: (x[0] * x[0]) + x, X)
    assert "mul.Tensor" in replayed(lambda x, y: (x + x) * y, np.arange(4, dtype=np.int32), X[0])


def test_the_same_operand_twice_is_one():
    assert replayed(lambda x: (y := ops.exp(x)) * y, X) == ["exp.default", "mul_.Tensor"]


def test_a_view_of_the_result_keeps_it():
    def turned(x):
        y = ops.relu(x * x)  # written over the product
        turned = y.T
        return ops.exp(y) + 1, turned

    assert replayed(turned, X)[:2] == ["mul.Tensor", "relu_.default"]
    assert "exp.default" in replayed(turned, X)


def test_the_backward_of_activations_writes_over_the_gradient():
    net = nn.SequentialCell(
        nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 8), nn.Sigmoid(), nn.Dense(8, 1), nn.Tanh()
    )
    step = value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    for _ in range(4):
        loss, gradients = step(Tensor(X))
    set_context(mode=PYNATIVE_MODE)
    plain, wanted = step(Tensor(X))
    assert loss.asnumpy() == plain.asnumpy()
    assert all((a.asnumpy() == b.asnumpy()).all() for a, b in zip(gradients, wanted, strict=True))
    (entry,) = capture_cache_of(step).entries.values()
    kernels = [str(call.func) for call in entry.program.calls]
    assert "aten.threshold_backward.grad_input" in kernels
    assert "aten.sigmoid_backward.grad_input" in kernels
