"""THOR: a second-order optimizer that updates its curvature estimate once in many steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32, int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed import parallel_context
from millrace._src.runtime.nn.argument_types import check_argument_type, check_float, check_positive_int
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.gradient_reducer import DistributedGradReducer
from millrace._src.runtime.nn.normalization import LayerNorm
from millrace._src.runtime.nn.thor_layers import (
    Conv2dThor,
    EmbeddingLookupThor,
    EmbeddingThor,
    add_second_order_factors,
)
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple
from millrace._src.runtime.tensor.storage import unwrap, wrap

from .foreach_optimizer import ForeachOptimizer
from .update_rules import Tensors, momentum_step

__all__ = ["thor"]

# Matrices are inverted in square diagonal blocks of this size; elements outside of the blocks are ignored.
BLOCK = 128


def _accept_all(parameter: Any) -> bool:
    return True


@public("nn")
def thor(
    net: Cell,
    learning_rate: Tensor,
    damping: Tensor,
    momentum: float,
    weight_decay: float = 0.0,
    loss_scale: float = 1.0,
    batch_size: int = 32,
    use_nesterov: bool = False,
    decay_filter: Callable[[Any], bool] = _accept_all,
    split_indices: Any = None,
    enable_clip_grad: bool = False,
    frequency: int = 100,
) -> Thor:
    """Create the optimizer THOR for a network; Dense, Conv2d and Embedding layers are extended in place.

    Such a layer stores A, the second moments of its inputs, and G, those of the gradients of its outputs. The
    update of its weight is ``(G + d I)^-1 g (A + d I)^-1`` with momentum, where d is the root of this step's
    `damping`; both inverses are computed in blocks of 128. LayerNorm parameters are divided by the squares of
    their gradients; all other parameters use momentum only. `learning_rate` and `damping` are tensors with a
    value per step; the last value applies afterwards.

    Every step updates A and G, unless the model is from ``ConvertModelUtils.convert_to_thor_model``: then one
    step in `frequency` does. With `enable_clip_grad` the norm of each update is at most 1. `batch_size` and
    `loss_scale` are those of the training; `split_indices` has no effect. MindSpore has it for GPU and
    Ascend; here it runs on every device, as MindSpore's does on a GPU. It was checked against the formulas of
    the paper, and not against values of MindSpore, which has no CPU kernels for it.

    >>> from millrace import nn
    >>> net = nn.Dense(3, 2)
    >>> rates = Tensor([0.1, 0.05], float32)
    >>> optimizer = thor(net, rates, rates, momentum=0.9, batch_size=4, frequency=2)
    >>> step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()
    >>> x = Tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    >>> before = float(step(x, x[:, :2]))
    >>> float(step(x, x[:, :2])) < before
    True
    """
    if not isinstance(net, Cell):
        raise ArgumentTypeError(f"For 'thor', 'net' must be a Cell, but got {type(net).__name__}.")
    return Thor(
        net, learning_rate, damping, momentum, weight_decay, loss_scale, batch_size, use_nesterov, decay_filter,
        enable_clip_grad, frequency,
    )  # fmt: skip


class _PreconditionedLayer(NamedTuple):
    """A preconditioned layer: the index of its weight, and the two inverse factors."""

    param_index: int
    cell: Any
    a: Parameter
    g: Parameter


class Thor(ForeachOptimizer):
    """The optimizer that :func:`thor` returns."""

    _support_parallel_optimizer = False
    state_names = ("moments",)
    # whether this step updates the curvature; `add_flags_recursive(thor=...)` sets it here and in the layers
    thor = True

    def __init__(
        self,
        net: Cell,
        learning_rate: Tensor,
        damping: Tensor,
        momentum: float,
        weight_decay: float,
        loss_scale: float,
        batch_size: int,
        use_nesterov: bool,
        decay_filter: Callable[[Any], bool],
        enable_clip_grad: bool,
        frequency: int,
    ) -> None:
        owner = "thor"
        check_argument_type(learning_rate, "learning rate", owner, Tensor)
        check_argument_type(damping, "damping", owner, Tensor)
        check_argument_type(momentum, "momentum", owner, float)
        if momentum < 0.0:
            raise ArgumentValueError(
                f"For 'thor', the argument 'momentum' must be at least 0.0, but got 'momentum' {momentum}."
            )
        check_argument_type(frequency, "frequency", owner, int)
        if frequency < 2:
            raise ArgumentValueError(
                f"For 'thor', the argument 'frequency' must be at least 2, but got 'frequency' {frequency}."
            )
        decay = check_float(
            float(check_argument_type(weight_decay, "weight_decay", owner, float, int)),
            "weight_decay",
            owner,
            True,
        )
        layers = add_second_order_factors(net)
        super().__init__(learning_rate, net.trainable_params(), 0.0, loss_scale)
        self.momentum = Parameter(Tensor(momentum, float32), name="momentum")
        self.moments = self._parameters.clone(prefix="moments", init="zeros")
        self.use_nesterov = check_argument_type(use_nesterov, "use_nesterov", owner, bool)
        self.enable_clip_grad = check_argument_type(enable_clip_grad, "enable_clip_grad", owner, bool)
        self.batch_size, self.frequency = check_positive_int(batch_size, "batch_size", owner), frequency
        self.damping = damping.reshape((-1,)).astype(float32)
        self.cov_step = Parameter(Tensor([0], int32), name="cov_step", requires_grad=False)
        # separate names: those of the base class apply weight decay before everything else
        self._amount, self._decays = decay, tuple(bool(decay_filter(each)) for each in self._parameters)
        self._layers = self._match_layers(layers)
        self._norms = self._norm_indices(net)
        self.matrix_a = ParameterTuple(layer.a for layer in self._layers)
        self.matrix_g = ParameterTuple(layer.g for layer in self._layers)
        self._reducers: tuple[DistributedGradReducer, ...] = ()
        if parallel_context.reduces_gradients() and self._layers:
            self._reducers = tuple(DistributedGradReducer(each) for each in (self.matrix_a, self.matrix_g))

    def get_frequency(self) -> int:
        """The number of steps between curvature updates."""
        return self.frequency

    def _match_layers(self, layers: list[Any]) -> list[_PreconditionedLayer]:
        index_by_id = {id(parameter): index for index, parameter in enumerate(self._parameters)}
        matched: list[_PreconditionedLayer] = []
        for cell in layers:
            rows = isinstance(cell, (EmbeddingThor, EmbeddingLookupThor))
            index = index_by_id.pop(id(cell.embedding_table if rows else cell.weight), None)
            if index is None:  # not trained, or shared with another layer
                continue
            number, shape = len(matched), self._parameters[index]._torch.flatten(1).shape
            initial_values = (
                torch.zeros(shape[0] if rows else _block_shape(shape[1])),
                torch.zeros((shape[1], shape[1]) if rows else _block_shape(shape[0])),
            )
            a, g = (
                Parameter(wrap(value), name=f"matrix_{which}_inv_{number}", requires_grad=False)
                for which, value in zip("ag", initial_values, strict=True)
            )
            matched.append(_PreconditionedLayer(index, cell, a, g))
        return matched

    def _norm_indices(self, net: Cell) -> list[int]:
        index_by_id = {id(parameter): index for index, parameter in enumerate(self._parameters)}
        cells = [cell for _, cell in net.cells_and_names() if isinstance(cell, LayerNorm)]
        return [
            index_by_id[id(each)]
            for cell in cells
            for each in cell._params.values()
            if id(each) in index_by_id
        ]

    # --- a step ------------------------------------------------------------------------------------------------

    def _prepare_gradients(self, gradients: Any) -> list[Any]:
        grads: list[Any] = super()._prepare_gradients(gradients)
        damping = self._damping_now()
        if self.thor:
            self._update_curvature(damping)
        for layer in self._layers:
            grads[layer.param_index] = self._precondition(layer, grads[layer.param_index])
        for index in self._norms:
            grad = grads[index]
            grads[index] = grad / (grad.square() / self.batch_size + damping.sqrt()).to(grad.dtype)
        self.cov_step._torch.add_(1)
        if self._amount:
            for index, decays in enumerate(self._decays):
                if decays:
                    grads[index] = grads[index] + self._parameters[index]._torch * self._amount
        if self.enable_clip_grad:
            grads = [grad / grad.norm().clamp_min(1.0) for grad in grads]
        return grads

    def _damping_now(self) -> torch.Tensor:
        values = unwrap(self.damping)
        step = self.cov_step._torch.clamp_max(len(values) - 1).to(values.device)
        return values.index_select(0, step).reshape(())

    def _update_curvature(self, damping: torch.Tensor) -> None:
        """Compute the inverses of the layers' factors."""
        inverses: tuple[list[Any], ...] = ([], [])
        for layer in self._layers:
            for factor_inverses, value in zip(inverses, self._inverses(layer.cell, damping), strict=True):
                factor_inverses.append(wrap(value))
        for factors, values, reduce in zip(
            (self.matrix_a, self.matrix_g), inverses, self._reducers or (None, None), strict=True
        ):
            for parameter, value in zip(
                factors, values if reduce is None else reduce(tuple(values)), strict=True
            ):
                parameter._torch.copy_(value._torch)

    def _inverses(self, cell: Any, damping: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # G holds gradients of a mean over the batch, times the loss scale
        factor = (self.batch_size / self.loss_scale) ** 2
        if isinstance(cell, (EmbeddingThor, EmbeddingLookupThor)):
            a = cell.matrix_a._torch / self.batch_size + damping.sqrt()
            return a.reciprocal(), _inverse(cell.matrix_g._torch * factor, damping.sqrt())
        if isinstance(cell, Conv2dThor):
            num_positions_a, num_positions_g = (
                cell.a_normalizer._torch.reshape(()),
                cell.g_normalizer._torch.reshape(()),
            )
            part = num_positions_a.rsqrt()
            a = _inverse(_diagonal_blocks(cell.matrix_a_cov._torch), (damping / num_positions_a).sqrt())
            g = _inverse(
                _diagonal_blocks(cell.matrix_g_cov._torch * factor), (damping / num_positions_g).sqrt()
            )
            return a * part, g * part
        a = _inverse(_diagonal_blocks(cell.matrix_a._torch), damping.sqrt())
        return a, _inverse(_diagonal_blocks(cell.matrix_g._torch * factor), damping.sqrt())

    def _precondition(self, layer: _PreconditionedLayer, grad: torch.Tensor) -> torch.Tensor:
        wide = grad.to(torch.float32)
        a, g = layer.a._torch, layer.g._torch
        if a.ndim == 1:
            preconditioned = (a[:, None] * wide) @ g
        else:
            preconditioned = _block_diagonal_matmul(
                g, _block_diagonal_matmul(a, wide.flatten(1).T).T
            ).reshape(grad.shape)
        return preconditioned.to(grad.dtype)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        momentum_step(params, grads, states[0], lr, self.momentum._torch, self.use_nesterov)


def _block_shape(size: int) -> tuple[int, int, int]:
    """The number and shape of the diagonal blocks of a matrix."""
    block = min(size, BLOCK)
    return -(-size // block), block, block


def _diagonal_blocks(matrix: torch.Tensor) -> torch.Tensor:
    """The diagonal blocks of a matrix; the last one is padded with zeros."""
    size = matrix.shape[0]
    count, block, _ = _block_shape(size)
    padding = count * block - size
    padded = torch.nn.functional.pad(matrix, (0, padding, 0, padding)) if padding else matrix
    return torch.stack(
        [
            padded[offset : offset + block, offset : offset + block]
            for offset in range(0, count * block, block)
        ]
    )


def _inverse(matrix: torch.Tensor, damping: torch.Tensor) -> torch.Tensor:
    """Damped inverses of symmetric matrices.

    For a matrix that is not positive definite the result is NaN: a check would wait for the device.
    """
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    factor = torch.linalg.cholesky_ex(matrix + damping * eye).L
    return torch.cholesky_inverse(factor)


def _block_diagonal_matmul(blocks: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """The product of a block-diagonal matrix and a matrix."""
    count, block, _ = blocks.shape
    rows, columns = matrix.shape
    padding = count * block - rows
    padded = torch.nn.functional.pad(matrix, (0, 0, 0, padding)) if padding else matrix
    return torch.bmm(blocks, padded.reshape(count, block, columns)).reshape(-1, columns)[:rows]
