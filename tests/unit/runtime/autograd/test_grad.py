"""Gradients in the forms that MindSpore gives them in."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import millrace  # noqa: E402
from millrace import Parameter, Tensor, grad, nn, ops, value_and_grad  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture
def w():
    return Parameter(Tensor([2.0]), name="w")


X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


def plain(value):
    if isinstance(value, Tensor):
        return value.tolist()
    return tuple(plain(part) for part in value) if isinstance(value, (tuple, list)) else value


@pytest.mark.parametrize(
    ("position", "weights", "ids", "wanted"),
    [
        (0, "", False, [6, 8]),
        ((0, 1), "", False, ([6, 8], [2, 4])),
        (0, "list", False, ([6, 8], ([11],))),
        (None, "list", False, ([11],)),
        (None, "one", False, [11]),
        ((0,), "one", False, ([6, 8], [11])),
        (0, "list", True, ((0, [6, 8]), (("w", [11]),))),
        ((0, 1), "list", True, (((0, [6, 8]), (1, [2, 4])), (("w", [11]),))),
    ],
)
def test_forms_of_grad(w, position, weights, ids, wanted):
    def f(a, b):
        return (a * b * w).sum()

    given = {"": None, "list": [w], "one": w}[weights]
    assert plain(grad(f, position, given, return_ids=ids)(X, Y)) == wanted
    value, found = value_and_grad(f, position, given, return_ids=ids)(X, Y)
    assert value.item() == 22
    assert plain(found) == wanted
    assert not w._torch.requires_grad
    assert not value._torch.requires_grad


def test_several_results_and_what_is_carried_along(w):
    def f(a, b):
        return (a * b * w).sum(), a + b

    assert plain(grad(f)(X, Y)) == [7, 9]
    assert plain(grad(f, has_aux=True)(X, Y)) == ([6, 8], ([4, 6],))
    assert plain(value_and_grad(f, has_aux=True)(X, Y)) == ((22, [4, 6]), [6, 8])
    with pytest.raises(ValueError, match="more than one outputs"):
        grad(lambda a: a, has_aux=True)(X)


def test_what_has_no_part_in_the_result_has_zeros():
    assert plain(grad(lambda a, b: a * 2, (0, 1))(X, Y)) == ([2, 2], [0, 0])
    assert plain(grad(lambda a: 3.0)(X)) == [0, 0]
    assert plain(grad(ops.stop_gradient)(X)) == [0, 0]
    assert plain(grad(lambda a: ops.stop_gradient(a) * a)(X)) == [1, 2]
    assert grad(lambda a, k: a * k, 1)(X, 3.0) == ()


def test_higher_orders(w):
    assert plain(grad(grad(lambda a: (a**3).sum()))(X)) == [6, 12]
    assert plain(grad(lambda b: grad(lambda a: (a * a * b).sum())(X))(Y)) == [2, 4]
    assert plain(grad(lambda a: grad(lambda b: (b**2 * w).sum())(a), None, [w])(X)) == ([6],)


def test_grad_operation():
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    x = Tensor([[1.0, 2.0]])
    assert plain(ops.GradOperation()(net)(x)) == [[1, 1]]
    by_list = ([[1, 2]], [1])
    assert plain(ops.GradOperation(get_by_list=True)(net, net.trainable_params())(x)) == by_list
    assert plain(ops.GradOperation(get_by_list=True)(net)(x)) == by_list
    both = ops.GradOperation(get_all=True, get_by_list=True)(
        net, millrace.ParameterTuple(net.trainable_params())
    )
    assert plain(both(x)) == (([[1, 1]],), by_list)
    assert plain(ops.GradOperation(sens_param=True)(net)(x, Tensor([[5.0]]))) == [[5, 5]]
    with pytest.raises(TypeError, match="get_all"):
        ops.GradOperation(1)


def test_bad_requests():
    with pytest.raises(RuntimeError, match="exceed input size"):
        grad(lambda a: a, 5)(X)
    with pytest.raises(TypeError, match="int or tuple"):
        grad(lambda a: a, "a")
    with pytest.raises(ValueError, match="same time"):
        value_and_grad(lambda a: a, None, None)
    with pytest.raises(ZeroDivisionError):  # a user's own error comes as it is
        grad(lambda a: 1 / 0)(X)


def test_a_net_learns():
    millrace.set_seed(1)
    net = nn.SequentialCell(nn.Dense(2, 8, activation="tanh"), nn.Dense(8, 1))
    x = Tensor(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32))
    y = Tensor(np.array([[0], [1], [1], [0]], np.float32))
    step = value_and_grad(lambda a, b: ((net(a) - b) ** 2).mean(), None, net.trainable_params())
    places = [p._torch.data_ptr() for p in net.trainable_params()]
    first = step(x, y)[0].item()
    for _ in range(400):
        _, gradients = step(x, y)
        for param, gradient in zip(net.trainable_params(), gradients, strict=True):
            param.set_data(param - 0.3 * gradient)
    assert step(x, y)[0].item() < 0.01 < first
    assert places == [p._torch.data_ptr() for p in net.trainable_params()], (
        "a parameter has one storage for life"
    )
