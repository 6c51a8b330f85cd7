"""The parallel optimizer: each process keeps the state of some parameters and changes those; then all get new values.

Parameters are divided whole, so that optimizers that look at a parameter's length (Lamb, LARS) work as ever, and by
size, so that all processes have about as much to keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.distributed.parallel_context import get_auto_parallel_context, reduces_gradients
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple
from millrace._src.runtime.tensor.storage import wrap

__all__ = ["ShardedParameters", "shard_parameters", "gather_states", "load_states"]


def shard_parameters(parameters: ParameterTuple) -> ParameterTuple:
    """The parameters, divided among the processes where the context says so."""
    world = groups.world_group()
    wanted = reduces_gradients() and get_auto_parallel_context("enable_parallel_optimizer")
    if not wanted or world is None or world.size == 1:
        return parameters
    return ShardedParameters(parameters).assign_owners(world.rank, world.size)


class ShardedParameters(ParameterTuple):
    """Parameters of which each belongs to one process, or, where they are `layerwise_parallel`, to each its own."""

    owners: tuple[int, ...] = ()
    local: tuple[bool, ...] = ()

    def assign_owners(self, rank: int, size: int) -> ShardedParameters:
        """Deal them out: the largest first, each to who has least."""
        held = [0] * size
        owners = [0] * len(self)
        for place in sorted(range(len(self)), key=lambda at: (-self[at]._torch.numel(), at)):
            owner = min(range(size), key=lambda each: (held[each], each))
            owners[place] = owner
            held[owner] += self[place]._torch.numel()
        self.owners = tuple(owners)
        self.local = tuple(
            owner == rank or parameter.layerwise_parallel
            for owner, parameter in zip(owners, self, strict=True)
        )
        return self

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """What an optimizer keeps for them; of parameters of other processes nothing."""
        made = []
        for item, mine in zip(self, self.local, strict=True):
            fresh = item.clone(init) if mine else _nothing(item)
            fresh.name = f"{prefix}.{item.name}"
            made.append(fresh)
        kept = ShardedParameters(made)
        kept.owners, kept.local = self.owners, self.local
        return kept

    def share(self) -> None:
        """Give each process the parameters that the others changed."""
        for owner in sorted(set(self.owners)):
            for several in self._of(owner):
                flat = torch.cat([each.reshape(-1) for each in several])
                flat = collective.broadcast(flat, owner)
                parts = flat.split([each.numel() for each in several])
                for each, part in zip(several, parts, strict=True):
                    each.copy_(part.view(each.shape))

    def _of(self, owner: int) -> list[list[torch.Tensor]]:
        """The tensors of one process, by type."""
        found: dict[torch.dtype, list[torch.Tensor]] = {}
        for parameter, who in zip(self, self.owners, strict=True):
            if who == owner and not parameter.layerwise_parallel:
                found.setdefault(parameter._torch.dtype, []).append(parameter._torch)
        return list(found.values())


def _nothing(item: Parameter) -> Parameter:
    empty = torch.empty(0, dtype=item._torch.dtype, device=item._torch.device)
    return Parameter(wrap(empty), item.name, item.requires_grad)


def _kept_by(optimizer: Any) -> list[ShardedParameters]:
    own = optimizer._parameters
    return [
        each
        for each in vars(optimizer).values()
        if isinstance(each, ShardedParameters) and each is not own and each.owners
    ]


def gather_states(optimizer: Any) -> dict[str, Tensor]:
    """All that an optimizer keeps, by name, whole in every process: for a checkpoint that any number of them loads.

    Every process calls it. What is not divided is there too.
    """
    found = {
        parameter.name: wrap(parameter._torch.detach().clone()) for parameter in optimizer.get_parameters()
    }
    for kept in _kept_by(optimizer):
        for state, parameter, owner, mine in zip(
            kept, optimizer._parameters, kept.owners, kept.local, strict=True
        ):
            if not parameter.layerwise_parallel:
                data = state._torch if mine else torch.zeros_like(parameter._torch, dtype=state._torch.dtype)
                found[state.name] = wrap(collective.broadcast(data, owner, WORLD_GROUP))
    return found


def load_states(optimizer: Any, states: dict[str, Tensor]) -> None:
    """Take what `gather_states` gave, on any number of processes; each takes its part."""
    divided_states = {id(state) for kept in _kept_by(optimizer) for state, mine in _pairs(kept) if not mine}
    missing = [p.name for p in optimizer.get_parameters() if p.name not in states]
    if missing:
        raise ArgumentValueError(
            f"For 'load_states', these are missing: {missing[:5]}; it takes what gather_states gave."
        )
    for parameter in optimizer.get_parameters():
        if id(parameter) not in divided_states:
            parameter.set_data(states[parameter.name])


def _pairs(kept: ShardedParameters) -> Sequence[tuple[Parameter, bool]]:
    return list(zip(kept, kept.local, strict=True))
