"""The quick ways of a replay reach the operator that was recorded, with the same arguments."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from millrace._src.runtime.graph.capture import CapturedCall, GraphCapture, Slot
from millrace._src.runtime.graph.fast_dispatch import AS_FUNCTIONS, AS_METHODS, AS_NN, fastest_callable
from millrace._src.runtime.tensor.backend.torch_private import (
    torch_functions,
    torch_methods,
    torch_nn_functions,
)

aten = torch.ops.aten


def floats(*shape: int) -> torch.Tensor:
    return torch.linspace(0.1, 0.9, steps=torch.Size(shape).numel()).reshape(shape)


X, Y, M, V = floats(3, 4), floats(3, 4) + 1, floats(4, 4), floats(4)
P, Q = floats(2, 3, 8, 8), floats(4, 3, 3, 3)
TRUE = X > 0.5
LIST = [floats(2), floats(3, 2)]
LAST = [floats(2) + 1, floats(3, 2) + 1]
INDEX = torch.tensor([[0, 1], [2, 0]])

ONE = "abs ceil cos erf exp expm1 floor log log1p neg reciprocal relu rsqrt sigmoid sign sin sqrt tanh logical_not"
TWO = "maximum minimum logical_and logical_or"
COMPARE = "eq ne lt le gt ge"
CASES: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    *((getattr(aten, name).default, (X,), {}) for name in ONE.split()),
    *((getattr(aten, name).default, (X, Y), {}) for name in TWO.split()),
    *((getattr(aten, name).Tensor, (X, Y), {}) for name in COMPARE.split()),
    *((getattr(aten, name).Scalar, (X, 0.5), {}) for name in COMPARE.split()),
    *((getattr(aten, name).Tensor, (X, Y), {}) for name in ("add", "sub", "mul", "div", "rsub")),
    (aten.add.Tensor, (X, Y), {"alpha": -0.5}),
    (aten.sub.Tensor, (X, Y), {"alpha": 2}),
    (aten.div.Tensor_mode, (X, Y), {"rounding_mode": "floor"}),
    (aten.rsub.Scalar, (X, 1.0), {}),
    (aten.pow.Tensor_Scalar, (X, 2), {}),
    (aten.pow.Tensor_Tensor, (X, Y), {}),
    (aten.pow.Scalar, (2.0, X), {}),
    (aten.addcdiv.default, (X, X, Y), {"value": 0.5}),
    (aten.addcmul.default, (X, X, Y), {"value": 0.5}),
    (aten.addmm.default, (V, X, M), {"beta": 1, "alpha": 2}),
    (aten.mm.default, (X, M), {}),
    (aten.bmm.default, (P[0], P[0]), {}),
    (aten.baddbmm.default, (P[0], P[0], P[0]), {"beta": 0, "alpha": 0.5}),
    (aten.amax.default, (X, [1], True), {}),
    (aten.amin.default, (X, [-1]), {}),
    (aten.cat.default, ([X, Y], 1), {}),
    (aten.stack.default, ([X, Y], 1), {}),
    (aten.clamp.default, (X, 0.2, 0.6), {}),
    (aten.clamp.Tensor, (X, X, Y), {}),
    (aten.clone.default, (X,), {"memory_format": torch.contiguous_format}),
    (aten.convolution.default, (P, Q, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1), {}),
    (aten.embedding.default, (M, INDEX), {}),
    (aten.embedding.default, (M, INDEX, 0, False, False), {}),
    (aten.gather.default, (X, 1, INDEX), {}),
    (aten.lerp.Scalar, (X, Y, 0.25), {}),
    (aten.lerp.Tensor, (X, Y, X), {}),
    (aten.masked_fill.Scalar, (X, TRUE, -1.0), {}),
    (aten.masked_fill.Tensor, (X, TRUE, torch.tensor(2.0)), {}),
    (aten.mean.default, (X,), {}),
    (aten.mean.dim, (X, [0], True), {}),
    (aten.sum.default, (X,), {}),
    (aten.sum.dim_IntList, (X, [0], True), {}),
    (aten.sum.dim_IntList, (X, [0, 1]), {"dtype": torch.float64}),
    (aten.native_batch_norm.default, (P, None, None, floats(3), floats(3), True, 0.1, 1e-5), {}),
    (aten._native_batch_norm_legit.default, (P, None, None, floats(3), floats(3), True, 0.1, 1e-5), {}),
    (aten._native_batch_norm_legit.no_stats, (P, None, None, True, 0.1, 1e-5), {}),
    (aten.native_layer_norm.default, (X, [4], V, V, 1e-5), {}),
    (aten.ones_like.default, (X,), {"pin_memory": False, "memory_format": torch.preserve_format}),
    (aten.zeros_like.default, (X,), {"dtype": torch.float64, "pin_memory": False}),
    (aten.permute.default, (P, [0, 2, 3, 1]), {}),
    (aten.scatter_add.default, (X, 1, INDEX, Y), {}),
    (aten.select.int, (X, 0, 1), {}),
    (aten.squeeze.default, (X[:1],), {}),
    (aten.squeeze.dim, (X[:1], 0), {}),
    (aten.squeeze.dims, (X[:1], [0]), {}),
    (aten.t.default, (X,), {}),
    (aten.transpose.int, (X, 0, 1), {}),
    (aten.tril.default, (X, 1), {}),
    (aten.triu.default, (X,), {}),
    (aten.unsqueeze.default, (X, -1), {}),
    (aten.where.self, (TRUE, X, Y), {}),
    (aten._adaptive_avg_pool2d.default, (P, [2, 2]), {}),
    (aten._log_softmax.default, (X, 1, False), {}),
    (aten._log_softmax_backward_data.default, (X, Y, 1, torch.float32), {}),
    (aten._softmax.default, (X, 1, False), {}),
    (aten._softmax_backward_data.default, (X, Y, 1, torch.float32), {}),
    (aten._foreach_add.List, (LIST, LAST), {"alpha": 2}),
    (aten._foreach_add_.List, (LIST, LAST), {}),
    (aten._foreach_add_.Scalar, (LIST, 1.5), {}),
    (aten._foreach_sub.List, (LIST, LAST), {}),
    (aten._foreach_sub_.List, (LIST, LAST), {}),
    (aten._foreach_mul.Tensor, (LIST, torch.tensor(2.0)), {}),
    (aten._foreach_mul_.Scalar, (LIST, 0.9), {}),
    (aten._foreach_mul_.List, (LIST, LAST), {}),
    (aten._foreach_div.List, (LIST, LAST), {}),
    (aten._foreach_div_.Scalar, (LIST, 3.0), {}),
    (aten._foreach_sqrt.default, (LAST,), {}),
    (aten._foreach_lerp_.Scalar, (LIST, LAST, 0.1), {}),
    (aten._foreach_addcdiv_.Scalar, (LIST, LAST, LAST, -0.1), {}),
    (aten._foreach_addcmul_.Scalar, (LIST, LAST, LAST, 0.1), {}),
    (aten.avg_pool2d.default, (P, [2, 2], [2, 2], [0, 0], False, True, None), {}),
    (aten.gelu.default, (X,), {"approximate": "tanh"}),
    (aten.hardswish.default, (X,), {}),
    (aten.leaky_relu.default, (X, 0.1), {}),
    (aten.max_pool2d_with_indices.default, (P, [2, 2], [2, 2], [0, 0], [1, 1], False), {}),
    (aten.mse_loss.default, (X, Y, 1), {}),
    (aten.silu.default, (X,), {}),
    (aten.expand.default, (V, [3, 4]), {}),
    (aten.view.default, (X, [4, 3]), {}),
    (aten.view.default, (torch.tensor(1.0), []), {}),
    (aten.view.dtype, (X, torch.int32), {}),
    (aten.copy_.default, (X.clone(), Y), {}),
    (aten.add_.Tensor, (X.clone(), Y), {"alpha": -0.1}),
    (aten.mul_.Tensor, (X.clone(), Y), {}),
    (aten.addcmul_.default, (X.clone(), X, Y), {"value": -1}),
    (aten.zero_.default, (X.clone(),), {}),
    (aten.fill_.Scalar, (X.clone(), 2.0), {}),
    (aten.masked_fill_.Scalar, (X.clone(), TRUE, 0.0), {}),
    (aten.lerp_.Scalar, (X.clone(), Y, 0.5), {}),
]  # fmt: skip
# Composites of others, and what needs a long list of weights: seen in the nets of tests/unit/runtime/graph.
NOT_HERE = {"matmul", "mkldnn_rnn_layer"}


class Seen(TorchDispatchMode):
    """The calls that reach the dispatcher."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((func, args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def full(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments by name, with the operator's defaults for those that were left out."""
    declared = func._schema.arguments
    given = {a.name: a.default_value for a in declared if a.has_default_value()}
    given |= {a.name: value for a, value in zip(declared, args, strict=False)} | kwargs
    shown = {}
    for name, value in given.items():
        value = tuple(value) if isinstance(value, list) else value
        several = value if isinstance(value, tuple) else (value,)
        shown[name] = tuple(id(v) if isinstance(v, torch.Tensor) else v for v in several)
    return shown


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0]))
def test_the_quick_way_dispatches_what_was_recorded(case: Any) -> None:
    func, args, kwargs = case
    call = CapturedCall(func, (Slot("in", 0), *args[1:]), kwargs, (), "one", "")
    found, spread = fastest_callable(call)
    if spread:
        args = (args[0], *args[1])
    with Seen() as seen:
        found(*args, **kwargs)
    calls = [each for each in seen.calls if each[0] is not aten.detach.default]
    assert len(calls) == 1
    got, got_args, got_kwargs = calls[0]
    assert got is func
    assert full(got, got_args, got_kwargs) == full(func, case[1], kwargs)


def test_every_quick_way_is_tried() -> None:
    tried = {func._schema.name.partition("::")[2] for func, _, _ in CASES}
    assert (AS_FUNCTIONS | AS_NN | AS_METHODS) - tried == NOT_HERE


def test_every_quick_way_exists() -> None:
    assert all(hasattr(torch_functions, name) for name in AS_FUNCTIONS)
    assert all(hasattr(torch_nn_functions, name) for name in AS_NN)
    assert all(hasattr(torch_methods, name) for name in AS_METHODS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("number", [0.1, -3, 1e-40, 1e300, float("nan"), float("-inf"), 0, 2**40 + 1, -0.0])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_a_number_held_as_a_tensor_gives_the_same_bits(name: str, number: float, dtype: torch.dtype) -> None:
    operator = getattr(aten, name)
    for left in (torch.linspace(-3, 3, 67, dtype=dtype), torch.tensor(1 / 3, dtype=dtype)):
        with GraphCapture([left]) as recorder:
            want = getattr(torch, name)(left, number)
            same = operator.Scalar(left, number)
        assert [call.func for call in recorder.calls] == [operator.Tensor, operator.Tensor]
        (held,) = recorder.external_tensors
        got = operator.Tensor(left, held)
        assert got.dtype == want.dtype
        for made in (want, same):
            assert (
                got.view(torch.uint8).equal(made.view(torch.uint8)) if got.dim() else repr(got) == repr(made)
            )


@pytest.mark.parametrize("left", [torch.arange(4), torch.ones(3, dtype=torch.float16), TRUE])
def test_numbers_stay_where_a_tensor_would_change_the_type(left: torch.Tensor) -> None:
    with GraphCapture([left]) as recorder:
        torch.mul(left, 0.5)
    assert recorder.calls[0].args[1] == 0.5
    assert not recorder.external_tensors
