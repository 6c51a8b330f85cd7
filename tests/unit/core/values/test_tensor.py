"""Element types and the tensor."""

import copy
import pickle

import numpy as np
import pytest

import millrace.common.dtype as mstype
from millrace._src.core.values.dtype import from_numpy, np_dtype
from millrace.common import Tensor, dtype


def test_the_faces_are_one_thing():
    from millrace.common.tensor import Tensor as again

    assert again is Tensor
    assert dtype.int32 is mstype.int32


@pytest.mark.parametrize(
    "name", [name for name in mstype.__all__ if isinstance(getattr(mstype, name), mstype.Type)]
)
def test_types_are_single_objects(name):
    kind = getattr(mstype, name)
    assert pickle.loads(pickle.dumps(kind)) is kind
    assert copy.deepcopy(kind) is kind
    assert {kind: 1}[kind] == 1
    assert kind != name
    assert repr(kind).startswith("millrace.")


def test_type_names_as_mindspore_prints_them():
    shown = [
        str(kind) for kind in (mstype.int8, mstype.bool_, mstype.float32, mstype.bfloat16, mstype.string)
    ]
    assert shown == ["Int8", "Bool", "Float32", "BFloat16", "String"]
    assert repr(mstype.uint16) == "millrace.uint16"
    assert (mstype.half, mstype.long, mstype.bool) == (mstype.float16, mstype.int64, mstype.bool_)


@pytest.mark.parametrize("name", ["bool_", "int8", "int64", "uint8", "float16", "float64", "complex64"])
def test_numpy_and_back(name):
    kind = getattr(mstype, name)
    assert mstype.dtype_to_nptype(kind) is getattr(np, name)
    assert mstype.pytype_to_dtype(getattr(np, name)) is kind
    assert from_numpy(np.dtype(getattr(np, name))) is kind
    assert np_dtype(kind) == np_dtype(kind.name)


def test_python_types():
    kinds = [mstype.pytype_to_dtype(kind) for kind in (int, float, bool, str, list, type(None))]
    assert kinds == [
        mstype.int64,
        mstype.float64,
        mstype.bool_,
        mstype.string,
        mstype.list_,
        mstype.type_none,
    ]
    assert mstype.dtype_to_pytype(mstype.bfloat16) is float
    with pytest.raises(NotImplementedError, match="cannot be converted"):
        mstype.pytype_to_dtype(object)
    with pytest.raises(TypeError, match="must be a python type object"):
        mstype.pytype_to_dtype("x")
    assert from_numpy(">i4") is mstype.int32


# repr as MindSpore 2.7.0 writes it
REPRS = [
    (
        np.arange(6, dtype="f4").reshape(2, 3),
        ("Tensor(shape=[2, 3], dtype=Float32, value=\n"
        "[[ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00],\n"
        " [ 3.00000000e+00,  4.00000000e+00,  5.00000000e+00]])"),
    ),
    (3, "Tensor(shape=[], dtype=Int64, value= 3)"),
    (2.5, "Tensor(shape=[], dtype=Float32, value= 2.5)"),
    (np.float64(3.5), "Tensor(shape=[], dtype=Float64, value= 3.5)"),
    ((1.5, 2), "Tensor(shape=[2], dtype=Float32, value= [ 1.50000000e+00,  2.00000000e+00])"),
    ([-1.5, 2], "Tensor(shape=[2], dtype=Float32, value= [-1.50000000e+00,  2.00000000e+00])"),
    (True, "Tensor(shape=[], dtype=Bool, value= True)"),
    (np.array(["a", "b"]), "Tensor(shape=[2], dtype=String, value= ['a', 'b'])"),
    (np.array("text"), "Tensor(shape=[], dtype=String, value= 'text')"),
    (np.arange(5000), "Tensor(shape=[5000], dtype=Int64, value= [   0,    1,    2 ... 4997, 4998, 4999])"),
    (np.zeros((0, 3)), "Tensor(shape=[0, 3], dtype=Float64, value=\n)"),
    ([[True]], "Tensor(shape=[1, 1], dtype=Bool, value=\n[[ True]])"),
    (
        np.arange(12).reshape(2, 2, 3),
        ("Tensor(shape=[2, 2, 3], dtype=Int64, value=\n"
        "[[[ 0,  1,  2],\n  [ 3,  4,  5]],\n [[ 6,  7,  8],\n  [ 9, 10, 11]]])"),
    ),
    (3 + 1j, "Tensor(shape=[], dtype=Complex128, value= 3+1j)"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), REPRS)
def test_repr(value, text):
    assert repr(Tensor(value)) == text
    assert str(Tensor(value)) == str(Tensor(value).asnumpy())


def test_no_copy_is_made():
    array = np.arange(4)
    tensor = Tensor(array)
    assert tensor.asnumpy() is array
    assert np.asarray(tensor) is array
    assert np.array(tensor, copy=True) is not array
    assert np.shares_memory(np.from_dlpack(tensor), array)
    assert np.shares_memory(Tensor.from_dlpack(array).asnumpy(), array)
    assert np.shares_memory(tensor[1:].asnumpy(), array)
    assert tensor.__dlpack_device__() == (1, 0)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # before, copy=False only meant "if it can be"
        with pytest.raises(ValueError, match="without a copy"):
            np.array(tensor, dtype="f4", copy=False)
    with pytest.raises(BufferError):
        np.from_dlpack(Tensor("text"))


def test_shape_and_size():
    tensor = Tensor(np.zeros((2, 3), np.int16))
    assert (tensor.shape, tensor.ndim, tensor.size, tensor.itemsize, tensor.nbytes) == ((2, 3), 2, 6, 2, 12)
    assert (len(tensor), tensor.T.shape, tensor.reshape(3, 2).shape) == (2, (3, 2), (3, 2))
    assert tensor.strides == (6, 2)


T = Tensor([1, 2, 3])


@pytest.mark.parametrize(
    ("result", "kind", "values"),
    [
        (lambda: T + 1, "Int64", [2, 3, 4]),
        (lambda: 1 - T, "Int64", [0, -1, -2]),
        (lambda: T / 2, "Float32", [0.5, 1.0, 1.5]),
        (lambda: 2 / Tensor([4]), "Float32", [0.5]),
        (lambda: Tensor([1, -2]) // 2, "Int64", [0, -1]),
        (lambda: Tensor([-7, 7]) % 3, "Int64", [2, 1]),
        (lambda: T**2, "Int64", [1, 4, 9]),
        (lambda: 2 ** Tensor([1, 2]), "Int64", [2, 4]),
        (lambda: T == 2, "Bool", [False, True, False]),
        (lambda: T != 2, "Bool", [True, False, True]),
        (lambda: T < 1.5, "Bool", [True, False, False]),
        (lambda: ~(T == 2), "Bool", [True, False, True]),
        (lambda: (T > 1) & (T < 3), "Bool", [False, True, False]),
        (lambda: -T, "Int64", [-1, -2, -3]),
        (lambda: abs(-T), "Int64", [1, 2, 3]),
        (lambda: T @ T, "Int64", 14),
        (lambda: T - True, "Int64", [0, 1, 2]),
        (lambda: Tensor([1.5]) + T, "Float32", [2.5, 3.5, 4.5]),
        (lambda: T + Tensor([1.5], mstype.float64), "Float64", [2.5, 3.5, 4.5]),
        (lambda: T / Tensor([2.0], mstype.float16), "Float16", [0.5, 1.0, 1.5]),
        (lambda: Tensor([1, 2], mstype.int32) * 2.5, "Float32", [2.5, 5.0]),
        (lambda: Tensor([1, 2], mstype.int32) + Tensor([1], mstype.uint8), "Int32", [2, 3]),
        (lambda: Tensor([1.5], mstype.float16) + Tensor([1], mstype.float32), "Float32", [2.5]),
        (lambda: Tensor(np.uint8(3)) + 300, "UInt8", 47),
        (lambda: Tensor(np.uint8(3)) + 1.5, "Float32", 4.5),
        (lambda: Tensor(True) + 1, "Int64", 2),
        (lambda: np.array([1.5, 2, 3]) + T, "Float64", [2.5, 4.0, 6.0]),
        (lambda: T[T > 1], "Int64", [2, 3]),
        (lambda: T[None], "Int64", [[1, 2, 3]]),
        (lambda: Tensor([T, T])[:, 0], "Int64", [1, 1]),
        (lambda: Tensor([1.7], mstype.int8), "Int8", [1]),
        (lambda: T.astype(mstype.float16), "Float16", [1.0, 2.0, 3.0]),
        (lambda: Tensor(["a", "b"]) == "a", "Bool", [True, False]),
        (lambda: Tensor(["a", "b"]) != Tensor(["a", "c"]), "Bool", [False, True]),
    ],
)
def test_arithmetic_as_mindspore_does_it(result, kind, values):
    tensor = result()
    assert (str(tensor.dtype), tensor.tolist()) == (kind, values)


def test_equality_with_what_is_no_tensor():
    assert (T == None) is False  # noqa: E711
    assert (T == [1, 2, 3]) is False
    assert (T == "a") is False
    assert (T != "a") is True
    assert hash(T) == hash(T)


def test_scalars_and_errors():
    assert (int(T[1]), float(T[1]), bool(T[1]), T[1].item(), [10, 20, 30][T[1]]) == (2, 2.0, True, 2, 30)
    with pytest.raises(ValueError, match="only one element, but got 3"):
        T.item()
    with pytest.raises(ValueError, match="Only one element"):
        int(T)
    with pytest.raises(TypeError, match="0-D"):
        len(T[0])
    with pytest.raises(IndexError):
        T[5]
    for bad in (None, {}, object(), [[1], [2, 3]], np.array([None])):
        with pytest.raises(TypeError):
            Tensor(bad)
    with pytest.raises(TypeError, match="'dtype' should be one of"):
        Tensor([1], "x")
    with pytest.raises(TypeError, match=r"Expected a NumPy array\."):
        Tensor.from_numpy([1])
    with pytest.raises(TypeError):
        T + "x"


def test_item_assignment_and_copy():
    array = np.zeros(3, np.int32)
    tensor = Tensor(array)
    kept = tensor.copy()
    tensor[1:] = Tensor([7.9])
    assert (array.tolist(), kept.tolist()) == ([0, 7, 7], [0, 0, 0])


def test_bfloat16():
    tensor = Tensor([1.0, 1.00390625, 3.1415926, float("nan"), float("inf"), -0.0], mstype.bfloat16)
    assert tensor.dtype is mstype.bfloat16
    assert tensor.itemsize == 2
    numbers = tensor.astype(mstype.float32).tolist()
    assert numbers[:3] == [1.0, 1.0, 3.140625]  # rounded to even
    assert np.isnan(numbers[3])
    assert numbers[4:] == [float("inf"), -0.0]
    assert (tensor + 1).dtype is mstype.bfloat16
    assert (tensor + Tensor([1.0], mstype.float16)).dtype is mstype.float32
    assert pickle.loads(pickle.dumps(tensor)).dtype is mstype.bfloat16
    assert str(Tensor(1, mstype.bfloat16).asnumpy()) in ("1.0", "1")


@pytest.mark.parametrize("value", [[1, 2], "text", [b"a", b"bc"], 2.5, np.zeros((2, 0))])
def test_pickles(value):
    tensor = pickle.loads(pickle.dumps(Tensor(value)))
    assert tensor.tolist() == Tensor(value).tolist()
    assert tensor.dtype is Tensor(value).dtype


def test_numpy_functions_take_tensors():
    assert np.sqrt(Tensor([4.0])).tolist() == [2.0]
    assert np.stack([T, T]).shape == (2, 3)
