"""Base class of MindSpore's optimizers: parameters are updated in lists with foreach kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.distributed.sharded_optimizer import ShardedParameters
from millrace._src.runtime.ops.sparse.sparse_tensor import RowTensor
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.storage import unwrap

from .optimizer import Optimizer
from .sparse_gradient import Gradient, RowGradient, to_row_gradient, to_torch_gradient
from .update_rules import Tensors

__all__ = ["ForeachOptimizer"]

_SMALL = (torch.float16, torch.bfloat16)


class ForeachOptimizer(Optimizer):
    """Updates lists of parameters that share a learning rate and a weight decay.

    A subclass sets `state_names`, the attributes that hold its per-parameter states, and implements
    ``update``. Sparse gradients are converted to dense ones, or, with `supports_sparse_gradients`, update
    only their rows.
    """

    _support_parallel_optimizer = True
    state_names: tuple[str, ...] = ()
    supports_sparse_gradients = False
    # weight decay is added to the gradient; otherwise `update` reads it from the attribute `_shrink`
    has_coupled_weight_decay = True

    def construct(self, gradients: Any) -> Any:
        with torch.no_grad():
            grads = self._prepare_gradients(gradients)
            rates = self.get_lr()
            decays = None if self.has_coupled_weight_decay else self.get_weight_decay()
            self.global_step._torch.add_(1)
            self.begin_step()
            for indices in self._update_lists():
                rate = unwrap(rates[indices[0]] if self.is_group_lr else rates)
                if decays is not None:
                    decay = decays[indices[0]] if self.is_group else decays
                    self.__dict__["_decoupled_weight_decay"] = (
                        unwrap(decay).reshape(()) if self.decay_flags[indices[0]] else None
                    )
                states = [getattr(self, name) for name in self.state_names]
                dense = [index for index in indices if isinstance(grads[index], torch.Tensor)]
                if dense:
                    self._update(
                        rate,
                        [self._parameters[index]._torch for index in dense],
                        [grads[index] for index in dense],  # type: ignore[misc]
                        *([state[index]._torch for index in dense] for state in states),
                    )
                for index in indices:
                    if isinstance(grads[index], RowTensor):
                        self.update_sparse(
                            rate,
                            self._parameters[index]._torch,
                            to_row_gradient(grads[index]),
                            *(state[index]._torch for state in states),
                        )
            if isinstance(self._parameters, ShardedParameters):
                self._parameters.share()
        return (True,) * self.param_length

    def _update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        """Update; 16-bit parameters are computed in float32 and rounded once."""
        if params[0].dtype not in _SMALL:
            self.update(lr, params, grads, *states)
            return
        lists = (params, *states)
        wide = [_to_float32(tensors) for tensors in lists]
        self.update(lr, wide[0], _to_float32(grads), *wide[1:])
        for narrow, tensors in zip(lists, wide, strict=True):
            foreach.copy_(narrow, tensors)

    def begin_step(self) -> None:
        """Update states that are shared by all parameters, such as powers of a decay."""

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        """Update parameters of one learning rate and their states, in place."""
        raise NotImplementedError

    def update_sparse(self, lr: torch.Tensor, param: torch.Tensor, rows: RowGradient, *states: Any) -> None:
        """Update the rows of a parameter that its sparse gradient contains; other rows and their states are
        unchanged.
        """
        updated = [each.clone() for each in (param, *states)]
        self._update(lr, updated[:1], [rows.dense()], *([each] for each in updated[1:]))
        row_mask = rows.row_mask()
        for old, new in zip((param, *states), updated, strict=True):
            old.copy_(torch.where(row_mask, new, old))

    def _store_float32(self, **numbers: float) -> None:
        """Store numbers, rounded to float32, under ``_name``."""
        for name, value in numbers.items():
            setattr(self, f"_{name}", float(np.float32(value)))

    def _prepare_gradients(self, gradients: Any) -> list[Gradient]:
        if len(gradients) != self.param_length:
            raise ArgumentValueError(
                f"For '{type(self).__name__}', there must be a gradient for each of its {self.param_length} "
                f"parameters, but got {len(gradients)}; take them by weights=optimizer.parameters."
            )
        grads = [
            to_torch_gradient(each, param) for each, param in zip(gradients, self._parameters, strict=True)
        ]
        for param, grad in zip(self._parameters, grads, strict=True):
            shape = tuple(grad.dense_shape if isinstance(grad, RowTensor) else grad.shape)
            if shape != param._torch.shape:
                raise ArgumentValueError(
                    f"For '{type(self).__name__}', the gradient of '{param.name}' must have its shape {param.shape}, "
                    f"but got {shape}."
                )
        if not self.supports_sparse_gradients:
            grads = [to_row_gradient(each).dense() if isinstance(each, RowTensor) else each for each in grads]
        grads = [
            each.to(param._torch.dtype) if isinstance(each, torch.Tensor) else each
            for param, each in zip(self._parameters, grads, strict=True)
        ]
        return self._unscale_gradients(
            self._centralize_gradients(
                self._apply_weight_decay(grads) if self.has_coupled_weight_decay else grads
            )
        )

    def _update_lists(self) -> list[list[int]]:
        """Lists of the indices of parameters that are updated together, of those that this process updates."""
        known: list[list[int]] | None = self.__dict__.get("_cached_update_lists")
        if known is None:
            indices_by_key: dict[Any, list[int]] = {}
            for index, key in enumerate(self._keys()):
                if self.optim_filter[index]:
                    indices_by_key.setdefault(key, []).append(index)
            known = self.__dict__["_cached_update_lists"] = list(indices_by_key.values())
        return known

    def _keys(self) -> Iterator[Any]:
        for index in range(self.param_length):
            lr = id(self.learning_rate[index]) if self.is_group_lr else 0
            decay: Any = None
            if not self.has_coupled_weight_decay and self.decay_flags[index]:
                decay = id(self.weight_decay[index]) if self.is_group else 0
            yield lr, decay, self._parameters[index]._torch.dtype


def _to_float32(tensors: Tensors) -> Tensors:
    """The tensors cast to float32, in one call."""
    wide = [torch.empty_like(each, dtype=torch.float32) for each in tensors]
    foreach.copy_(wide, tensors)
    return wide
