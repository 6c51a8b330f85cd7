"""From ``num_samples``, ``shuffle``, ``sampler``, ``num_shards`` and ``shard_id`` to one sampler."""

from __future__ import annotations

from typing import Any

from millrace._src.core.args import INT32_MAX, Range
from millrace._src.core.errors import ArgumentValueError, PlanError
from millrace._src.core.log import warn_once
from millrace._src.data.samplers import BuiltinSampler, DistributedSampler, RandomSampler, SequentialSampler
from millrace._src.data.samplers.iterable import as_sampler

__all__ = ["NO_ROWS", "check_sampler_alone", "check_shard_options", "check_shards", "resolve_sampler"]


# Error of sources of user rows without a row; MindSpore's text.
NO_ROWS = "GeneratorNode: data row of input source must not be 0, got: 0"

SHUFFLE_AND_SAMPLER = (
    "It is contradictory: the sampler already fixes the order. Remove shuffle, or shuffle the result with "
    ".shuffle(buffer_size)."
)


def check_shards(num_shards: int | None, shard_id: int | None) -> None:
    """Check that both or neither are given and that shard_id is in range."""
    if (num_shards is None) != (shard_id is None):
        raise ArgumentValueError("num_shards and shard_id need to be passed in together.")
    if num_shards is not None and shard_id is not None:
        Range(1, INT32_MAX).check("num_shards", num_shards)
        if shard_id >= num_shards:
            raise ArgumentValueError("shard_id should be less than num_shards.")


def check_shard_options(num_shards: int | None, shard_id: int | None) -> None:
    """Check num_shards and shard_id with the error messages of file sources."""
    if num_shards is not None:
        Range(1, INT32_MAX).check("num_shards", num_shards)
        if shard_id is None:
            raise PlanError("num_shards is specified and currently requires shard_id as well.")
        Range(0, num_shards - 1).check("shard_id", shard_id)
    elif shard_id is not None:
        raise PlanError("shard_id is specified but num_shards is not.")


def check_sampler_alone(
    sampler: Any, num_samples: int | None, shuffle: Any, num_shards: int | None, shard_id: int | None
) -> None:
    """Refuse other arguments that select rows if a sampler is given."""
    arguments = (
        ("shuffle", shuffle),
        ("sharding", num_shards),
        ("sharding", shard_id),
        ("num_samples", num_samples),
    )
    for name, value in arguments:
        if sampler is not None and value is not None:
            raise PlanError(f"sampler and {name} cannot be specified at the same time.")


def resolve_sampler(
    sampler: Any,
    num_samples: int | None,
    shuffle: bool | None,
    num_shards: int | None,
    shard_id: int | None,
) -> BuiltinSampler:
    """Resolve the arguments to one sampler; contradictions are refused."""
    if sampler is not None:
        if isinstance(sampler, BuiltinSampler) and any(
            value is not None for value in (num_samples, shuffle, num_shards, shard_id)
        ):
            raise ArgumentValueError(
                "Conflicting arguments during sampler assignments. "
                f"num_samples: {num_samples}, num_shards: {num_shards}, shard_id: {shard_id}, "
                f"shuffle: {shuffle}." + (f" {SHUFFLE_AND_SAMPLER}" if shuffle else "")
            )
        if shuffle:  # MindSpore accepts both and uses the sampler's order
            warn_once(
                "shuffle-and-sampler",
                f"shuffle=True came together with a sampler: it has no effect. {SHUFFLE_AND_SAMPLER} (logged once)",
                stacklevel=5,
            )
        return as_sampler(sampler, num_samples)
    if num_shards is not None and shard_id is not None:
        return DistributedSampler(
            num_shards, shard_id, shuffle=True if shuffle is None else shuffle, num_samples=num_samples
        )
    if shuffle is None or shuffle:
        return RandomSampler(num_samples=num_samples or None)
    return SequentialSampler(num_samples=num_samples or None)
