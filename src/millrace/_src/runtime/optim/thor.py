"""``thor``: descent along gradients that were divided by curvature, which is looked at once in many steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32, int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed import parallel_context
from millrace._src.runtime.nn.argument_types import check_float, check_kind, check_positive_int
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

# Matrices are inverted in square blocks of so many rows along their diagonals; what lies between blocks is left out.
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
    """The optimizer THOR for a net, whose Dense, Conv2d and Embedding layers it gives what they need, in place.

    Such a layer keeps A, the second moments of its inputs, and G, those of the gradients of its outputs. A step of its
    weight is ``(G + d I)^-1 g (A + d I)^-1`` with momentum, d the root of this step's `damping`; both inverses are
    taken in blocks of 128. LayerNorm divides by the squares of its own gradients, all else descends by momentum alone.
    `learning_rate` and `damping` are tensors with a number for each step, of which the last one stays.

    Every step looks at A and G, unless the model is one of ``ConvertModelUtils.convert_to_thor_model``: then one step
    in `frequency` does. With `enable_clip_grad` the norm of each change is at most 1. `batch_size` and `loss_scale` are
    those of the training; `split_indices` changes nothing. MindSpore has it for GPU and Ascend; here it runs
    everywhere, and does what MindSpore's does on a GPU. It was checked against the formulas of the paper, and not
    against values of MindSpore, which has no kernels for a CPU.

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
    """A layer whose weight is divided by curvature: the weight's place, and the two inverses."""

    place: int
    cell: Any
    a: Parameter
    g: Parameter


class Thor(ForeachOptimizer):
    """What :func:`thor` makes."""

    _support_parallel_optimizer = False
    state_names = ("moments",)
    # whether this step looks at the curvature anew; `add_flags_recursive(thor=...)` sets it here and in the layers
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
        check_kind(learning_rate, "learning rate", owner, Tensor)
        check_kind(damping, "damping", owner, Tensor)
        check_kind(momentum, "momentum", owner, float)
        if momentum < 0.0:
            raise ArgumentValueError(
                f"For 'thor', the argument 'momentum' must be at least 0.0, but got 'momentum' {momentum}."
            )
        check_kind(frequency, "frequency", owner, int)
        if frequency < 2:
            raise ArgumentValueError(
                f"For 'thor', the argument 'frequency' must be at least 2, but got 'frequency' {frequency}."
            )
        decay = check_float(
            float(check_kind(weight_decay, "weight_decay", owner, float, int)), "weight_decay", owner, True
        )
        layers = add_second_order_factors(net)
        super().__init__(learning_rate, net.trainable_params(), 0.0, loss_scale)
        self.momentum = Parameter(Tensor(momentum, float32), name="momentum")
        self.moments = self._parameters.clone(prefix="moments", init="zeros")
        self.use_nesterov = check_kind(use_nesterov, "use_nesterov", owner, bool)
        self.enable_clip_grad = check_kind(enable_clip_grad, "enable_clip_grad", owner, bool)
        self.batch_size, self.frequency = check_positive_int(batch_size, "batch_size", owner), frequency
        self.damping = damping.reshape((-1,)).astype(float32)
        self.cov_step = Parameter(Tensor([0], int32), name="cov_step", requires_grad=False)
        # under names of its own: the base has others for weights that decay before anything else happens
        self._amount, self._decays = decay, tuple(bool(decay_filter(each)) for each in self._parameters)
        self._layers = self._matched(layers)
        self._norms = self._norms_of(net)
        self.matrix_a = ParameterTuple(layer.a for layer in self._layers)
        self.matrix_g = ParameterTuple(layer.g for layer in self._layers)
        self._reducers: tuple[DistributedGradReducer, ...] = ()
        if parallel_context.reduces_gradients() and self._layers:
            self._reducers = tuple(DistributedGradReducer(each) for each in (self.matrix_a, self.matrix_g))

    def get_frequency(self) -> int:
        """In how many steps one looks at the curvature."""
        return self.frequency

    def _matched(self, layers: list[Any]) -> list[_PreconditionedLayer]:
        places = {id(parameter): place for place, parameter in enumerate(self._parameters)}
        found: list[_PreconditionedLayer] = []
        for cell in layers:
            rows = isinstance(cell, (EmbeddingThor, EmbeddingLookupThor))
            place = places.pop(id(cell.embedding_table if rows else cell.weight), None)
            if place is None:  # it does not train, or is another layer's too, which has it already
                continue
            number, shape = len(found), self._parameters[place]._torch.flatten(1).shape
            kept = (
                torch.zeros(shape[0] if rows else _blocks_in(shape[1])),
                torch.zeros((shape[1], shape[1]) if rows else _blocks_in(shape[0])),
            )
            a, g = (
                Parameter(wrap(value), name=f"matrix_{which}_inv_{number}", requires_grad=False)
                for which, value in zip("ag", kept, strict=True)
            )
            found.append(_PreconditionedLayer(place, cell, a, g))
        return found

    def _norms_of(self, net: Cell) -> list[int]:
        places = {id(parameter): place for place, parameter in enumerate(self._parameters)}
        cells = [cell for _, cell in net.cells_and_names() if isinstance(cell, LayerNorm)]
        return [places[id(each)] for cell in cells for each in cell._params.values() if id(each) in places]

    # --- a step ------------------------------------------------------------------------------------------------

    def _prepare_gradients(self, gradients: Any) -> list[Any]:
        grads: list[Any] = super()._prepare_gradients(gradients)
        damping = self._damping_now()
        if self.thor:
            self._update_curvature(damping)
        for layer in self._layers:
            grads[layer.place] = self._precondition(layer, grads[layer.place])
        for place in self._norms:
            grad = grads[place]
            grads[place] = grad / (grad.square() / self.batch_size + damping.sqrt()).to(grad.dtype)
        self.cov_step._torch.add_(1)
        if self._amount:
            for place, decays in enumerate(self._decays):
                if decays:
                    grads[place] = grads[place] + self._parameters[place]._torch * self._amount
        if self.enable_clip_grad:
            grads = [grad / grad.norm().clamp_min(1.0) for grad in grads]
        return grads

    def _damping_now(self) -> torch.Tensor:
        values = unwrap(self.damping)
        step = self.cov_step._torch.clamp_max(len(values) - 1).to(values.device)
        return values.index_select(0, step).reshape(())

    def _update_curvature(self, damping: torch.Tensor) -> None:
        """Take the inverses of what the layers have kept."""
        made: tuple[list[Any], ...] = ([], [])
        for layer in self._layers:
            for found, value in zip(made, self._inverses(layer.cell, damping), strict=True):
                found.append(wrap(value))
        for kept, values, reduce in zip(
            (self.matrix_a, self.matrix_g), made, self._reducers or (None, None), strict=True
        ):
            for parameter, value in zip(
                kept, values if reduce is None else reduce(tuple(values)), strict=True
            ):
                parameter._torch.copy_(value._torch)

    def _inverses(self, cell: Any, damping: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # the gradients that G is made of were those of a mean over the batch, times the scale of the loss
        factor = (self.batch_size / self.loss_scale) ** 2
        if isinstance(cell, (EmbeddingThor, EmbeddingLookupThor)):
            a = cell.matrix_a._torch / self.batch_size + damping.sqrt()
            return a.reciprocal(), _inverse(cell.matrix_g._torch * factor, damping.sqrt())
        if isinstance(cell, Conv2dThor):
            places_a, places_g = cell.a_normalizer._torch.reshape(()), cell.g_normalizer._torch.reshape(())
            part = places_a.rsqrt()
            a = _inverse(_blocks(cell.matrix_a_cov._torch), (damping / places_a).sqrt())
            g = _inverse(_blocks(cell.matrix_g_cov._torch * factor), (damping / places_g).sqrt())
            return a * part, g * part
        a = _inverse(_blocks(cell.matrix_a._torch), damping.sqrt())
        return a, _inverse(_blocks(cell.matrix_g._torch * factor), damping.sqrt())

    def _precondition(self, layer: _PreconditionedLayer, grad: torch.Tensor) -> torch.Tensor:
        wide = grad.to(torch.float32)
        a, g = layer.a._torch, layer.g._torch
        if a.ndim == 1:
            made = (a[:, None] * wide) @ g
        else:
            made = _times(g, _times(a, wide.flatten(1).T).T).reshape(grad.shape)
        return made.to(grad.dtype)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        momentum_step(params, grads, slots[0], lr, self.momentum._torch, self.use_nesterov)


def _blocks_in(size: int) -> tuple[int, int, int]:
    """How many blocks a matrix has, and their shape."""
    block = min(size, BLOCK)
    return -(-size // block), block, block


def _blocks(matrix: torch.Tensor) -> torch.Tensor:
    """The blocks along the diagonal of a matrix; the last one is filled up with zeros."""
    size = matrix.shape[0]
    count, block, _ = _blocks_in(size)
    more = count * block - size
    whole = torch.nn.functional.pad(matrix, (0, more, 0, more)) if more else matrix
    return torch.stack([whole[at : at + block, at : at + block] for at in range(0, count * block, block)])


def _inverse(matrix: torch.Tensor, damping: torch.Tensor) -> torch.Tensor:
    """Inverses of symmetric matrices with something added to their diagonals.

    Of one that is not positive definite they are no numbers: to ask would wait for the device.
    """
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    factor = torch.linalg.cholesky_ex(matrix + damping * eye).L
    return torch.cholesky_inverse(factor)


def _times(blocks: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """A matrix of blocks along its diagonal times another matrix."""
    count, block, _ = blocks.shape
    rows, columns = matrix.shape
    more = count * block - rows
    whole = torch.nn.functional.pad(matrix, (0, 0, 0, more)) if more else matrix
    return torch.bmm(blocks, whole.reshape(count, block, columns)).reshape(-1, columns)[:rows]
