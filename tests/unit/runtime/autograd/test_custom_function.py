"""Functions with a backward of their own, and parts without gradients."""

import pytest

torch = pytest.importorskip("torch")

import millrace as ms  # noqa: E402
from millrace import GRAPH_MODE, PYNATIVE_MODE, Tensor, grad, set_context  # noqa: E402

torch.set_num_threads(1)


class Scaled(ms._Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * x * k

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 * x * ctx.k * 10, None  # ten times too much: it is this one that is used


@pytest.mark.parametrize("mode", [PYNATIVE_MODE, GRAPH_MODE], ids=["pynative", "graph"])
def test_a_backward_of_ones_own(mode):
    set_context(mode=mode)
    try:
        x = Tensor([1.0, 2.0])
        assert Scaled.apply(x, 3.0).tolist() == [3.0, 12.0]
        step = grad(lambda given: Scaled.apply(given, 3.0).sum())
        assert [step(x).tolist() for _ in range(2)] == [[60.0, 120.0]] * 2
    finally:
        set_context(mode=PYNATIVE_MODE)


def test_a_gradient_for_each_argument():
    class Short(ms._Function):
        @staticmethod
        def forward(ctx, x, y):
            assert ctx.needs_input_grad == (True, False)
            return x * y

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    with pytest.raises(
        TypeError, match=r"Short.backward must return a gradient, or None, for each of the 2 arguments"
    ):
        grad(lambda x: Short.apply(x, Tensor([2.0])))(Tensor([1.0]))
    with pytest.raises(NotImplementedError, match="implement forward"):
        ms._Function.apply(Tensor([1.0]))


def test_no_grad():
    def f(x):
        with ms._no_grad():
            y = x * x
        return (y * x).sum()

    @ms._no_grad()
    def held(x):
        return x * x

    assert grad(f)(Tensor([1.0, 2.0])).tolist() == [1.0, 4.0]
    assert grad(lambda x: (held(x) * x).sum())(Tensor([1.0, 2.0])).tolist() == [1.0, 4.0]


def test_classes_of_types():
    assert (ms.Int(32), ms.Int()) == (ms.int32, ms.int_)
    assert [isinstance(kind, ms.Int) for kind in (ms.int8, ms.uint8, ms.float32, 3)] == [
        True,
        False,
        False,
        False,
    ]
    with pytest.raises(ValueError, match="number of bits"):
        ms.Int(7)
    assert (str(ms.TensorType(ms.float32)), repr(ms.TensorType())) == ("Tensor[Float32]", "mindspore.tensor")
    assert ms.TensorType(ms.float32).element_type() is ms.float32
    assert ms.TensorType(ms.int8) == ms.TensorType(ms.int8) != ms.TensorType(ms.int16)
    assert (str(ms._null), ms._NullType() == ms._null) == ("Null", True)
    assert [kind._value_ for kind in (ms.QuantDtype.INT1, ms.QuantDtype.INT16, ms.QuantDtype.UINT8)] == [
        0,
        15,
        107,
    ]
    assert str(ms.QuantDtype.INT8) == "INT8"


def test_enable_dynamic():
    wide = Tensor(shape=[None], dtype=ms.float32)

    @ms.enable_dynamic(x=wide)
    @ms.jit
    def twice(x):
        return x * 2

    assert twice(Tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert twice(x=Tensor([1.0])).tolist() == [2.0]
    for call, error, text in (
        (lambda: twice(Tensor([[1.0]])), ValueError, "tensor shapes are not the same"),
        (lambda: twice(Tensor([1])), TypeError, "tensor dtypes are not the same"),
        (lambda: ms.enable_dynamic(), ValueError, "the input cannot be empty"),
        (lambda: ms.enable_dynamic(x=3), TypeError, "only supports Tensor or a tuple/list of Tensor"),
        (lambda: ms.enable_dynamic(x=Tensor([1.0])), TypeError, "at least have one None"),
        (lambda: ms.enable_dynamic(y=wide)(lambda x: x), ValueError, "'y' is not in list"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_recordings_are_let_go():
    from millrace._src.runtime.graph.replay import capture_cache_of

    twice = ms.jit(lambda x: x * 2)
    twice(Tensor([1.0]))
    assert capture_cache_of(twice).entries
    ms.ms_memory_recycle()
    assert not capture_cache_of(twice).entries
    assert twice(Tensor([1.0])).tolist() == [2.0]
