"""What a Cell is told: shapes that change, settings of graphs, and what is kept for other hardware."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import (  # noqa: E402
    GRAPH_MODE,
    PYNATIVE_MODE,
    JitConfig,
    Parameter,
    Tensor,
    float16,
    float32,
    int32,
    manual_seed,
    nn,
    ops,
    set_context,
    set_ps_context,
    value_and_grad,
)
from millrace._src.runtime.graph.replay import capture_cache_of  # noqa: E402
from millrace._src.runtime.nn.cell_settings import MixedPrecisionType  # noqa: E402

torch.set_num_threads(1)
WIDE = Tensor(shape=[3, None], dtype=float32)


class Twice(nn.Cell):
    def construct(self, x, y=None):
        return x * 2


def ones(*shape, dtype=np.float32):
    return Tensor(np.ones(shape, dtype))


@pytest.fixture
def graph_mode():
    set_context(mode=GRAPH_MODE)
    yield
    set_context(mode=PYNATIVE_MODE)


# --- shapes that change ----------------------------------------------------------------------------------------


def test_a_tensor_of_unknown_lengths():
    assert (WIDE.shape, WIDE.dtype, WIDE.ndim, WIDE.size, WIDE.has_init) == ((3, -1), float32, 2, 0, False)
    assert repr(WIDE) == "Tensor(shape=[3, -1], dtype=Float32, value=\n)"
    for ask in (WIDE.asnumpy, lambda: WIDE + 1, lambda: ops.relu(WIDE)):
        with pytest.raises(ValueError, match=r"a tensor of shape \(3, -1\) has no values"):
            ask()
    assert Tensor(dtype=float32).shape == Tensor(shape=None, dtype=float32).shape == (-2,)
    with pytest.raises(ValueError, match="dtype must not be None"):
        Tensor(shape=[3, None])
    known = Tensor(shape=[3], dtype=float32)
    assert "<uninitialized>" in repr(known)
    assert known.asnumpy().tolist() == [0.0, 0.0, 0.0]


def test_calls_are_checked_in_graph_mode(graph_mode):
    net = Twice()
    net.set_inputs(WIDE)
    assert net.get_inputs() == (WIDE,)
    assert [net(ones(3, n)).shape for n in (4, 7, 4)] == [(3, 4), (3, 7), (3, 4)]
    assert (capture_cache_of(net).recorded, capture_cache_of(net).replayed) == (2, 1)
    for args, error, text in (
        (
            (ones(2, 7),),
            ValueError,
            "the shape of 1th input must be the same as expected, but got expected: 3, ",
        ),
        ((ones(3, 7, 1),), ValueError, "the dims of 1th input must be the same as expected"),
        (
            (ones(3, 7, dtype=np.float16),),
            TypeError,
            "the 1th type should be Tensor[Float32], but got Tensor[Float16]",
        ),
        (
            (ones(3, 7), Tensor(1)),
            ValueError,
            "the length of input must be equal to expected one, but got expected: 1",
        ),
        (((ones(3, 7),),), TypeError, "the 1th type should be Tensor[Float32], but got tuple"),
    ):
        with pytest.raises(error) as caught:
            net(*args)
        assert text in str(caught.value)
    named = Twice()
    named.set_inputs(x=WIDE)
    assert named.get_inputs() == {"arg_specified_infos": [[0, WIDE]], "total_arg_length": 2}
    assert named(ones(3, 7), Tensor(1)).shape == (3, 7)
    pairs = Twice()
    pairs.set_inputs((WIDE, WIDE), 3)
    with pytest.raises(TypeError, match="1th input must be a tuple or list of 2"):
        pairs(ones(3, 7), 3)


def test_pynative_keeps_and_does_not_check():
    net = Twice()
    assert net.get_inputs() is None
    net.set_inputs(WIDE)
    assert net(ones(2, 7)).shape == (2, 7)


def test_what_set_inputs_refuses(graph_mode):
    net = Twice()
    with pytest.raises(ValueError, match=r"valid key is \['x', 'y'\], but got z!"):
        net.set_inputs(z=WIDE)
    with pytest.raises(ValueError, match="should only set inputs or kwargs"):
        net.set_inputs(WIDE, x=WIDE)
    with pytest.raises(
        TypeError, match="requires 1 positional argument and 1 default argument, total 2, but got 3"
    ):
        net.set_inputs(WIDE, WIDE, WIDE)


def test_many_shapes_are_no_surprise_after_set_inputs(graph_mode, monkeypatch):
    monkeypatch.setattr("millrace._src.runtime.graph.replay.MAX_CAPTURES", 2)
    told, silent = Twice(), Twice()
    told.set_inputs(WIDE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [told(ones(3, n)).shape[1] for n in range(1, 6)] == [1, 2, 3, 4, 5]
    assert (capture_cache_of(told).recorded, capture_cache_of(told).eager_calls) == (2, 3)
    silent(ones(3, 1)), silent(ones(3, 2))
    with pytest.warns(UserWarning, match="more than 2 combinations of shapes"):
        silent(ones(3, 3))


# --- graphs --------------------------------------------------------------------------------------------------


def test_compile_records_and_leaves_nothing_behind(graph_mode):
    manual_seed(3)
    net = nn.SequentialCell(nn.Dense(3, 3), nn.BatchNorm1d(3), nn.Dropout(p=0.5)).set_train()
    before = {name: value.asnumpy().copy() for name, value in net.state_dict().items()}
    manual_seed(5)
    wanted = ops.rand(2).tolist()
    manual_seed(5)
    net.compile(ones(4, 3))
    assert net.compiled
    assert len(net.compile_cache) == 1
    assert ops.rand(2).tolist() == wanted
    for name, value in net.state_dict().items():
        assert np.array_equal(value.asnumpy(), before[name]), name
    net(ones(4, 3))
    assert capture_cache_of(net).replayed == 1
    assert not np.array_equal(net[1].moving_mean.asnumpy(), before["1.moving_mean"])


def test_compile_and_run_in_pynative_mode():
    net = Twice()
    assert not net.compiled
    assert net.compile_and_run(ones(2)).tolist() == [2.0, 2.0]
    assert net.compiled
    assert capture_cache_of(net).recorded == 1
    assert net.run_construct((ones(2),), {}).tolist() == [2.0, 2.0]


def test_a_strict_cell(graph_mode):
    class Branches(nn.Cell):
        def construct(self, x):
            return x if x.sum() > 0 else -x

    with pytest.warns(UserWarning, match="Python reads"):
        Branches()(ones(2))
    net = Branches()
    assert net.jit_config_dict == {}
    net.set_jit_config(JitConfig(jit_syntax_level="STRICT"))
    assert net.jit_config_dict["jit_syntax_level"] == "STRICT"
    with pytest.raises(RuntimeError, match="Python reads"):
        net(ones(2))
    with pytest.raises(TypeError, match="must be a JitConfig, but got str"):
        net.set_jit_config("O1")


# --- numbers -------------------------------------------------------------------------------------------------


def test_precision():
    net = nn.SequentialCell(nn.Dense(2, 2))
    assert net.get_mixed_precision_type() is MixedPrecisionType.NOTSET
    net.to_float(float16)
    assert net[0].get_mixed_precision_type() is MixedPrecisionType.FP16
    assert net[0].fp16
    assert net[0].get_flags() == {"fp16": True, "fp32": False, "bf16": False}
    one = nn.Dense(2, 2)
    one.set_mixed_precision_type(MixedPrecisionType.FP16)
    assert one(ones(1, 2)).dtype is float16
    one.set_mixed_precision_type(MixedPrecisionType.NOTSET)
    assert one(ones(1, 2)).dtype is float32
    with pytest.raises(ValueError, match=r"must be mstype.float32, mstype.float16 or mstype.bfloat16"):
        net.to_float(int32)
    with pytest.raises(TypeError, match="takes a MixedPrecisionType"):
        net.set_mixed_precision_type(float16)
    halves = net.cast_inputs((Tensor(1.0), Tensor(1), [Tensor(2.0)]), float16)
    assert (halves[0].dtype, halves[2][0].dtype) == (float16, float16)
    assert halves[1].dtype is not float16


class Mixed(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]))
        self.d = nn.Dense(2, 2)

    def construct(self, x):
        scaled = x * self.w
        return ops.matmul(scaled, self.d.weight), self.d(x), scaled @ self.d.weight


@pytest.mark.parametrize("mode", [PYNATIVE_MODE, GRAPH_MODE], ids=["pynative", "graph"])
def test_a_cell_computes_in_its_type_and_its_parameters_keep_theirs(mode):
    set_context(mode=mode)
    try:
        net, x = Mixed().to_float(float16), ones(1, 2)
        for _ in range(2):
            assert [out.dtype for out in net(x)] == [float16] * 3
            assert (net.w.dtype, net.d.weight.dtype) == (float32, float32)
        _, grads = value_and_grad(lambda given: net(given)[0].sum(), None, net.trainable_params())(x)
        assert [each.dtype for each in grads] == [float32] * 3
        bn = nn.SequentialCell(nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2)).to_float(float16).set_train()
        assert bn(ones(2, 2, 4, 4)).dtype is float16
        assert bn[1].moving_mean.asnumpy().any()
        assert nn.LSTM(2, 2).to_float(float16)(ones(1, 2, 2))[0].dtype is float16
    finally:
        set_context(mode=PYNATIVE_MODE)
    with pytest.raises(TypeError, match="must have the same type"):
        nn.Dense(2, 2)(ones(1, 2, dtype=np.float16))


# --- what it is ----------------------------------------------------------------------------------------------


def test_scopes_and_other_names():
    net = nn.CellDict({"b": nn.SequentialCell(nn.Dense(2, 2))})
    assert net["b"].get_scope() is None
    net.generate_scope()
    assert [cell.get_scope() for _, cell in net.cells_and_names()] == [
        None,
        "Default/b-SequentialCell",
        "Default/b-SequentialCell/0-Dense",
    ]
    dense = nn.Dense(2, 3)
    assert dense.cls_name == "Dense"
    assert dense.create_time > 0
    assert dense.cell_init_args == "Dense[input_channels=2, output_channels=3, has_bias=True]"
    assert not dense.enable_backward_hook
    dense.register_backward_hook(lambda *_: None)
    assert dense.enable_backward_hook
    assert (dense.phase, dense.set_train(False).phase) == ("train", "predict")
    dense.update_cell_type("x")
    assert dense.cell_type == "x"

    class Own(nn.Cell):  # a net may use such names for things of its own
        def __init__(self):
            super().__init__()
            self.compiled, self.create_time, self.phase = 3, 4, "mine"

    own = Own()
    assert (own.compiled, own.create_time, own.phase) == (3, 4, "mine")


# --- kept for other hardware ---------------------------------------------------------------------------------


def test_what_is_kept_changes_no_result():
    net = nn.Dense(2, 2)
    before = net(ones(1, 2)).asnumpy()
    with pytest.raises(AttributeError, match="no attribute 'pipeline_stage'"):
        net.pipeline_stage  # noqa: B018
    net.pipeline_stage = 3
    net.pipeline_segment = 1
    net.parameter_layout_dict = {"weight": [1]}
    assert (net.pipeline_stage, net.pipeline_segment, net.parameter_layout_dict) == (3, 1, {"weight": [1]})
    assert [
        net.shard(((1, 1),)),
        net.place("MS_WORKER", 0),
        net.offload(),
        net.offload(2),
        net.flatten_weights(),
        net.set_data_parallel(),
        net.remove_redundant_parameters(),
    ] == [None] * 7
    assert net.set_comm_fusion(2).set_boost("less_bn").set_broadcast_flag() is net
    assert net.weight.comm_fusion == 2
    assert net.get_flags() == {"less_bn": True, "broadcast_flag": True}
    assert list(net.parameters_broadcast_dict()) == ["weight", "bias"]
    assert nn.ReLU().parameters_broadcast_dict() is None
    net.weight.layerwise_parallel = True
    assert list(net.parameters_broadcast_dict()) == ["bias"]
    assert np.array_equal(net(ones(1, 2)).asnumpy(), before)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda net: setattr(net, "pipeline_stage", -3),
            ValueError,
            "'pipeline_stage' can not be less than 0",
        ),
        (lambda net: setattr(net, "pipeline_stage", "a"), TypeError, "'pipeline_stage' must be int type"),
        (lambda net: net.set_comm_fusion(-1), ValueError, "must be int and must >= 0, but got '-1'"),
        (lambda net: net.set_comm_fusion("a"), TypeError, "The input value must be int, but got 'str'"),
        (lambda net: net.flatten_weights(-1), ValueError, "Negative 'fusion_size' -1 is invalid"),
        (lambda net: net.offload("x"), ValueError, "the 'backward_prefetch' must be str"),
        (lambda net: net.offload(True), TypeError, "but got 'True' with type 'bool'"),
        (lambda net: net.offload(-1), ValueError, "must >= 0"),
        (lambda net: net.place("CPU", 0), ValueError, "the 'role' must be str and must be in 'MS_WORKER'"),
        (lambda net: net.set_boost("level1"), ValueError, "must be 'less_bn', but got level1"),
        (lambda net: net.shard(3), TypeError, "'in_strategy' must be a tuple"),
        (lambda net: net.set_param_ps(), RuntimeError, "Must complete following two steps"),
        (lambda net: setattr(net, "parameter_layout_dict", 3), TypeError, "must be dict type"),
    ],
)
def test_what_is_refused(call, error, text):
    with pytest.raises(error) as caught:
        call(nn.Dense(2, 2))
    assert text in str(caught.value)


def test_parameter_servers_must_have_been_allowed(monkeypatch):
    from millrace import reset_ps_context

    monkeypatch.setenv("MS_ROLE", "MS_WORKER")
    try:
        set_ps_context(enable_ps=True)
        net = nn.Dense(2, 2)
        net.set_param_ps(init_in_server=True)
        assert (net.weight.is_param_ps, net.weight.init_in_server) == (True, True)
    finally:
        reset_ps_context()
