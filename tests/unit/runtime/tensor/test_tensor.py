"""Tensors that compute: storage, operators, indexing, protocols, as MindSpore has them."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import ops  # noqa: E402
from millrace._src.core.values import dtype as mstype  # noqa: E402
from millrace._src.core.values.tensor import Tensor  # noqa: E402
from millrace._src.runtime.tensor.initializer import Normal, initializer  # noqa: E402

torch.set_num_threads(1)


def x(dtype=np.float32):
    return Tensor(np.arange(6).reshape(2, 3).astype(dtype))


def test_a_batch_becomes_a_torch_tensor_without_a_copy():
    array = np.zeros((2, 3), np.float32)
    tensor = Tensor(array)
    tensor._torch[0, 0] = 5
    assert array[0, 0] == 5
    assert np.shares_memory(tensor.asnumpy(), array)


def test_what_torch_cannot_share_is_copied():
    backwards = Tensor(np.arange(3)[::-1])
    assert (backwards + 1).tolist() == [3, 2, 1]
    fixed = np.arange(3)
    fixed.flags.writeable = False
    assert (Tensor(fixed) + 1).tolist() == [1, 2, 3]
    assert (Tensor(np.arange(3, dtype=">i4")) + 1).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("made", "kind", "values"),
    [
        (lambda: Tensor([1, 2], mstype.int32) / 2, "Float32", [0.5, 1.0]),
        (lambda: Tensor([1, 2], mstype.float16) * 2.5, "Float16", [2.5, 5.0]),
        (lambda: 2.5 - Tensor([1, 2], mstype.float16), "Float16", [1.5, 0.5]),
        (lambda: Tensor([1], mstype.int8) + Tensor([1], mstype.uint8), "Int16", [2]),
        (lambda: Tensor([1], mstype.float16) + Tensor([1], mstype.bfloat16), "Float32", [2.0]),
        (lambda: Tensor([1], mstype.int64) + Tensor([1], mstype.float16), "Float16", [2.0]),
        (lambda: Tensor([True]) - Tensor([True]), "Bool", [False]),
        (lambda: ~Tensor([1, 0]), "Bool", [False, True]),
        (lambda: Tensor([5, -5]) % 3, "Int64", [2, 1]),
        (lambda: 2 ** Tensor([1, 2]), "Int64", [2, 4]),
        (lambda: Tensor([3], mstype.uint8) + 300, "UInt8", [47]),
        (lambda: Tensor([1.0]) + np.float32([1, 2, 3]), "Float32", [2.0, 3.0, 4.0]),
        (lambda: 1 / Tensor([3.0], mstype.float64), "Float64", [1 / 3]),
    ],
)
def test_operators_promote_as_mindspore_does(made, kind, values):
    result = made()
    assert (str(result.dtype), result.tolist()) == (kind, values)


def test_what_no_tensor_equals_is_just_different():
    assert (x() == None) is False  # noqa: E711
    assert (x() != None) is True  # noqa: E711
    assert (x() == "a") is False


def test_augmented_assignment_makes_a_new_tensor():
    first = second = Tensor([1, 2])
    second += 1.5
    assert first.tolist() == [1, 2]
    assert second.tolist() == [2.5, 3.5]


@pytest.mark.parametrize(
    "index",
    [
        0, -1, (0, 1), None, True, ..., (..., 0), slice(None, None, -1), (slice(None), slice(None, None, -2)), [0, 1],
        ([0, 1], [1, 2]), np.array([1, 0]), slice(5, 9), (slice(None), None), (None, slice(None, None, -1), 1),
    ],
    ids=str,
)  # fmt: skip
def test_indexing_is_numpys(index):
    assert np.array_equal(x()[index].asnumpy(), x().asnumpy()[index])


def test_indexing_by_tensors():
    assert x()[Tensor([1, 0])].tolist() == [[3, 4, 5], [0, 1, 2]]
    assert x()[x() > 3].tolist() == [4, 5]
    assert x()[slice(Tensor(0), Tensor(1))].tolist() == [[0, 1, 2]]
    assert x()[Tensor([1, 0], mstype.uint8)].tolist() == [[3, 4, 5], [0, 1, 2]]


@pytest.mark.parametrize("index", [5, (0, 0, 0), 0.5, "a", [], Tensor([1.5]), (..., ...)], ids=repr)
def test_a_bad_index_is_an_index_error(index):
    with pytest.raises(IndexError):
        x()[index]
    with pytest.raises(TypeError, match="scalar"):
        Tensor(1.0)[0]


@pytest.mark.parametrize(
    ("index", "value", "after"),
    [
        (0, 1.7, [[1, 1, 1], [3, 4, 5]]),
        (0, [1.5, 2, 3], [[1, 2, 3], [3, 4, 5]]),
        (([0, 1], [1, 2]), Tensor([7, 8]), [[0, 7, 2], [3, 4, 8]]),
        ((slice(None), [True, False, True]), 0, [[0, 1, 0], [0, 4, 0]]),
        (slice(None, None, -1), Tensor([[9, 9, 9], [8, 8, 8]]), [[8, 8, 8], [9, 9, 9]]),
    ],
)
def test_assignment(index, value, after):
    tensor = x(np.int64)
    tensor[index] = value
    assert tensor.tolist() == after


def test_assignment_refuses_text_and_wrong_shapes():
    with pytest.raises(TypeError):
        x()[0] = "a"
    with pytest.raises(ValueError, match="shape"):
        x()[0] = Tensor([1, 2])


def test_a_view_writes_through():
    tensor = x()
    row = tensor[0]
    row[0] = 100
    assert tensor[0, 0].item() == 100


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "complex64", "bool_", "uint16"])
def test_pickle_copy_and_print(kind):
    tensor = ops.abs(x()).astype(getattr(mstype, kind))
    for made in (pickle.loads(pickle.dumps(tensor)), copy.deepcopy(tensor), copy.copy(tensor)):
        assert made.dtype is tensor.dtype
        assert repr(made) == repr(tensor)
    assert b"torch" not in pickle.dumps(tensor)


def test_protocols():
    tensor = ops.abs(x())
    assert np.shares_memory(np.asarray(tensor), tensor.asnumpy())
    assert torch.from_dlpack(tensor).data_ptr() == tensor._torch.data_ptr()
    assert np.from_dlpack(tensor).tolist() == tensor.tolist()
    assert np.sqrt(tensor).shape == (2, 3)
    assert Tensor(torch.ones(2)).tolist() == [1, 1]
    assert (int(Tensor(2.7)), float(Tensor([2])), [1, 2, 3][Tensor(1)], 4 in x()) == (2, 2.0, 2, True)
    assert f"{Tensor(1.5):.2f}" == "1.50"


def test_errors_name_operation_values_line_and_help():
    with pytest.raises(ValueError, match="For 'add'") as caught:
        x() + Tensor([1.0, 2.0])
    text = str(caught.value)
    assert "Tensor(shape=[2, 3], dtype=Float32)" in text
    assert "test_tensor.py:" in text
    assert "what helps" in text
    assert caught.value.__cause__ is None


def test_lazy_initial_values():
    lazy = initializer(Normal(1.0), (2, 3))
    assert (lazy.shape, lazy.dtype, lazy.has_init) == ((2, 3), mstype.float32, True)
    assert "<uninitialized>" in repr(lazy)
    first = lazy.asnumpy().copy()
    assert not lazy.has_init
    assert np.array_equal((lazy * 1).asnumpy(), first)


def test_the_data_wing_computes_without_torch():
    code = (
        "import millrace, sys, numpy as np; t = millrace.Tensor(np.ones(3)); t + 1; t[0]; t == t; print(t, t.dtype);"
        "assert 'torch' not in sys.modules; t.abs(); assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
