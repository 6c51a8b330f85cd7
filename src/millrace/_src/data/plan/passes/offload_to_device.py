"""Where batches go to a card, it does the last transforms before the batch, behind it, on whole batches.

What stands at the end of a column's way into the batch moves: normalising, types and the order of channels, and what
else was asked for. Then bytes travel where floats would. The maps keep the numbers they draw from, and a column of its
own carries what was drawn, so the rows are the same. Only with a card: this pass runs when a device sink follows.
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

# A node with less work in it, the columns that it has more, and what the card is left to do.
Moved = tuple[Node, tuple[str, ...], tuple[OffloadedColumn, ...]]


def offload_to_device(root: Node, settings: Settings) -> tuple[Node, OffloadPlan | None]:
    """The tree without what the card does, and what that is; None where it is nothing."""
    before = schema_of(root)
    if before is None or settings.debug_mode:  # hooks see every operation
        return root, None
    found = _moved(root, settings)
    if found is None:
        return root, None
    made, _, work = found
    after = schema_of(made)
    if after is None:
        return root, None
    given, columns = (tuple(n for n in names if not n.startswith(HIDDEN_PREFIX)) for names in (after, before))
    return made, OffloadPlan(given, columns, work)


def _moved(node: Node, settings: Settings) -> Moved | None:
    if isinstance(node, Batch):
        return _before_batch(node, settings)
    if len(node.inputs) != 1:
        return None
    below = _moved(node.inputs[0], settings)
    if below is None:
        return None
    child, extra, work = below
    carried = node.with_passthrough_columns(extra, tuple(column.name for column in work))
    if carried is None:
        return None
    made, names = carried
    work = tuple(column._replace(name=names.get(column.name, column.name)) for column in work)
    return made.replace(inputs=(child,)), extra, work


class _Part(NamedTuple):
    """A transform that moves: the key of its random numbers, its map and its place there."""

    operation: Transform
    key: int
    map: Map
    place: int

    @property
    def step(self) -> OffloadStep:
        step = self.operation.device_step()
        assert step is not None
        return step


# What a column goes through last, the last one first.
Way = list[_Part]


def _before_batch(batch: Batch, settings: Settings) -> Moved | None:
    plain = batch.per_batch_map is None and batch.pad_info is None and batch.max_tokens is None
    if not plain:
        return None
    ways = {name: _trimmed(way) for name, way in _ways(batch.inputs[0], settings).items()}
    ways = {name: way for name, way in ways.items() if way}
    if not ways:
        return None
    left: dict[int, int] = {}
    for way in ways.values():
        left |= {part.map.op_id: part.place for part in way}  # the first of each map comes last
        if _is_inside(way):
            left[way[-1].map.op_id] = 0
    child = _without(batch.inputs[0], left)
    extra: list[str] = []
    work: list[OffloadedColumn] = []
    padded: dict[str, tuple[Any, Any]] = {}
    for name, way in ways.items():
        child, column = _cut(child, name, way, settings)
        more = (
            column.form,
            *([column.shapes] if column.sized else []),
            *(n for names in column.random_columns for n in names),
        )
        extra += more
        work.append(column)
        if column.sized:
            padded[name] = ([None], 0)
    made = batch.replace(inputs=(child,), pad_info=padded or None)
    return made, tuple(extra), tuple(work)


def _ways(node: Node, settings: Settings) -> dict[str, Way]:
    """For each column, the transforms that can move, as far as they stand at the end."""
    ways: dict[str, Way] = {}
    closed: set[str] = set()
    while isinstance(node, Map) and node.row_wise and node.cache is None:
        schema = schema_of(node.inputs[0])
        if schema is None:
            break
        names = list(schema)
        inputs, outputs = node.inputs_of(names), node.outputs_of(names)
        if len(inputs) != 1 or inputs != outputs or inputs[0] in closed or node.is_sequential:
            _say_stopped(node, settings)
            closed |= {*inputs, *outputs}
        else:
            name = inputs[0]
            way = ways.setdefault(name, [])
            keys, at = node.resolve_random_keys(), len(node.operations)
            while at and _may_move(node.operations[at - 1], node, settings):
                at -= 1
                way.append(_Part(node.operations[at], keys[at], node, at))
            if at:
                closed.add(name)
                _say_left(node, at)
        node = node.inputs[0]
    return ways


def _may_move(operation: Transform, node: Map, settings: Settings) -> bool:
    step = None if operation.user_code else operation.device_step()
    if step is None or node.offload is False or operation.device_target == "CPU":
        return False
    if _asked(operation, node):
        return True
    auto = settings.auto_offload
    return auto is not False and step.never_shrinks and (step.exact or auto is True)


def _asked(operation: Transform, node: Map) -> bool:
    return node.offload is True or operation.device_target == "GPU"


def _trimmed(way: Way) -> Way:
    """Without what does not pay, and what the card cannot do in one go."""
    if not any(_asked(part.operation, part.map) or part.step.is_profitable for part in way):
        return []
    if _keeps_pillow(way[-1]) and any(part.map is not way[-1].map for part in way):
        # between two maps a Pillow image becomes an array: what is behind the border moves, no more
        return _trimmed([part for part in way if part.map is not way[-1].map])
    # images of different sizes are resized once at most, and decoded first
    resized = 0
    for place, part in enumerate(way):
        kernel = part.step.kernel
        resized += kernel == "resized"
        if resized > 1:
            return way[:place]
        if kernel == "decode":
            return way[: place + 1]
    return way


def _keeps_pillow(part: _Part) -> bool:
    """Whether a Pillow image may come to it: what is before it in its map may make one."""
    before = part.map.operations[: part.place]
    return any(one.user_code or getattr(one, "runs_in_python", False) for one in before)


def _is_inside(way: Way) -> bool:
    """Whether the way to the card begins inside a map, so that a Pillow image comes there as it is."""
    return _keeps_pillow(way[-1])


def _without(node: Node, left: dict[int, int]) -> Node:
    """The maps with only what is left of them."""
    if not isinstance(node, Map) or not node.inputs:
        return node
    child = _without(node.inputs[0], left)
    count = left.get(node.op_id)
    if count == 0:
        return child
    if count is None or count == len(node.operations):
        return node if child is node.inputs[0] else node.replace(inputs=(child,))
    keys = node.resolve_random_keys()[:count]
    return node.replace(inputs=(child,), operations=node.operations[:count], keys=keys)


def _cut(child: Node, name: str, way: Way, settings: Settings) -> tuple[Node, OffloadedColumn]:
    parts = tuple(part.operation for part in reversed(way))
    cut = HostDeviceSplit(parts, settings, SharedFloat() if way[-1].step.kernel == "decode" else None)
    drawn = tuple(
        tuple(f"{name}/card/{number}/{one}" for one in range(_drawn(part)))
        for number, part in enumerate(parts)
    )
    sized = cut.sized
    column = OffloadedColumn(
        name, cut.steps, drawn, f"{name}/card", f"{name}/card/shape" if sized else "", sized, cut.share
    )
    outputs = [name, column.form, *([column.shapes] if sized else []), *(n for names in drawn for n in names)]
    node, place = way[-1].map, way[-1].place if _is_inside(way) else 0
    made = node.replace(
        inputs=(child,),
        operations=(*node.operations[:place], cut),
        keys=(*node.resolve_random_keys()[:place], *(part.key for part in reversed(way))),
        input_columns=(name,),
        output_columns=tuple(outputs),
    )
    return made, column


def _drawn(part: Transform) -> int:
    """How many columns of random numbers a transform draws."""
    if not part.random:
        return 0
    return len(part.params(RandomStream.for_rows(np.zeros(1, np.uint64), seed=0, epoch=0, op=0)))


def _say_left(node: Map, at: int) -> None:
    """A transform that was asked onto the card and cannot go says why."""
    behind = display_name(node.operations[at - 1])
    for operation in node.operations[: at - 1]:
        if operation.device_target == "GPU":
            warn_once(
                f"card-{node.call_site}-{display_name(operation)}",
                f"{display_name(operation)}.device('GPU') at {node.call_site} runs on the host: "
                f"{behind} behind it has no form "
                "for a GPU, and only what stands last before the batch can move there (said once)",
            )


def _say_stopped(node: Map, settings: Settings) -> None:
    asked = [operation for operation in node.operations if _asked(operation, node)]
    if asked:
        warn_once(
            f"card-{node.call_site}",
            f"{display_name(asked[0])} at {node.call_site} runs on the host: only a map of one column onto "
            "itself, with no operation on that column behind it but those that move, can run on a GPU (said once)",
        )
