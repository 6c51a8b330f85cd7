"""Functions of functions, loops, operations of the user's own, printing: what the table does not hold."""

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Tensor, float16, float32, grad, nn, ops, set_context


@pytest.fixture
def graph_mode():
    set_context(mode=GRAPH_MODE)
    yield
    set_context(mode=PYNATIVE_MODE)


def _sum():
    add = ops.MultitypeFuncGraph("add")

    @add.register("Number", "Number")
    def _(x, y):
        return x + y

    @add.register("Tensor", "Tensor")
    def _(x, y):
        return x + y

    return add


def test_a_function_is_chosen_by_types():
    chosen = ops.MultitypeFuncGraph("chosen")
    for names in (
        ("Tuple", "Bool"),
        ("List", "Int"),
        ("Function", "Float"),
        ("None", "String"),
        ("Tensor", "Number"),
    ):
        chosen.register(*names)(lambda x, y, names=names: names)
    assert chosen((1,), True) == ("Tuple", "Bool")
    assert chosen([1], 2) == ("List", "Int")
    assert chosen(len, 2.0) == ("Function", "Float")
    assert chosen(None, "s") == ("None", "String")
    assert chosen(Tensor([1.0]), True) == ("Tensor", "Number")


def test_types_without_a_function_are_named():
    with pytest.raises(ValueError, match=r"cannot find fn match given args.*'int', 'Tensor'"):
        _sum()(1, Tensor([1]))
    with pytest.raises(TypeError, match="is no type to register"):
        ops.MultitypeFuncGraph("f").register("Spoon")


def test_trees_are_mapped():
    add = _sum()
    assert ops.HyperMap(add)((1, (2, 3)), (4, [5, 6])) == (5, (7, 9))
    assert ops.HyperMap(add)([1, 2], [4, 5, 6]) == (5, 7)
    assert ops.HyperMap(add)(1, 2) == 3
    assert ops.HyperMap()(ops.partial(add, 5), (1, 2)) == (6, 7)
    assert ops.hyper_add((1, 2), (3, 4)) == (4, 6)
    assert ops.Map(add)([1, 2], (4, 5)) == (5, 7)
    assert ops.Map(lambda x, y: (x, y))((1, (2, 3)), (4, (5, 6))) == ((1, 4), ((2, 3), (5, 6)))
    with pytest.raises(TypeError, match="one shape"):
        ops.HyperMap(add)((1, 2), 3)
    with pytest.raises(TypeError, match="first argument of the call"):
        ops.HyperMap()((1, 2))


def test_backwards_means_the_order_of_calls():
    seen = []
    assert ops.HyperMap(lambda x: seen.append(x) or x, reverse=True)((1, 2, 3)) == (1, 2, 3)
    assert seen == [3, 2, 1]


def test_a_tree_of_gradients_is_scaled():
    scale = ops.MultitypeFuncGraph("scale")

    @scale.register("Tensor", "Tensor")
    def _(factor, gradient):
        return gradient * ops.Reciprocal()(factor)

    made = ops.HyperMap()(ops.partial(scale, Tensor(2.0)), (Tensor([2.0]), Tensor([[4.0]])))
    assert [each.asnumpy().tolist() for each in made] == [[1.0], [[2.0]]]


def test_depend_flags_and_constants():
    assert ops.depend(1, 2) == 1
    assert ops.Depend()(1, 2) == 1

    @ops.constexpr
    def plus_one(x):
        return x + 1

    @ops.constexpr(name="other")
    def plus_two(x):
        return x + 2

    @ops.add_flags(has_effect=True)
    def flagged():
        return None

    assert (plus_one(2), plus_two(2), flagged._func_graph_flags) == (3, 4, {"has_effect": True})
    assert ops.add_flags(nn.ReLU(), done=True).get_flags() == {"done": True}


def test_a_tree_is_cast():
    made = ops.mixed_precision_cast(float16, (Tensor([1.0]), Tensor([1]), 3))
    assert [str(made[0].dtype), str(made[1].dtype), made[2]] == ["Float16", "Int64", 3]


def test_loops():
    assert ops.ForiLoop()(0, 4, lambda i, x: x + i, Tensor([1.0])).asnumpy().tolist() == [7.0]
    assert ops.WhileLoop()(lambda x: x < 10, lambda x: x * 2, Tensor(1)).item() == 16
    last, steps = ops.Scan()(lambda c, e: (c + e, c * e), Tensor([1.0]), Tensor([[1.0], [2.0]]))
    assert (last.item(), [step.item() for step in steps]) == (4.0, [1.0, 4.0])
    assert ops.Scan()(lambda c, _: (c + 1, c), 0, None, 3) == (3, [0, 1, 2])
    assert ops.switch(True, 1, 2) == 1
    assert ops.switch_layer(1, [abs, len]) is len
    for wrong in (
        lambda: ops.ForiLoop()(0, 2, 3, 4),
        lambda: ops.WhileLoop()(1, len, 2),
        lambda: ops.Scan()(lambda c, e: c, 0, [1]),
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="length"):
        ops.Scan()(len, 0, None)


def test_gradients_pass_through_loops():
    made = grad(lambda x: ops.ForiLoop()(0, 3, lambda i, y: y * x, Tensor([1.0])).sum())(Tensor([2.0]))
    assert made.asnumpy().tolist() == [12.0]


def test_a_function_on_arrays_is_an_operation():
    seen = []

    def wave(x):
        seen.append(type(x))
        return np.sin(x), np.cos(x)

    made = ops.Custom(wave, lambda x: (x, x), lambda x: (x, x), "pyfunc")(Tensor([0.0, 1.0]))
    assert seen == [np.ndarray]
    assert np.allclose(made[1].asnumpy(), np.cos([0.0, 1.0]))
    given = ops.Custom(lambda x: x > 0, (2,), float32, "pyfunc")(Tensor([-1.0, 1.0]))
    assert (str(given.dtype), given.asnumpy().tolist()) == ("Float32", [0.0, 1.0])
    assert ops.PyFunc(lambda x: x + 1, [float32], [(1,)], [float32], [(1,)])(Tensor([1.0]))[0].item() == 2.0


def test_a_function_on_arrays_has_the_gradient_that_it_says():
    def triple(x, out, dout):
        return (dout * 3,)

    double = ops.Custom(lambda x: x * 2, lambda x: x, lambda x: x, "pyfunc", bprop=triple)
    assert grad(lambda x: double(x).sum())(Tensor([1.0, 2.0])).asnumpy().tolist() == [3.0, 3.0]
    plain = ops.Custom(lambda x: x * 2, lambda x: x, lambda x: x, "pyfunc")
    with pytest.raises(RuntimeError, match="bprop not defined"):
        grad(lambda x: plain(x).sum())(Tensor([1.0]))


def test_a_function_on_arrays_is_called_every_time(graph_mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.seen = []
            self.own = ops.Custom(self.count, lambda x: x, lambda x: x, "pyfunc")

        def count(self, x):
            self.seen.append(x.sum())
            return x + 1

        def construct(self, x):
            return self.own(x * 2)

    net = Net()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that the net runs operation by operation
        assert [net(Tensor([float(i)])).item() for i in range(3)] == [1.0, 3.0, 5.0]
    assert net.seen == [0.0, 2.0, 4.0]


def test_kernels_for_other_compilers_are_refused():
    with pytest.raises(TypeError, match="must be of type function or str"):
        ops.Custom(3)
    with pytest.raises(ValueError, match="must be one of"):
        ops.Custom(len, func_type="spoon")
    with pytest.raises(ValueError, match="compiled for another runtime"):
        ops.Custom("./add.so:add", func_type="aot")


def test_gradients_are_seen_and_replaced():
    seen = []
    watch = ops.HookBackward(lambda g: seen.append(g[0].item()))
    assert grad(lambda x: watch(x * 2))(Tensor([1.0])).item() == 2.0
    assert seen == [1.0]
    assert grad(lambda x: ops.HookBackward(lambda g: g[0] * 5)(x * 2))(Tensor([1.0])).item() == 10.0
    assert grad(lambda x: ops.InsertGradientOf(lambda g: g * 5)(x * 2))(Tensor([1.0])).item() == 10.0
    assert grad(lambda x: ops.StopGradient()(x) * x)(Tensor([3.0])).item() == 3.0


def test_printing(capsys):
    assert ops.Print()("loss", Tensor([1.0, 2.0]), 3) is None
    ops.print_("a", (1, "b"))
    assert capsys.readouterr().out == (
        "loss\nTensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])\n3\na\n(1, 'b')\n"
    )


def test_printing_happens_every_time(graph_mode, capsys):
    class Net(nn.Cell):
        def construct(self, x):
            ops.Print()("x", x)
            return x + 1

    net = Net()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net(Tensor(1))
        net(Tensor(2))
    assert capsys.readouterr().out.count("x\n") == 2


def test_assert():
    ops.Assert()(Tensor(True), [Tensor([1.0])])
    with pytest.raises(RuntimeError, match=r"condition is false.*1 2"):
        ops.Assert(2)(Tensor(False), [Tensor([1, 2, 3])])


def test_numbers_and_tuples_as_operations():
    assert ops.scalar_add(1, 2) == 3
    assert ops.scalar_div(1, 2) == 0.5
    assert ops.tuple_getitem((1, 2), 0) == 1
    assert ops.tuple_setitem((1, 2), 0, 5) == (5, 2)
    assert ops.make_range(0, 3) == (0, 1, 2)
    assert ops.make_dict(("a",), (1,)) == {"a": 1}
    assert ops.dict_setitem({"a": 1}, "b", 2) == {"a": 1, "b": 2}
    assert ops.shape_mul((2, 3)) == 6
    assert ops.tuple_len((1, 2)) == 2
    assert ops.tuple_reversed((1, 2)) == (2, 1)
    assert pickle.loads(pickle.dumps(ops.scalar_add)) is ops.scalar_add
