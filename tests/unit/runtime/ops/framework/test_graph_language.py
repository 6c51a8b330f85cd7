"""Names that scripts take from the edges of MindSpore's language: operations of one's own, descriptions, dumps,
rings."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Parameter, Tensor, float32, grad, int32, ops  # noqa: E402


class Scale(ops.PrimitiveWithInfer):
    @ops.prim_attr_register
    def __init__(self, factor, shift=1.0):
        self.init_prim_io_names(["x"], ["y"])

    def infer_shape(self, x):
        return x

    def __call__(self, x):
        return x * self.factor + self.shift


def test_an_operation_of_ones_own_keeps_its_arguments_as_attributes():
    scale = Scale(3.0)
    assert (scale.name, scale.factor, scale.init_attrs) == ("Scale", 3.0, {"factor": 3.0, "shift": 1.0})
    assert scale.attrs["input_names"] == ["x"]
    assert scale(Tensor([2.0])).asnumpy().tolist() == [7.0]
    assert grad(scale)(Tensor([2.0])).asnumpy().tolist() == [3.0]


def test_a_primitive_with_checks_runs_them():
    seen = []

    class Checked(ops.PrimitiveWithCheck):
        @ops.prim_arg_register
        def __init__(self):
            pass

        def check_shape(self, x):
            seen.append(x)

        def __call__(self, x):
            self.check(x)
            return x

    Checked()(Tensor([1.0, 2.0]))
    assert seen == [[2]]


def test_descriptions_of_kernels_read_as_mindspores():
    kinds = ops.DataType.F32_Default
    info = ops.CpuRegOp("Foo").input(0, "x", "required").output(0, "y", "required").dtype_format(kinds, kinds)
    assert info.get_op_info() == {
        "op_name": "Foo",
        "inputs": [{"index": 0, "name": "x", "paramType": "required"}],
        "outputs": [{"index": 0, "name": "y", "paramType": "required"}],
        "attr": [],
        "fusion_type": "",
        "dtype_format": [(("float32", "DefaultFormat"), ("float32", "DefaultFormat"))],
        "imply_type": "CPU",
    }
    custom = ops.CustomRegOp("Foo").input(0, "x").attr("a", "required", "int").target("CPU").get_op_info()
    assert custom["attr"] == [{"name": "a", "paramType": "required", "type": "int"}]
    assert custom["target"] == "CPU"
    with pytest.raises(TypeError, match="'name' must be of type str"):
        ops.CpuRegOp("Foo").input(0, 3)
    with pytest.raises(ValueError, match="a type for each of 1"):
        ops.CpuRegOp("Foo").input(0, "x").dtype_format(kinds, kinds)


def test_a_dump_is_a_file_of_numpy_with_its_type_in_the_name(tmp_path):
    ops.tensordump(str(tmp_path / "x.npy"), Tensor([1.0, 2.0]))
    ops.TensorDump()(str(tmp_path / "y"), Tensor([1], int32))
    names = sorted(path.name.rpartition("_")[0] for path in tmp_path.iterdir())
    assert names == ["x_float32", "y_int32"]
    assert np.load(next(tmp_path.glob("x_*"))).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="mode"):
        ops.tensordump("x", Tensor([1.0]), "up")


def test_a_ring_of_experience_forgets_the_oldest():
    kinds = ([(2,), (1,)], [float32, int32])
    ring = [Parameter(Tensor(np.zeros((4, 2), np.float32))), Parameter(Tensor(np.zeros((4, 1), np.int32)))]
    count, head = Parameter(Tensor([0], int32)), Parameter(Tensor([0], int32))
    append, get = ops.BufferAppend(4, *kinds), ops.BufferGetItem(4, *kinds)
    for k in range(1, 7):
        append(ring, [Tensor([float(k), float(k)]), Tensor([k], int32)], count, head)
    assert ring[1].asnumpy().ravel().tolist() == [5, 6, 3, 4]
    assert (count.asnumpy().tolist(), head.asnumpy().tolist()) == ([4], [2])
    assert [get(ring, count, head, k)[1].asnumpy().tolist() for k in (0, 1, -1, 3)] == [[3], [4], [6], [6]]
    append(ring, [Tensor([[7.0, 7.0], [8.0, 8.0]]), Tensor([[7], [8]], int32)], count, head)
    assert ring[1].asnumpy().ravel().tolist() == [5, 6, 7, 8]
    drawn = ops.BufferSample(4, 4, *kinds, seed=3, unique=True)(ring, count, head)
    assert sorted(drawn[1].asnumpy().ravel().tolist()) == [5, 6, 7, 8]
    with pytest.raises(ValueError, match="must be in"):
        get(ring, count, head, 9)  # MindSpore gives whatever lies behind the memory


def test_small_helpers_of_graphs():
    assert ops.tail((1, 2, 3)) == (2, 3)
    assert ops.zip_operation((1, 2), (3, 4)) == ((1, 3), (2, 4))
    assert (ops.ms_hasnext((1,)), ops.ms_next((1, 2, 3))) == (True, (1, (2, 3)))
    assert ops.reduced_shape((2, 3, 4), 1) == (2, 1, 4)
    assert ops.broadcast_gradient_args((2, 1, 3), (4, 3)) == ((1,), (0,))
    assert ops.augassign_div(7, 2) == 3.5
    assert ops.augassign_floordiv(7, 2) == 3
    assert ops.augassign_add(Tensor([1.0]), Tensor([2.0])).asnumpy().tolist() == [3.0]
    assert ops._ones_like_for_grad(Tensor([3.0])).asnumpy().tolist() == [1.0]
    rows = ops.make_row_tensor_inner(Tensor([1], int32), Tensor([[1.0, 2.0]]), (2, 2))
    assert ops.row_tensor_get_dense_shape(rows) == (2, 2)
    assert ops.row_tensor_get_indices(rows).asnumpy().tolist() == [1]


def test_stop_gradient_in_place_cuts_what_follows():
    def function(x):
        y = x * 2
        ops.stop_gradient_(y)
        return (x * y).sum()

    assert grad(function)(Tensor([3.0])).asnumpy().tolist() == [6.0]
