"""jvp, vjp, Jacobians, vmap, hooks on tensors, a Cell's own backward, recompute."""

import warnings

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    Parameter,
    Tensor,
    get_grad,
    grad,
    jacfwd,
    jacrev,
    jvp,
    nn,
    ops,
    recompute,
    set_context,
    value_and_grad,
    vjp,
    vmap,
)

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
Y = np.array([1.0, 2.0], np.float32)


def product(a, b):
    return (a * b).sum(0)


def both(a, b):
    return (a * b).sum(0), b * b


def values(tree):
    if isinstance(tree, tuple):
        return tuple(values(part) for part in tree)
    return tree.asnumpy().tolist() if isinstance(tree, Tensor) else tree


# What MindSpore gives: rows of d(result)/d(input).
BY_A = [[[1.0, 0.0], [1.0, 0.0]], [[0.0, 2.0], [0.0, 2.0]]]
BY_B = [[4.0, 0.0], [0.0, 6.0]]
ZERO = [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
class TestJacobian:
    def test_by_one_input_and_by_several(self, jacobian):
        x, y = Tensor(X), Tensor(Y)
        assert values(jacobian(product)(x, y)) == BY_A
        assert values(jacobian(product, 1)(x, y)) == BY_B
        assert values(jacobian(product, (0, 1))(x, y)) == (BY_A, BY_B)
        assert values(jacobian(product, (0,))(x, y)) == BY_A

    def test_of_several_results(self, jacobian):
        x, y = Tensor(X), Tensor(Y)
        assert values(jacobian(both, (0, 1))(x, y)) == ((BY_A, BY_B), (ZERO, [[2.0, 0.0], [0.0, 4.0]]))
        assert values(jacobian(both)(x, y)) == (BY_A, ZERO)

    def test_with_results_beside(self, jacobian):
        x = Tensor(Y)
        assert values(jacobian(lambda a: (a * a, a), 0, True)(x)) == ([[2.0, 0.0], [0.0, 4.0]], [1.0, 2.0])
        made = jacobian(lambda a: (a * a, a, a + 1), 0, True)(x)
        assert values(made[1]) == ([1.0, 2.0], [2.0, 3.0])

    def test_of_a_number_and_of_itself(self, jacobian):
        assert jacobian(lambda a: a * a)(Tensor(3.0)).item() == 6.0
        assert values(jacobian(jacobian(lambda a: (a * a * a).sum()))(Tensor(Y))) == [[6.0, 0.0], [0.0, 12.0]]

    def test_of_a_function_that_has_no_rule_for_many(self, jacobian):
        double = ops.Custom(
            lambda a: a * 2, lambda a: a, lambda a: a, "pyfunc", bprop=lambda a, out, dout: (dout * 2,)
        )
        assert values(jacobian(double)(Tensor(Y))) == [[2.0, 0.0], [0.0, 2.0]]

    def test_what_it_refuses(self, jacobian):
        with pytest.raises(ValueError, match="must be a function"):
            jacobian(3)
        with pytest.raises(ValueError, match="must belong to"):
            jacobian(product, 2)(Tensor(X), Tensor(Y))
        with pytest.raises(ValueError, match="must be >= 0"):
            jacobian(product, -1)
        with pytest.raises(TypeError, match="must be int or tuple"):
            jacobian(product, "a")
        with pytest.raises(TypeError, match="floating"):
            jacobian(lambda a: a * a)(Tensor([1, 2]))


def test_changes_along_a_direction():
    x, y = Tensor(X), Tensor(Y)
    assert values(jvp(lambda a: (a * a).sum(0), x, ops.ones_like(x))) == ([10.0, 20.0], [8.0, 12.0])
    assert values(jvp(both, (x, y), (x, y))) == (([4.0, 12.0], [1.0, 4.0]), ([8.0, 24.0], [2.0, 8.0]))
    assert values(jvp(both, (x, y), (x, y), has_aux=True)) == ([4.0, 12.0], [8.0, 24.0], [1.0, 4.0])
    assert values(jvp(lambda a: a * 0 + 1, y, y)) == ([1.0, 1.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="should be 1, but got 2"):
        jvp(lambda a: a, x, (x, x))
    with pytest.raises(TypeError, match="inputs type must be a Tensor"):
        jvp(lambda a: a, 3, 4)


def test_gradients_weighed_by_the_caller():
    x, y = Tensor(X), Tensor(Y)
    value, back = vjp(both, x, y)
    assert values(value) == ([4.0, 12.0], [1.0, 4.0])
    assert values(back(y, y)) == ([[1.0, 4.0], [1.0, 4.0]], [6.0, 20.0])
    assert values(back((y, y))) == values(back(y, y))  # as often as one likes
    assert values(vjp(lambda a: (a * a).sum(0), x)[1](y)) == ([[2.0, 8.0], [6.0, 16.0]],)
    net = nn.Dense(2, 2, weight_init="ones", bias_init="zeros")
    by_input, by_weight = vjp(net, x, weights=net.trainable_params())[1](x)
    assert values(by_input) == ([[3.0, 3.0], [7.0, 7.0]],)
    assert values(by_weight) == ([[10.0, 14.0], [14.0, 20.0]], [4.0, 6.0])
    assert values(vjp(net, x, weights=net.weight)[1](x)[1]) == [[10.0, 14.0], [14.0, 20.0]]
    assert values(vjp(both, x, y, has_aux=True)[2]) == [1.0, 4.0]
    with pytest.raises(ValueError, match="for each result"):
        back(x, y)
    assert not net.weight._torch.requires_grad


def test_higher_orders():
    wave = Tensor(Y)
    value, second = ops.derivative(ops.sin, wave, 2)
    assert np.allclose(value.asnumpy(), np.sin(Y))
    assert np.allclose(second.asnumpy(), -np.sin(Y), atol=1e-6)
    assert values(ops.derivative(lambda a, b: a * a * b, (wave, wave), 2)[1]) == [6.0, 12.0]
    orders = ops.jet(ops.sin, wave, Tensor([[1.0, 1.0], [0.0, 0.0]]))[1]
    assert np.allclose(orders.asnumpy(), [np.cos(Y), -np.sin(Y)], atol=1e-6)
    value, along = ops.linearize(lambda a: (a * a).sum(0), Tensor(X))
    assert values(along(Tensor(X))) == [20.0, 40.0]
    assert values(grad(lambda a: jvp(lambda b: b * b * b, a, ops.ones_like(a))[1].sum())(wave)) == [6.0, 12.0]


def test_one_of_several_gradients():
    y = Tensor(Y)
    weight = Parameter(Tensor([3.0, 3.0]), name="w")
    made = grad(lambda a, b: a * b * weight, (0, 1), [weight], return_ids=True)(y, y)
    assert values(get_grad(made, 1)) == [3.0, 6.0]
    assert values(get_grad(made, weight)) == [1.0, 4.0]
    with pytest.raises(RuntimeError, match="Can not find the gradient"):
        get_grad(made, 5)


class TestVmap:
    def test_axes(self):
        x, y = Tensor(X), Tensor(Y)
        add, mul = (lambda a, b: a + b), (lambda a, b: a * b)
        assert values(vmap(add)(x, y)) == [[2.0, 3.0], [5.0, 6.0]]
        assert values(vmap(add, in_axes=(0, None))(x, y)) == [[2.0, 4.0], [4.0, 6.0]]
        assert values(vmap(mul, in_axes=(1, 0), out_axes=1)(x, y)) == [[1.0, 4.0], [3.0, 8.0]]
        assert values(vmap(lambda a: a.sum(), in_axes=-1)(x)) == [4.0, 6.0]
        assert values(vmap(lambda p: p[0] + p[1], in_axes=((0, None),))((y, y))) == [[2.0, 3.0], [3.0, 4.0]]
        assert values(vmap(vmap(mul, in_axes=(None, 0)), in_axes=(0, None))(y, y)) == [[1.0, 2.0], [2.0, 4.0]]
        assert values(vmap(mul, in_axes=(0, None))(y, 2)) == [2.0, 4.0]

    def test_several_results(self):
        x = Tensor(X)
        assert values(vmap(lambda a: (a, a.sum()))(x)) == (X.tolist(), [3.0, 7.0])
        assert values(vmap(lambda a: (a, a.sum()), out_axes=(1, 0))(x)) == (X.T.tolist(), [3.0, 7.0])
        shared = vmap(lambda a: (a, Tensor(1.0)), out_axes=(0, None))(x)
        assert values(shared[1]) == 1.0
        assert values(vmap(lambda a: (a, Tensor(1.0)))(x)[1]) == [1.0, 1.0]

    def test_gradients_and_cells(self):
        x = Tensor(X)
        assert values(vmap(grad(lambda a: (a * a).sum()))(x)) == [[2.0, 4.0], [6.0, 8.0]]
        assert values(vmap(nn.Dense(2, 1, weight_init="ones", bias_init="zeros"))(x)) == [[3.0], [7.0]]
        net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        each = vmap(grad(lambda a: net(a).sum(), None, net.trainable_params()))(x)
        assert values(each) == ([[[1.0, 2.0]], [[3.0, 4.0]]], [[1.0], [1.0]])
        cells = nn.CellList(
            [nn.Dense(2, 1, weight_init=w, bias_init=b) for w, b in (("ones", "zeros"), ("zeros", "ones"))]
        )
        assert values(vmap(cells, in_axes=0)(x)) == [[3.0], [1.0]]
        assert values(vmap(cells, in_axes=None)(x)) == [[[3.0], [7.0]], [[1.0], [1.0]]]
        assert values(grad(lambda a: vmap(lambda r: (r * r).sum())(a).sum())(x)) == (X * 2).tolist()

    def test_what_it_refuses(self):
        x = Tensor(X)
        for wrong, text in (
            (lambda: vmap(lambda a: a, in_axes=None)(x), "cannot be a single None"),
            (lambda: vmap(lambda a, b: a + b)(x, Tensor([1.0, 2.0, 3.0])), "but got 2 and 3"),
            (lambda: vmap(lambda a: a, in_axes=3)(x), "out of bounds"),
            (lambda: vmap(lambda a: a, in_axes="a")(x), "can only be of type Int or None"),
            (lambda: vmap(lambda a, b: a, in_axes=(0,))(x, x), "but got size: 1"),
            (lambda: vmap(3), "must be a 'Function' or 'Cell'"),
        ):
            with pytest.raises(RuntimeError, match=text):
                wrong()


class TestHooks:
    def test_a_gradient_is_seen_on_its_way(self):
        seen = []

        def forward(x):
            z = x * 2
            z.register_hook(lambda g: seen.append(values(g)))
            return z * z

        assert values(grad(forward)(Tensor(Y))) == [8.0, 16.0]
        assert seen == [[4.0, 8.0]]

    def test_a_gradient_is_replaced_or_left(self):
        def forward(x, keep):
            z = x * 2
            first, second = z.register_hook(lambda g: g * 10), z.register_hook(lambda g: g + 1)
            if not keep:
                first.remove()
                second.remove()
            return z * z

        assert values(grad(forward)(Tensor(Y), True)) == [82.0, 162.0]
        assert values(grad(forward)(Tensor(Y), False)) == [8.0, 16.0]

    def test_on_a_parameter(self):
        weight = Parameter(Tensor([1.0, 2.0]), name="p")
        handle = weight.register_hook(lambda g: g * 100)
        forward = grad(lambda x: x * weight, 0, [weight])
        assert values(forward(Tensor(Y))) == ([1.0, 2.0], ([100.0, 200.0],))
        handle.remove()
        assert values(forward(Tensor(Y))) == ([1.0, 2.0], ([1.0, 2.0],))
        with pytest.raises(TypeError, match="must be python function"):
            weight.register_hook(3)


class Scaled(nn.Cell):
    """Its backward is not that of its forward."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 2.0]), name="w")
        self.seen = []

    def construct(self, a, b):
        return a * b * self.w

    def bprop(self, a, b, out, dout):
        self.seen.append(values((a, b, out, dout)))
        return dout * 10, out


class TestOwnBackward:
    def test_it_says_the_gradients(self):
        net = Scaled()
        made = grad(net, (0, 1), net.trainable_params())(Tensor(Y), Tensor([3.0, 3.0]))
        assert values(made) == (([10.0, 10.0], [6.0, 12.0]), ([0.0, 0.0],))
        assert net.seen == [([1.0, 2.0], [3.0, 3.0], [6.0, 12.0], [1.0, 1.0])]
        assert values(net(Tensor(Y), Tensor(Y))) == [2.0, 8.0]

    def test_inside_of_a_net_and_of_several_results(self):
        class Pair(nn.Cell):
            def construct(self, a):
                return a * a, a

            def bprop(self, a, out, dout):
                return dout[0] + dout[1] * 5

        pair = Pair()

        def forward(x):
            first, second = pair(x * 2)
            return first + second * 3

        assert values(grad(forward)(Tensor(Y))) == [32.0, 32.0]

    def test_too_few_gradients_are_refused(self):
        class Short(nn.Cell):
            def construct(self, a, b):
                return a * b

            def bprop(self, a, b, out, dout):
                return (dout,)

        with pytest.raises(RuntimeError, match="1 vs 2"):
            grad(Short(), (0, 1))(Tensor(Y), Tensor(X[0]))

    def test_both_modes(self):
        class Doubled(nn.Cell):
            def construct(self, a, b):
                return a * b

            def bprop(self, a, b, out, dout):
                return dout * 10, out

        net = Doubled()
        step = value_and_grad(lambda x: net(x, x + 1).sum(), 0)
        plain = values(step(Tensor(Y)))
        set_context(mode=GRAPH_MODE)
        try:
            assert [values(step(Tensor(Y))) for _ in range(3)] == [plain] * 3
        finally:
            set_context(mode=PYNATIVE_MODE)


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(2, 8), nn.Dense(8, 1)
        self.calls = 0

    def construct(self, x):
        self.calls += 1
        return self.second(ops.tanh(self.first(x)))


class TestRecompute:
    def test_gradients_are_those_of_the_plain_net(self):
        net, x = Block(), Tensor(X)
        step = value_and_grad(lambda x: net(x).sum(), 0, net.trainable_params())
        plain = step(x)
        net.recompute()
        again = step(x)
        assert values(plain[0]) == values(again[0])
        assert values(plain[1]) == values(again[1])
        assert net.calls == 3  # the last step computed it twice

    def test_as_a_function(self):
        net, x = Block(), Tensor(X)
        plain = grad(lambda x: net(x).sum())(x)
        assert values(grad(lambda x: recompute(net, x).sum())(x)) == values(plain)
        with pytest.raises(TypeError, match="inherited from Cell"):
            recompute(len, x)

    def test_both_modes(self):
        net, x = Block(), Tensor(X)
        net.recompute()
        step = value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
        plain = values(step(x))
        set_context(mode=GRAPH_MODE)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert [values(step(x)) for _ in range(3)] == [plain] * 3
        finally:
            set_context(mode=PYNATIVE_MODE)
