"""Serialize a plan to JSON in MindSpore's layout: nested ops with their arguments and ``children``."""

from __future__ import annotations

import json
from typing import Any

from millrace._src.core.stable_ids import public_module
from millrace._src.data.transforms.base import PyFunc, Transform, display_name

from .node import Node, size_of
from .nodes import order_ops as ops

__all__ = ["WORKERS", "to_json"]

QUEUE = 16
WORKERS = 8


def to_json(node: Node) -> dict[str, Any]:
    """Serialize the tree as nested dicts of plain values."""
    tree: dict[str, Any] = {"children": [to_json(child) for child in node.inputs], "op_type": _type(node)}
    tree |= _arguments(node)
    return dict(sorted(tree.items()))


def _type(node: Node) -> str:
    return getattr(node.source, "json_name", node.label) if isinstance(node, ops.Read) else node.label


def _parallel(workers: int | None) -> dict[str, Any]:
    return {"connector_queue_size": QUEUE, "num_parallel_workers": workers or WORKERS}


def _arguments(node: Node) -> dict[str, Any]:
    if isinstance(node, ops.Read):
        arguments = dict(node.source.arguments())
        arguments |= {"connector_queue_size": QUEUE, "num_parallel_workers": node.num_workers or 1}
        if node.sampler is not None and arguments.pop("keeps_sampler", False):
            arguments["sampler"] = dict(sorted(node.sampler.to_dict().items()))
        arguments.pop("keeps_sampler", None)
        return arguments | _cache(node.cache)
    if isinstance(node, ops.Map):
        return {
            "operations": [_operation(op) for op in node.operations],
            "input_columns": list(node.input_columns or []),
            "output_columns": list(node.output_columns or []),
            "callback": [type(c).__name__ for c in node.callbacks],
            **_parallel(node.num_workers),
            **_cache(node.cache),
        }
    if isinstance(node, ops.Cache):
        return _cache(node.cache)
    if isinstance(node, ops.Batch):
        size = node.batch_size if isinstance(node.batch_size, int) else -1
        arguments = {
            "batch_size": size,
            "drop_remainder": node.drop_remainder,
            "input_columns": list(node.input_columns or []),
            "output_columns": list(node.output_columns or []),
            **_parallel(node.num_workers),
        }
        if node.max_tokens is not None:
            arguments |= {
                "batch_size": node.max_rows,
                "max_tokens": node.max_tokens,
                "length_of": node.length_of,
            }
            if callable(node.length_of):
                arguments["length_of"] = "pyfunc"
                arguments["length_function"] = node.shown_length
        if node.per_batch_map is not None:
            arguments["per_batch_map"] = "pyfunc"
        if node.pad_info is not None:
            arguments["pad_info"] = {k: [v[0], v[1]] for k, v in node.pad_info.items()}
        return arguments
    if isinstance(node, ops.Filter):
        arguments = {"predicate": "pyfunc", "input_columns": list(node.input_columns or [])}
        return arguments | _parallel(node.num_workers)
    if isinstance(node, ops.Concat):
        return _concat(node)
    if isinstance(node, ops.Shuffle):
        return node.details() | _parallel(None)
    return {name: _json_value(value) for name, value in node.details().items()}


def _cache(cache: Any) -> dict[str, Any]:
    return {} if cache is None else {"cache": cache.to_dict()}


def _concat(node: ops.Concat) -> dict[str, Any]:
    sizes = [size_of(child) for child in node.inputs]
    return {
        "children_flag_and_nums": [[0, size] for size in sizes],
        "children_sizes": sizes,
        "children_start_end_index": [[-1, -1] for _ in sizes],
        "sampler": {"num_samples": 0, "sampler_name": "SequentialSampler", "start_index": 0},
    }


def _operation(operation: Transform) -> dict[str, Any]:
    if isinstance(operation, PyFunc):
        return {"tensor_op_name": display_name(operation), "python_module": public_module(operation.function)}
    to_text = getattr(operation, "to_json", None)
    if to_text is not None:
        parsed: dict[str, Any] = json.loads(to_text())
        return parsed
    fields = {k: v for k, v in vars(operation).items() if not k.startswith("_")}
    return {
        "tensor_op_name": type(operation).__name__,
        "tensor_op_params": _json_value(fields),
        "python_module": public_module(type(operation)),
    }


def _json_value(value: Any) -> Any:
    """Convert a value to JSON types."""
    if isinstance(value, dict):
        return {str(k): _json_value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    item = getattr(value, "tolist", None)
    return item() if item is not None else repr(value)
