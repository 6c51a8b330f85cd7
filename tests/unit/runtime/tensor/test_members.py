"""Members of Tensor about its memory, and what Parameter keeps: answers and refusals as MindSpore 2.7.0 gave them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Parameter, Symbol, Tensor, bfloat16, bool_, float16, float32, int32, ops  # noqa: E402
from millrace.common.initializer import initializer  # noqa: E402

torch.set_num_threads(1)


def test_bytes_there_and_back():
    for kind, values in (
        (float32, [[1.5, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        (bfloat16, [1.5, 2.0]),
        (bool_, [True, False]),
        (int32, []),
    ):
        tensor = Tensor(np.array(values), kind)
        back = Tensor.convert_bytes_to_tensor(tensor.get_bytes(), tensor.shape, kind)
        assert (back.dtype, back.shape, back.tolist()) == (kind, tensor.shape, tensor.tolist())
    assert Tensor([1.0, 2.0]).get_bytes() == b"\x00\x00\x80?\x00\x00\x00@"
    assert Tensor([[1, 2], [3, 4]]).T.get_bytes() == Tensor([[1, 3], [2, 4]]).get_bytes()
    with pytest.raises(ValueError, match=r"shape \(2, 3\) of Float32 needs 24 bytes, but got 3"):
        Tensor.convert_bytes_to_tensor(b"abc", (2, 3), float32)


def test_storage_is_shared_by_views():
    tensor = Tensor(np.arange(6, dtype=np.float32)) + 0
    row = tensor[2:]
    storage = tensor.untyped_storage()
    assert row.data_ptr() == tensor.data_ptr() + 8
    assert row.untyped_storage().data_ptr() == storage.data_ptr() == tensor.data_ptr()
    assert (storage.nbytes(), storage.size(), len(storage), storage.device) == (24, 24, 24, "CPU")
    assert storage[7] == storage.tolist()[7] == 63
    other = Tensor(np.ones(6, np.float32)) + 0
    storage.copy_(other.storage())
    assert tensor.tolist() == [1.0] * 6


def test_value_dtype_and_assignment():
    tensor = Tensor(np.ones(2, np.float32)) + 0
    assert tensor.value().data_ptr() == tensor.data_ptr()
    assert tensor.set_dtype(float16) is float16
    assert (tensor.dtype, tensor.tolist()) == (float16, [1.0, 1.0])
    place = tensor.data_ptr()
    assert tensor.assign_value(Tensor([3.0, 4.0], float16)) is tensor
    assert tensor.data_ptr() == place
    tensor.assign_value(Tensor([5.0, 6.0, 7.0]))
    assert (tensor.tolist(), tensor.dtype) == ([5.0, 6.0, 7.0], float32)


def test_marks_of_a_tensor():
    tensor, lazy = Tensor([1.0]), initializer("ones", (2,), float32)
    assert (tensor.init, tensor.init_finished, tensor.init_flag, tensor.is_init()) == (
        None,
        True,
        False,
        False,
    )
    assert type(lazy.init).__name__ == "One"
    tensor.set_init_flag(True)
    assert tensor.is_init()
    assert (tensor.delta_seed, tensor.const_arg, tensor.param_info, tensor.symbolic_shape) == (
        0,
        False,
        None,
        None,
    )
    assert tensor.set_const_arg().const_arg
    with pytest.raises(TypeError, match="'const_arg' must be bool"):
        tensor.set_const_arg(3)
    assert (tensor.is_persistent_data(), tensor.offload_file_path(), tensor.offload()) == (False, "", True)
    nothing = (
        tensor.data_sync(True),
        tensor.wait_pipeline(),
        tensor.flush_from_cache(),
        tensor.slice_num_of_persistent_data(),
        tensor.slice_shape_of_persistent_data(),
    )
    assert nothing == (None,) * 5
    assert tensor.hooks() == []
    handle = tensor.register_hook(ops.relu)
    assert tensor.hooks() == [ops.relu]
    handle.remove()
    assert tensor.hooks() == []


def test_symbols():
    wide = Tensor(shape=[3, Symbol(max=10, divisor=2, remainder=1)], dtype=float32)
    assert (wide.shape, wide.symbolic_shape) == ((3, -1), [3, {"max": 10, "divisor": 2, "remainder": 1}])
    assert "id" in Symbol(unique=True).to_dict()
    assert str(Symbol()) == "{}"
    for given, error, text in (
        ({"max": "a"}, TypeError, "the argument 'max' must be int, but got <class 'str'>"),
        ({"divisor": 0}, ValueError, "the 'divisor' value should be positive, but got 0"),
        ({"remainder": -1}, ValueError, r"in the range '\[0, 1\)', but got -1"),
        ({"min": -1}, ValueError, "the 'min' value should be positive, but got -1"),
        ({"unique": 3}, TypeError, "the argument 'unique' must be bool"),
    ):
        with pytest.raises(error, match=text):
            Symbol(**given)


def test_marks_of_a_parameter():
    param = Parameter(Tensor([1.0, 2.0]), name="w")
    assert (param.cache_enable, param.cache_shape, param.comm_fusion, param.key) == (False, [], 1, -1)
    assert (param.layerwise_parallel, param.parallel_optimizer) == (False, True)
    assert param.parallel_optimizer_comm_recompute is False
    assert (param.sliced, param.unique, param.is_init, param.inited_param) == (False, False, False, None)
    assert (param.is_param_ps, param.init_in_server, param.requires_aggr) == (False, False, True)
    assert param.param_info.name == "w"
    param.comm_fusion, param.cache_shape, param.key = 3, (2, 3), 4
    copied = param.clone()
    assert (copied.comm_fusion, copied.cache_shape, copied.key) == (3, (2, 3), 4)
    param.add_pipeline_stage(1)
    param.set_param_fl(requires_aggr=False)
    assert param.requires_aggr is False


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        (
            "comm_fusion",
            -1,
            ValueError,
            "The input value must be int and must >= 0, but got '-1' with type 'int'.",
        ),
        ("comm_fusion", "a", TypeError, "The input value must be int, but got 'str'"),
        ("layerwise_parallel", 3, TypeError, "The argument `layerwise_parallel` must be bool type."),
        ("parallel_optimizer", 3, TypeError, "The argument `parallel_optimizer` must be bool type."),
        ("parallel_optimizer_comm_recompute", 3, TypeError, "The input value must be a bool, but got int."),
        ("cache_enable", 3, TypeError, "The argument `cache_enable` must be bool type."),
        ("cache_shape", 3, TypeError, "The argument `cache_shape` must be tuple or list type."),
        ("key", 3.0, TypeError, "The argument `key` must be int type."),
        ("name", 3, ValueError, "should be 'string' or 'None', but got <class 'int'>."),
        ("name", "x" * 1100, ValueError, "should be less than 1024, but got 1100."),
        ("requires_grad", 3, TypeError, "The argument `requires_grad` must be bool type"),
    ],
)
def test_what_a_parameter_refuses(name, value, error, text):
    param = Parameter(Tensor([1.0]), name="w")
    with pytest.raises(error) as caught:
        setattr(param, name, value)
    assert str(caught.value).endswith(text)
    assert param.name == "w"


def test_names_are_made_up_where_none_is_given():
    param = Parameter(Tensor([1.0]))
    for nothing in ("", None, "  "):
        param.name = nothing
        assert param.name.startswith("Parameter#")
    with pytest.raises(TypeError, match="layerwise_parallel"):
        Parameter(Tensor(1.0), layerwise_parallel=3)
    with pytest.raises(TypeError, match="positive number of int type"):
        param.add_pipeline_stage(-1)
    with pytest.raises(AttributeError):
        param.inited_param = 3
