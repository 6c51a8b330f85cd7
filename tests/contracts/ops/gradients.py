"""Gradients of the samples of operations: of the sum of the results' elements, each times a weight, by each floating
tensor. `tests/parity/runtime/ops/run_case.py` has the same for MindSpore.

Beside each operation's first samples stand their *edges*: the same with all elements rounded to -1, 0 or 1, where ties,
zeros and borders are.
"""

from __future__ import annotations

import base64
import dataclasses
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import millrace
from millrace import ops
from millrace._src.runtime.ops.declare.registry import OpSpec
from tests.contracts.ops.sample_cases import GOLDENS, TOLERANCE, Case, Store, applied, cases, tensor
from tests.contracts.ops.samples import Typed

EDGES = 2  # so many samples of an operation have an edge


def floats(value: Any) -> list[Any]:
    """The floating arrays in arguments, in order."""
    if isinstance(value, Typed):
        return [value] if value.dtype is millrace.bfloat16 else []
    if isinstance(value, np.ndarray):
        return [value] if value.dtype.kind == "f" else []
    parts = list(value.values()) if isinstance(value, dict) else value
    return [each for part in parts for each in floats(part)] if isinstance(parts, (list, tuple)) else []


def replaced(value: Any, change: Any) -> Any:
    """Arguments with each floating array changed."""
    if floats(value) and isinstance(value, (np.ndarray, Typed)):
        return change(value)
    if isinstance(value, dict):
        return {name: replaced(part, change) for name, part in value.items()}
    return (
        type(value)(replaced(part, change) for part in value) if isinstance(value, (list, tuple)) else value
    )


def rounded(value: Any) -> Any:
    return value if isinstance(value, Typed) else np.clip(np.round(value), -1, 1)


def gradient_cases(spec: OpSpec) -> Iterator[Case]:
    """Every case that can be differentiated, and the edges."""
    if not spec.differentiable or spec.random:
        return
    edged: set[Any] = set()
    for case in cases(spec):
        found = floats([case.args, case.kwargs])
        sizes = [(each.array if isinstance(each, Typed) else each).size for each in found]
        if case.sample.fails or case.path.endswith("_") or not found or 0 in sizes:
            continue
        yield case
        if len(edged | {case.number}) <= EDGES:
            edged.add(case.number)
            args, kwargs = replaced(case.args, rounded), replaced(case.kwargs, rounded)
            yield dataclasses.replace(case, number=f"{case.number}~", args=args, kwargs=kwargs)


GRADIENTS = Store(GOLDENS / "gradients", "gradient", gradient_cases)


def weighted(value: Any) -> Any:
    """The sum of the elements of a result, each times a weight: cos(1), cos(2) ..."""
    total: Any = 0
    for part in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(part, millrace.Tensor):
            for real in (ops.real(part), ops.imag(part)) if part.is_complex() else (part,):
                if real.is_floating_point():
                    wide = real if real.dtype is millrace.float64 else real.astype(millrace.float32)
                    weight = np.cos(np.arange(1, real.size + 1)).reshape(real.shape)
                    total = total + (wide * millrace.Tensor(weight, wide.dtype)).sum()
    return total


def gradient(case: Case) -> list[Any]:
    """Ours: a tensor for each floating tensor."""
    tensors = [tensor(each) for each in floats([case.args, case.kwargs])]

    def function(*given: Any) -> Any:
        place = iter(given)
        args, kwargs = (replaced(part, lambda _: next(place)) for part in (case.args, case.kwargs))
        return weighted(applied(case, tensor(args), {name: tensor(part) for name, part in kwargs.items()}))

    made = millrace.grad(function, tuple(range(len(tensors))))(*tensors)
    return list(made) if isinstance(made, tuple) else [made]


def apart(case: Case, ours: list[Any], theirs: list[str]) -> str:
    """What sets two gradients of a case apart, or nothing."""
    found = []
    for given, mine, text in zip(floats([case.args, case.kwargs]), ours, theirs, strict=True):
        shape = tensor(given).shape
        array = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.float32)
        made = mine.astype(millrace.float32).asnumpy()
        if made.shape != shape or array.size != made.size:
            found.append(f"{made.shape} instead of {shape}")
            continue
        array = array.reshape(shape)
        allowed = max(TOLERANCE[str(mine.dtype)], 1e-5)
        # sums: what cancels may be as large as the largest of them
        scale = max(1.0, float(np.nanmax(np.abs(np.where(np.isfinite(array), array, 0)), initial=0)))
        close = np.isclose(made, array, rtol=allowed, atol=allowed * scale, equal_nan=True)
        if not close.all():
            found.append(f"{made[~close].tolist()[:6]} instead of {array[~close].tolist()[:6]}")
    return "; ".join(found)
