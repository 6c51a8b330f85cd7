"""Offload the last transforms before a batch to the device: they run there on whole batches.

The last operations on a column move: normalization, casts, channel order, and those that the user requests. Then
bytes are transferred instead of floats. The maps keep their random keys, and separate columns hold the random numbers,
so the rows are the same. The pass runs only if batches go to a GPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from millrace._src.core.log import warn_once
from millrace._src.core.machine.shared_value import SharedFloat
from millrace._src.core.random.rng import RandomStream
from millrace._src.core.settings import Settings
from millrace._src.core.values.offload import OffloadedColumn, OffloadPlan, OffloadStep
from millrace._src.data.plan.host_device_split import HostDeviceSplit
from millrace._src.data.plan.node import Node, schema_of
from millrace._src.data.plan.nodes.batch_ops import HIDDEN_PREFIX
from millrace._src.data.plan.nodes.order_ops import Batch, Map
from millrace._src.data.transforms.base import Transform, display_name

__all__ = ["offload_to_device"]

# A node with less work, its additional columns, and the work for the device.
MoveResult = tuple[Node, tuple[str, ...], tuple[OffloadedColumn, ...]]


def offload_to_device(root: Node, settings: Settings) -> tuple[Node, OffloadPlan | None]:
    """The tree without the offloaded work, and the plan of that work; None if there is none."""
    before = schema_of(root)
    if before is None or settings.debug_mode:  # hooks see every operation
        return root, None
    moved = _move_work(root, settings)
    if moved is None:
        return root, None
    new_root, _, work = moved
    after = schema_of(new_root)
    if after is None:
        return root, None
    inputs, columns = (
        tuple(n for n in names if not n.startswith(HIDDEN_PREFIX)) for names in (after, before)
    )
    return new_root, OffloadPlan(inputs, columns, work)


def _move_work(node: Node, settings: Settings) -> MoveResult | None:
    if isinstance(node, Batch):
        return _before_batch(node, settings)
    if len(node.inputs) != 1:
        return None
    below = _move_work(node.inputs[0], settings)
    if below is None:
        return None
    child, extra, work = below
    carried = node.with_passthrough_columns(extra, tuple(column.name for column in work))
    if carried is None:
        return None
    new_node, names = carried
    work = tuple(column._replace(name=names.get(column.name, column.name)) for column in work)
    return new_node.replace(inputs=(child,)), extra, work


class _Part(NamedTuple):
    """An offloaded transform: its random key, its map and its index there."""

    operation: Transform
    key: int
    map: Map
    position: int

    @property
    def step(self) -> OffloadStep:
        step = self.operation.device_step()
        assert step is not None
        return step


# The last transforms of a column, in reverse order.
Suffix = list[_Part]


def _before_batch(batch: Batch, settings: Settings) -> MoveResult | None:
    plain = batch.per_batch_map is None and batch.pad_info is None and batch.max_tokens is None
    if not plain:
        return None
    suffixes = {name: _trim(suffix) for name, suffix in _movable_suffixes(batch.inputs[0], settings).items()}
    suffixes = {name: suffix for name, suffix in suffixes.items() if suffix}
    if not suffixes:
        return None
    remaining: dict[int, int] = {}
    for suffix in suffixes.values():
        remaining |= {part.map.op_id: part.position for part in suffix}  # the first of each map comes last
        if _starts_inside_map(suffix):
            remaining[suffix[-1].map.op_id] = 0
    child = _truncate_maps(batch.inputs[0], remaining)
    extra: list[str] = []
    work: list[OffloadedColumn] = []
    padded: dict[str, tuple[Any, Any]] = {}
    for name, suffix in suffixes.items():
        child, column = _split_map(child, name, suffix, settings)
        added_columns = (
            column.form,
            *([column.shapes] if column.sized else []),
            *(n for names in column.random_columns for n in names),
        )
        extra += added_columns
        work.append(column)
        if column.sized:
            padded[name] = ([None], 0)
    new_batch = batch.replace(inputs=(child,), pad_info=padded or None)
    return new_batch, tuple(extra), tuple(work)


def _movable_suffixes(node: Node, settings: Settings) -> dict[str, Suffix]:
    """For each column, the transforms at the end that can be offloaded."""
    suffixes: dict[str, Suffix] = {}
    closed: set[str] = set()
    while isinstance(node, Map) and node.row_wise and node.cache is None:
        schema = schema_of(node.inputs[0])
        if schema is None:
            break
        names = list(schema)
        inputs, outputs = node.inputs_of(names), node.outputs_of(names)
        if len(inputs) != 1 or inputs != outputs or inputs[0] in closed or node.is_sequential:
            _warn_not_movable(node, settings)
            closed |= {*inputs, *outputs}
        else:
            name = inputs[0]
            suffix = suffixes.setdefault(name, [])
            keys, index = node.resolve_random_keys(), len(node.operations)
            while index and _may_move(node.operations[index - 1], node, settings):
                index -= 1
                suffix.append(_Part(node.operations[index], keys[index], node, index))
            if index:
                closed.add(name)
                _warn_blocked(node, index)
        node = node.inputs[0]
    return suffixes


def _may_move(operation: Transform, node: Map, settings: Settings) -> bool:
    step = None if operation.user_code else operation.device_step()
    if step is None or node.offload is False or operation.device_target == "CPU":
        return False
    if _is_requested(operation, node):
        return True
    auto = settings.auto_offload
    return auto is not False and step.never_shrinks and (step.exact or auto is True)


def _is_requested(operation: Transform, node: Map) -> bool:
    return node.offload is True or operation.device_target == "GPU"


def _trim(suffix: Suffix) -> Suffix:
    """Remove transforms that are not profitable, and those that the device cannot do in one pass."""
    if not any(_is_requested(part.operation, part.map) or part.step.is_profitable for part in suffix):
        return []
    if _keeps_pillow(suffix[-1]) and any(part.map is not suffix[-1].map for part in suffix):
        # between two maps a Pillow image becomes an array: only transforms after that boundary move
        return _trim([part for part in suffix if part.map is not suffix[-1].map])
    # images of different sizes are resized once at most, and decoded first
    resized = 0
    for index, part in enumerate(suffix):
        kernel = part.step.kernel
        resized += kernel == "resized"
        if resized > 1:
            return suffix[:index]
        if kernel == "decode":
            return suffix[: index + 1]
    return suffix


def _keeps_pillow(part: _Part) -> bool:
    """Whether its input may be a Pillow image, from an operation before it in its map."""
    before = part.map.operations[: part.position]
    return any(operation.user_code or getattr(operation, "runs_in_python", False) for operation in before)


def _starts_inside_map(suffix: Suffix) -> bool:
    """Whether the offloaded part begins inside a map, so that its input may be a Pillow image."""
    return _keeps_pillow(suffix[-1])


def _truncate_maps(node: Node, remaining: dict[int, int]) -> Node:
    """Truncate the maps to the remaining operations."""
    if not isinstance(node, Map) or not node.inputs:
        return node
    child = _truncate_maps(node.inputs[0], remaining)
    count = remaining.get(node.op_id)
    if count == 0:
        return child
    if count is None or count == len(node.operations):
        return node if child is node.inputs[0] else node.replace(inputs=(child,))
    keys = node.resolve_random_keys()[:count]
    return node.replace(inputs=(child,), operations=node.operations[:count], random_keys=keys)


def _split_map(child: Node, name: str, suffix: Suffix, settings: Settings) -> tuple[Node, OffloadedColumn]:
    parts = tuple(part.operation for part in reversed(suffix))
    split = HostDeviceSplit(parts, settings, SharedFloat() if suffix[-1].step.kernel == "decode" else None)
    random_columns = tuple(
        tuple(f"{name}/device/{number}/{index}" for index in range(_count_random_columns(part)))
        for number, part in enumerate(parts)
    )
    sized = split.sized
    column = OffloadedColumn(
        name,
        split.steps,
        random_columns,
        f"{name}/device",
        f"{name}/device/shape" if sized else "",
        sized,
        split.share,
    )
    outputs = [
        name,
        column.form,
        *([column.shapes] if sized else []),
        *(n for names in random_columns for n in names),
    ]
    node, position = suffix[-1].map, suffix[-1].position if _starts_inside_map(suffix) else 0
    new_map = node.replace(
        inputs=(child,),
        operations=(*node.operations[:position], split),
        random_keys=(*node.resolve_random_keys()[:position], *(part.key for part in reversed(suffix))),
        input_columns=(name,),
        output_columns=tuple(outputs),
    )
    return new_map, column


def _count_random_columns(part: Transform) -> int:
    """The number of columns of random numbers that a transform needs."""
    if not part.random:
        return 0
    return len(part.params(RandomStream.for_rows(np.zeros(1, np.uint64), seed=0, epoch=0, op=0)))


def _warn_blocked(node: Map, count: int) -> None:
    """Warn why a transform that the user requested on the GPU runs on the host."""
    behind = display_name(node.operations[count - 1])
    for operation in node.operations[: count - 1]:
        if operation.device_target == "GPU":
            warn_once(
                f"card-{node.call_site}-{display_name(operation)}",
                f"{display_name(operation)}.device('GPU') at {node.call_site} runs on the host: "
                f"{behind} behind it has no form "
                "for a GPU, and only the last operations before the batch can move there (logged once)",
            )


def _warn_not_movable(node: Map, settings: Settings) -> None:
    requested = [operation for operation in node.operations if _is_requested(operation, node)]
    if requested:
        warn_once(
            f"card-{node.call_site}",
            f"{display_name(requested[0])} at {node.call_site} runs on the host: only a map of one column onto "
            "itself, with no operation on that column behind it but those that move, can run on a GPU (logged once)",
        )
