"""Requests of MindSpore Serving: instances, each with one row per input, each with a result or an error.

Each instance is a separate request to the service, which batches them: a bad instance fails alone. A model of Millrace
has one method, so any method name is accepted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace._src.core.errors import ServeError
from millrace._src.serve.inference_service import InferenceService, ModelVersion
from millrace._src.serve.tensor_codec import DATATYPES, Array, TensorSpec, datatype_of

__all__ = ["InstanceResults", "infer_instances", "check_instance", "prepare_instances", "row_spec"]

# for each instance its outputs by name, or its error
InstanceResults = list[dict[str, Array] | ServeError]


def row_spec(version: ModelVersion, spec: TensorSpec) -> TensorSpec:
    """Specification of an input in one instance: a row, if the model takes rows."""
    rows = version.loaded.takes_rows or spec.shape[:1] == (1,)
    return TensorSpec(spec.name, spec.datatype, spec.shape[1:]) if rows else spec


def check_instance(spec: TensorSpec, array: Array, most: int) -> Array:
    """Check an instance's value that has its own type and shape."""
    if array.shape == (1,) and spec.shape == ():
        array = array.reshape(())  # a scalar is sent as a list of one
    spec.check(datatype_of(array.dtype), array.shape, most)
    return array


def prepare_instances(
    version: ModelVersion, instances: Sequence[Any], read: Callable[[TensorSpec, Any], Array], most: int
) -> list[list[Array] | ServeError]:
    """Model inputs of each instance, or its error; `read` converts a value to an array."""
    if not 1 <= len(instances) <= most:
        raise ServeError(f"expected 1 to {most} instances, got {len(instances)}")
    specs = [row_spec(version, spec) for spec in version.inputs]
    return [_prepare_one(version, specs, instance, read) for instance in instances]


def _prepare_one(
    version: ModelVersion,
    specs: Sequence[TensorSpec],
    instance: Any,
    read: Callable[[TensorSpec, Any], Array],
) -> list[Array] | ServeError:
    try:
        arrays = [
            read(spec, value) for spec, value in zip(specs, _ordered_values(instance, specs), strict=True)
        ]
    except ServeError as error:
        return error
    for index, spec in enumerate(version.inputs):
        if len(specs[index].shape) < len(spec.shape):
            arrays[index] = arrays[index][None]
    return arrays


async def infer_instances(
    service: InferenceService, version: ModelVersion, prepared: Sequence[list[Array] | ServeError]
) -> InstanceResults:
    """Compute the result of each instance, in order. All together have at most the bytes of one response."""
    most, total = service.config.max_response, 0

    async def one(arrays: list[Array] | ServeError) -> dict[str, Array] | ServeError:
        nonlocal total
        if isinstance(arrays, ServeError):
            return arrays
        if total > most:
            return service.too_large(total)
        try:
            outputs = await service.infer(version, arrays)
        except ServeError as error:
            return error
        total += sum(each.nbytes for each in outputs)
        if total > most:  # keep no further results
            return service.too_large(total)
        cut = version.loaded.takes_rows or all(each.shape[:1] == (1,) for each in outputs)
        return {
            spec.name: each[0] if cut else each for spec, each in zip(version.outputs, outputs, strict=True)
        }

    results = list(await asyncio.gather(*(one(arrays) for arrays in prepared)))
    if total > most:
        raise service.too_large(total)
    return results


def _ordered_values(instance: Any, specs: Sequence[TensorSpec]) -> list[Any]:
    if not isinstance(instance, Mapping):
        raise ServeError(
            f"expected an instance as an object from names to values, got {str(instance)[:40]!r}"
        )
    names = [spec.name for spec in specs]
    for name in instance:
        if name not in names:
            raise ServeError(f"input {str(name)[:80]!r} is unknown. The model takes {', '.join(names)}")
    for name in names:
        if name not in instance:
            raise ServeError(f"the instance has no input '{name}'; the model takes {', '.join(names)}")
    return [instance[name] for name in names]


def check_datatype(spec: TensorSpec, datatype: str) -> None:
    """Refuse a value whose datatype differs from the model's."""
    if datatype not in DATATYPES or datatype != spec.datatype:
        raise ServeError(f"input '{spec.name}': expected {spec.datatype}, got {datatype}")
