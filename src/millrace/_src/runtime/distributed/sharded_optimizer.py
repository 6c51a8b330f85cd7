"""Sharded optimizer states: each process stores the states of some parameters and updates those.

A parameter is never split, so that optimizers that use its norm (Lamb, LARS) work unchanged. Parameters are
assigned by size, so that all processes store about the same amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.distributed.parallel_context import get_auto_parallel_context, reduces_gradients
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple
from millrace._src.runtime.tensor.storage import wrap

__all__ = ["ShardedParameters", "shard_parameters", "gather_states", "load_states"]


def shard_parameters(parameters: ParameterTuple) -> ParameterTuple:
    """Assign the parameters to processes if the parallel context enables it."""
    world = groups.world_group()
    wanted = reduces_gradients() and get_auto_parallel_context("enable_parallel_optimizer")
    if not wanted or world is None or world.size == 1:
        return parameters
    return ShardedParameters(parameters).assign_owners(world.rank, world.size)


class ShardedParameters(ParameterTuple):
    """Parameters that are each owned by one process, or by every process if `layerwise_parallel`."""

    owners: tuple[int, ...] = ()
    local: tuple[bool, ...] = ()

    def assign_owners(self, rank: int, size: int) -> ShardedParameters:
        """Assign owners: the largest parameter first, each to the process with the least."""
        owned_sizes = [0] * size
        owners = [0] * len(self)
        for index in sorted(range(len(self)), key=lambda at: (-self[at]._torch.numel(), at)):
            owner = min(range(size), key=lambda each: (owned_sizes[each], each))
            owners[index] = owner
            owned_sizes[owner] += self[index]._torch.numel()
        self.owners = tuple(owners)
        self.local = tuple(
            owner == rank or parameter.layerwise_parallel
            for owner, parameter in zip(owners, self, strict=True)
        )
        return self

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """The states of an optimizer for these parameters; empty for parameters of other processes."""
        states = []
        for item, is_local in zip(self, self.local, strict=True):
            state = item.clone(init) if is_local else _empty_state(item)
            state.name = f"{prefix}.{item.name}"
            states.append(state)
        sharded = ShardedParameters(states)
        sharded.owners, sharded.local = self.owners, self.local
        return sharded

    def share(self) -> None:
        """Broadcast the updated parameters from their owners."""
        for owner in sorted(set(self.owners)):
            for tensors in self._tensors_by_dtype(owner):
                flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
                flat = collective.broadcast(flat, owner)
                parts = flat.split([tensor.numel() for tensor in tensors])
                for tensor, part in zip(tensors, parts, strict=True):
                    tensor.copy_(part.view(tensor.shape))

    def _tensors_by_dtype(self, owner: int) -> list[list[torch.Tensor]]:
        """The tensors of one owner, grouped by dtype."""
        by_dtype: dict[torch.dtype, list[torch.Tensor]] = {}
        for parameter, parameter_owner in zip(self, self.owners, strict=True):
            if parameter_owner == owner and not parameter.layerwise_parallel:
                by_dtype.setdefault(parameter._torch.dtype, []).append(parameter._torch)
        return list(by_dtype.values())


def _empty_state(item: Parameter) -> Parameter:
    empty = torch.empty(0, dtype=item._torch.dtype, device=item._torch.device)
    return Parameter(wrap(empty), item.name, item.requires_grad)


def _sharded_states_of(optimizer: Any) -> list[ShardedParameters]:
    parameters = optimizer._parameters
    return [
        value
        for value in vars(optimizer).values()
        if isinstance(value, ShardedParameters) and value is not parameters and value.owners
    ]


@public("parallel")
def gather_states(optimizer: Any) -> dict[str, Tensor]:
    """All states of an optimizer by name, complete in every process: for a checkpoint that any number of
    processes loads.

    Every process calls it. States that are not sharded are included.
    """
    states = {
        parameter.name: wrap(parameter._torch.detach().clone()) for parameter in optimizer.get_parameters()
    }
    for sharded in _sharded_states_of(optimizer):
        for state, parameter, owner, is_local in zip(
            sharded, optimizer._parameters, sharded.owners, sharded.local, strict=True
        ):
            if not parameter.layerwise_parallel:
                data = (
                    state._torch if is_local else torch.zeros_like(parameter._torch, dtype=state._torch.dtype)
                )
                states[state.name] = wrap(collective.broadcast(data, owner, WORLD_GROUP))
    return states


@public("parallel")
def load_states(optimizer: Any, states: dict[str, Tensor]) -> None:
    """Load the states from `gather_states`, on any number of processes; each process takes its shard."""
    divided_states = {
        id(state)
        for sharded in _sharded_states_of(optimizer)
        for state, is_local in _states_with_locality(sharded)
        if not is_local
    }
    missing = [p.name for p in optimizer.get_parameters() if p.name not in states]
    if missing:
        raise ArgumentValueError(
            f"For 'load_states', these states are missing: {missing[:5]}. Pass the result of gather_states."
        )
    for parameter in optimizer.get_parameters():
        if id(parameter) not in divided_states:
            parameter.set_data(states[parameter.name])


def _states_with_locality(sharded: ShardedParameters) -> Sequence[tuple[Parameter, bool]]:
    return list(zip(sharded, sharded.local, strict=True))
