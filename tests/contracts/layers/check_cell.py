"""``check_cell``: one call that says of a layer what must hold for all of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millrace import Tensor, set_seed, value_and_grad
from millrace.nn import Cell


def arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, Tensor):
        return [value.asnumpy()]
    return [a for part in value for a in arrays(part)] if isinstance(value, (tuple, list)) else []


def check_cell(
    make: Callable[[], Cell],
    *inputs: np.ndarray,
    parameters: dict[str, tuple[int, ...]] | None = None,
    output: Any = None,
    text: str | None = None,
    trains: bool = True,
    random: bool = False,
) -> Cell:
    """Build a layer and check: same seed, same weights; names and shapes of parameters; shape of the output; printing;
    pickling and copying; gradients of every trainable parameter in training mode; inputs left alone."""
    set_seed(5)
    cell = make()
    set_seed(5)
    again = make()
    assert isinstance(cell, Cell)
    for (name, a), (other, b) in zip(cell.parameters_and_names(), again.parameters_and_names(), strict=True):
        assert name == other
        assert np.array_equal(a.asnumpy(), b.asnumpy()), f"{name}: the same seed gives other values"
    cell.check_names()
    if parameters is not None:
        assert {p.name: p.shape for p in cell.get_parameters()} == parameters
    if text is not None:
        assert repr(cell) == text
    assert not cell.training
    assert cell.set_train() is cell
    assert all(each.training for _, each in cell.cells_and_names())
    cell.set_train(False)

    def given() -> list[Tensor]:
        return [Tensor(array.copy()) for array in inputs]

    tensors = given()
    made = cell(*tensors)
    for tensor, array in zip(tensors, inputs, strict=True):
        assert np.array_equal(tensor.asnumpy(), array), "an input was changed"
    if output is not None:
        assert [a.shape for a in arrays(made)] == (output if isinstance(output, list) else [output])
    for other in (pickle.loads(pickle.dumps(cell)), copy.deepcopy(cell)):
        assert [p.name for p in other.get_parameters()] == [p.name for p in cell.get_parameters()]
        if not random:
            for a, b in zip(arrays(other(*given())), arrays(made), strict=True):
                assert np.array_equal(a, b, equal_nan=True), "a copy gives another result"
        for p, q in zip(cell.get_parameters(), other.get_parameters(), strict=True):
            assert p._torch.data_ptr() != q._torch.data_ptr() or p.size == 0, "a copy shares memory"
    if trains and cell.trainable_params():
        _check_training(cell, given())
    return cell


def _check_training(cell: Cell, tensors: Sequence[Tensor]) -> None:
    """Every trainable parameter has a gradient of its own shape and type, and not all of them are zero."""
    cell.set_train()
    weights = cell.trainable_params()
    _, gradients = value_and_grad(cell, None, weights)(*tensors)
    for weight, gradient in zip(weights, gradients, strict=True):
        assert (gradient.shape, gradient.dtype) == (weight.shape, weight.dtype), weight.name
        assert np.isfinite(gradient.asnumpy()).all(), weight.name
    assert any(np.abs(g.asnumpy()).max() > 0 for g in gradients if g.size), (
        "no gradient reaches the parameters"
    )
    cell.set_train(False)
