"""PyTorch's private names: the table of them is right, and every fall-back gives what the private name gives."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch

from millrace._src.core.errors import OperationError
from millrace._src.core.torch_versions import OLDEST
from millrace._src.runtime.tensor.backend import torch_private as private

FILE = Path(private.__file__)


def resolved(name: str) -> Any:
    module, _, last = name.rpartition(".")
    if module.startswith("torch.distributed."):
        return getattr(importlib.import_module(module), last)
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", private.LOWEST)
def test_a_release_of_the_tested_range_has_every_name(name: str) -> None:
    lowest = [int(part) for part in private.LOWEST[name].split(".")]
    assert lowest <= [int(part) for part in OLDEST.split(".")]
    assert resolved(name) is not None


def test_the_table_has_every_private_name_of_the_file() -> None:
    tree = ast.parse(FILE.read_text())
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    used |= {
        call.args[1].value
        for call in calls
        if ast.unparse(call.func) in ("getattr", "hasattr") and isinstance(call.args[1], ast.Constant)
    }
    known = {part for name in private.LOWEST for part in name.split(".")}
    private_names = {name for name in used if re.match(r"_[a-zA-Z]", name)}
    assert len(private_names) > 5
    assert private_names <= known


class Public:
    """A module without its private names, and so for the modules in it."""

    def __init__(self, module: Any, hidden: set[str]) -> None:
        self._module, self._hidden = module, hidden

    def __getattr__(self, name: str) -> Any:
        if name in self._hidden or (name.startswith("_") and name not in ("__version__", "_C")):
            raise AttributeError(name)
        value = getattr(self._module, name)
        return Public(value, self._hidden) if isinstance(value, types.ModuleType) or name == "aten" else value


@pytest.fixture
def fallbacks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The file as it is with a PyTorch that has none of the private names."""
    hidden = {"TensorBase", "_python_dispatch"}
    monkeypatch.setitem(sys.modules, "torch", Public(torch, hidden))
    monkeypatch.setitem(sys.modules, "torch.utils._python_dispatch", None)
    spec = importlib.util.spec_from_file_location("millrace_private_without", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


X = torch.linspace(0.5, 2.0, 6).reshape(2, 3)


def test_functions_and_methods(fallbacks: Any) -> None:
    assert fallbacks.torch_nn_functions is None
    assert fallbacks.torch_functions.add(X, X).equal(private.torch_functions.add(X, X))
    assert fallbacks.torch_methods.view(X, 3, 2).equal(private.torch_methods.view(X, 3, 2))
    assert fallbacks.kernel_of(torch.add) is torch.add
    with fallbacks.below_autograd():
        assert not torch.ones(2, requires_grad=True).mul(2).requires_grad


def test_gradients(fallbacks: Any) -> None:
    x = X.clone().requires_grad_()
    y = torch.ones(2, requires_grad=True)
    ours, theirs = (
        module.run_backward(((x * x).sum(),), (x, y), (torch.tensor(1.0),), False)
        for module in (private, fallbacks)
    )
    assert ours[0].equal(theirs[0])
    assert ours[1] is theirs[1] is None


def test_lists_of_tensors(fallbacks: Any) -> None:
    for module in (private, fallbacks):
        assert [t.tolist() for t in module.foreach.add([X[0], X[1]], [X[1], X[0]])] == [
            (X[0] + X[1]).tolist()
        ] * 2
        values = [X[0].clone(), X[1].clone()]
        module.foreach.mul_(values, 0.5)
        assert values[0].equal(X[0] * 0.5)


def test_losses_of_sequences(fallbacks: Any) -> None:
    logs = torch.log_softmax(torch.arange(24.0).reshape(4, 2, 3).sin(), -1)
    given = (logs, torch.tensor([[1, 2], [1, 1]]), torch.tensor([4, 4]), torch.tensor([2, 2]), 0, False)
    assert torch.allclose(private.ctc_forward(*given)[0], fallbacks.ctc_forward(*given)[0])


def test_random_numbers_of_gamma_distributions(fallbacks: Any) -> None:
    sampled = fallbacks.sample_standard_gamma(torch.full((1000,), 3.0), None)
    assert 2.5 < float(sampled.mean()) < 3.5


def test_a_mode_is_refused_with_the_reason(fallbacks: Any) -> None:
    with (
        pytest.raises(OperationError, match="expected a PyTorch with TorchDispatchMode"),
        fallbacks.DispatchMode(),
    ):
        pass


def test_writes_and_views(fallbacks: Any) -> None:
    class Bare:
        """A tensor without private names."""

        def __init__(self, tensor: torch.Tensor) -> None:
            for name in ("untyped_storage", "numel", "element_size"):
                setattr(self, name, getattr(tensor, name))

    written = X.clone()
    before = private.tensor_version(written)
    assert before == private.tensor_version(written)
    written.add_(1)
    assert before != private.tensor_version(written)
    bare = Bare(written)
    assert fallbacks.tensor_version(bare) != fallbacks.tensor_version(bare)
    for tensor, wanted in ((X.clone(), False), (X.clone()[0], True)):
        assert private.is_view(tensor) is wanted
        assert fallbacks.is_view(Bare(tensor)) is wanted


def test_the_gpu_after_a_fork(fallbacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fallbacks.is_in_bad_fork() is False
    before = torch.cuda._lazy_init
    fallbacks.block_cuda_init(lambda: None)  # has nothing to replace
    assert torch.cuda._lazy_init is before
    assert issubclass(fallbacks.out_of_memory, (RuntimeError, MemoryError))


class Bare:
    """An operator without its schema."""

    def __init__(self, func: Any) -> None:
        self.name = func.name


@pytest.mark.parametrize(
    "func",
    [
        torch.ops.aten.add.Tensor,
        torch.ops.aten.add_.Tensor,
        torch.ops.aten.relu.default,
        torch.ops.aten.add.out,
    ],
    ids=str,
)
def test_operators_are_described_by_their_names(func: Any) -> None:
    known, bare = private.describe_operator(func), private.describe_operator(Bare(func))
    assert known[:3] == bare[:3]
    assert known.arguments is not None
    assert any(writes for _, writes in known.arguments) == known.is_mutable
    assert bare.arguments is None
