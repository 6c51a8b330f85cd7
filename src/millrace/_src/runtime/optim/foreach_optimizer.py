"""What MindSpore's optimizers share here: one call changes a whole list of parameters."""

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
    """Changes parameters list by list: all that have one learning rate, and one weight decay, go together.

    A class says which attributes hold what it keeps for each parameter (`slots`) and writes ``update``. Gradients of
    some rows come to it whole, or, where it says `supports_sparse_gradients`, change those rows only.
    """

    _support_parallel_optimizer = True
    state_names: tuple[str, ...] = ()
    supports_sparse_gradients = False
    # weight decay is part of the gradient; where it is not, `update` gets it as the attribute `_shrink`
    has_coupled_weight_decay = True

    def construct(self, gradients: Any) -> Any:
        with torch.no_grad():
            grads = self._prepare_gradients(gradients)
            rates = self.get_lr()
            decays = None if self.has_coupled_weight_decay else self.get_weight_decay()
            self.global_step._torch.add_(1)
            self.begin_step()
            for places in self._update_lists():
                rate = unwrap(rates[places[0]] if self.is_group_lr else rates)
                if decays is not None:
                    decay = decays[places[0]] if self.is_group else decays
                    self.__dict__["_decoupled_weight_decay"] = (
                        unwrap(decay).reshape(()) if self.decay_flags[places[0]] else None
                    )
                kept = [getattr(self, name) for name in self.state_names]
                dense = [place for place in places if isinstance(grads[place], torch.Tensor)]
                if dense:
                    self._update(
                        rate,
                        [self._parameters[place]._torch for place in dense],
                        [grads[place] for place in dense],  # type: ignore[misc]
                        *([slot[place]._torch for place in dense] for slot in kept),
                    )
                for place in places:
                    if isinstance(grads[place], RowTensor):
                        self.update_sparse(
                            rate,
                            self._parameters[place]._torch,
                            to_row_gradient(grads[place]),
                            *(slot[place]._torch for slot in kept),
                        )
            if isinstance(self._parameters, ShardedParameters):
                self._parameters.share()
        return (True,) * self.param_length

    def _update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        """Update; parameters of a small floating type are computed in float32 and rounded once."""
        if params[0].dtype not in _SMALL:
            self.update(lr, params, grads, *slots)
            return
        lists = (params, *slots)
        wide = [_to_float32(tensors) for tensors in lists]
        self.update(lr, wide[0], _to_float32(grads), *wide[1:])
        for narrow, tensors in zip(lists, wide, strict=True):
            foreach.copy_(narrow, tensors)

    def begin_step(self) -> None:
        """Change what is kept once for all parameters, such as powers of a decay."""

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        """Change parameters of one learning rate, and what is kept for them, in place."""
        raise NotImplementedError

    def update_sparse(self, lr: torch.Tensor, param: torch.Tensor, rows: RowGradient, *slots: Any) -> None:
        """Change the rows of a parameter of which its gradient has some; the others, and what is kept, stay."""
        fresh = [each.clone() for each in (param, *slots)]
        self._update(lr, fresh[:1], [rows.dense()], *([each] for each in fresh[1:]))
        places = rows.row_mask()
        for old, new in zip((param, *slots), fresh, strict=True):
            old.copy_(torch.where(places, new, old))

    def _store_float32(self, **numbers: float) -> None:
        """Keep numbers under their names, and as lists of float32 are multiplied with them: ``_name``."""
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
        """The places of parameters that go together; those that this process changes."""
        known: list[list[int]] | None = self.__dict__.get("_found_runs")
        if known is None:
            found: dict[Any, list[int]] = {}
            for place, key in enumerate(self._keys()):
                if self.optim_filter[place]:
                    found.setdefault(key, []).append(place)
            known = self.__dict__["_found_runs"] = list(found.values())
        return known

    def _keys(self) -> Iterator[Any]:
        for place in range(self.param_length):
            lr = id(self.learning_rate[place]) if self.is_group_lr else 0
            decay: Any = None
            if not self.has_coupled_weight_decay and self.decay_flags[place]:
                decay = id(self.weight_decay[place]) if self.is_group else 0
            yield lr, decay, self._parameters[place]._torch.dtype


def _to_float32(tensors: Tensors) -> Tensors:
    """The same values in float32, in one call for all."""
    wide = [torch.empty_like(each, dtype=torch.float32) for each in tensors]
    foreach.copy_(wide, tensors)
    return wide
