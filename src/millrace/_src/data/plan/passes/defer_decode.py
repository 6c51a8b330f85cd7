"""Defer decoding from a source to the map after it, and split a map of several columns into one per column.

Then a crop directly follows the decoding of each column, and only the cropped region is decoded: for example of an
image and its mask. Rows and random numbers are the same. The ops as the user wrote them are kept: a chunk with an
error runs through those instead, and they raise the error messages.
"""

from __future__ import annotations

from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, rewrite
from millrace._src.data.plan.nodes.order_ops import Map, Read
from millrace._src.data.plan.nodes.physical import Segment
from millrace._src.data.transforms.base import FusedTransform, Transform

from .fuse_transforms import fuse_operations

__all__ = ["defer_decode"]

# the operations on a column, each with its random key, and the index of the last map
Chain = tuple[list[tuple[Transform, int]], int]
# operations, and the random keys of all their parts
KeyedOperations = tuple[tuple[Transform, ...], tuple[int, ...]]


def defer_decode(root: Node, settings: Settings) -> Node:
    # if rows are skipped or replaced, errors must name the op; debug hooks need every operation
    if settings.error_samples_mode != "return" or settings.debug_mode:
        return root

    def rule(node: Node) -> Node:
        read = node.ops[0] if isinstance(node, Segment) else None
        if not isinstance(node, Segment) or not isinstance(read, Read):
            return node
        count, chains = _chains(node, list(read.schema(()) or ()))
        deferred: dict[str, KeyedOperations] = {}
        for name in read.decodes:
            joined = _join_decode(chains[name], settings) if name in chains else None
            if joined is not None:
                deferred[name] = joined
        if not deferred:
            return node
        source = read.source.without_decode(tuple(deferred))
        maps = [
            _map(node, name, chain[1], deferred.get(name) or _fuse_chain(chain, settings))
            for name, chain in chains.items()
        ]
        positions = (0, *(chains[name][1] for name in chains))
        return node.replace(
            fast_path_ops=(read.replace(source=source), *maps),
            fast_path_positions=positions,
            fast_path_length=count,
        )

    return rewrite(root, rule)


def _chains(node: Segment, names: list[str]) -> tuple[int, dict[str, Chain]]:
    """The operations on each column in the maps after the read, as long as each op handles columns separately."""
    chains: dict[str, Chain] = {}
    count = 1
    for op in node.ops[1:]:
        if not isinstance(op, Map) or not _is_independent(op):
            break
        parts = [part for whole in op.operations for part in _parts(whole)]
        for name in op.inputs_of(names):
            before = chains[name][0] if name in chains else []
            chains[name] = [*before, *zip(parts, op.resolve_random_keys(), strict=True)], count
        count += 1
    return count, chains


def _parts(operation: Transform) -> tuple[Transform, ...]:
    return operation.operations if isinstance(operation, FusedTransform) else (operation,)


def _is_independent(op: Map) -> bool:
    if op.user_code or op.is_sequential or op.output_columns not in (None, op.input_columns):
        return False
    several = len(op.input_columns or ("one",)) > 1
    return not several or all(operation.is_per_column for operation in op.operations)


def _join_decode(chain: Chain, settings: Settings) -> KeyedOperations | None:
    """Join the decoding with the first operation after it."""
    operations = tuple(operation for operation, _ in chain[0])
    first = operations[0].fuse_decode(operations[1:], settings)
    if first is None:
        return None
    rest = fuse_operations(operations[len(first.operations) - 1 :], settings)
    return (first, *rest), (0, *(key for _, key in chain[0]))


def _fuse_chain(chain: Chain, settings: Settings) -> KeyedOperations:
    operations = fuse_operations(tuple(operation for operation, _ in chain[0]), settings)
    return tuple(operations), tuple(key for _, key in chain[0])


def _map(node: Segment, name: str, position: int, keyed: KeyedOperations) -> Map:
    like = node.ops[position]
    assert isinstance(like, Map)
    return like.replace(input_columns=(name,), output_columns=None, operations=keyed[0], random_keys=keyed[1])
