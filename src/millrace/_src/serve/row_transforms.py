"""Preprocessing and postprocessing with the transforms of data pipelines, row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, ServeError
from millrace._src.core.stable_ids import find_id
from millrace._src.data.transforms.compose import Compose
from millrace._src.data.transforms.serialization import transform_from_json
from millrace._src.data.transforms.tensor_operation import TensorOperation

from .postprocessing import ArgMax, Labels, Softmax
from .tensor_codec import DATATYPES, Array, TensorSpec

__all__ = ["RowTransforms", "by_name", "steps_from_json"]

_TEXT = "text."  # prefix of the ids of text transforms
# transforms that an archive may name in addition to those of `millrace.dataset`
_OF_SERVE = (ArgMax, Labels, Softmax)
# datatype and shape of one row
ModelInputSignature = tuple[str, tuple[int, ...]]


class RowTransforms:
    """Transforms of one tensor, applied to each row. They are deterministic and serializable to JSON."""

    def __init__(self, operations: Sequence[Any], where: str) -> None:
        self.where = where
        self.saved = [_serialize_transform(operation, where) for operation in operations]
        # created from the saved form, so that a reloaded archive behaves the same
        self.operations = [transform_from_json(each, _OF_SERVE) for each in self.saved]
        for operation in self.operations:
            if operation.random:
                raise ArgumentValueError(
                    f"{type(operation).__name__} in {where} is random: a request must give the "
                    "same result each time. Remove it, or use its deterministic counterpart (CenterCrop for RandomCrop)"
                )
        self._call: Callable[..., Any] = Compose(list(self.operations)).row_function(None)

    @property
    def takes_text(self) -> bool:
        """Whether the first transform takes text."""
        return (find_id(type(self.operations[0])) or "").startswith(_TEXT)

    def takes(self) -> ModelInputSignature | None:
        """Input signature of a row, where the first transform determines it: an encoded file, or text."""
        if self.takes_text or type(self.operations[0]).__name__ == "Decode":
            return "BYTES", ()
        return None

    def rows(self, name: str, column: Array) -> list[Any]:
        """Apply the transforms to each row of a column."""
        outputs = []
        for number, value in enumerate(column):
            try:
                outputs.append(self._call(0, self._value(value)))
            except ServeError:
                raise
            except Exception as error:
                operation = getattr(error, "millrace_op", "")
                reason = str(error).split("\n")[0]
                text = f"{operation}: {reason}" if operation and not reason.startswith(operation) else reason
                raise ServeError(f"'{name}', row {number}, {self.where}: {text}") from error
        return outputs

    def _value(self, value: Any) -> Any:
        if not isinstance(value, bytes):
            return value
        return np.array(value.decode()) if self.takes_text else np.frombuffer(value, np.uint8)


def _serialize_transform(operation: Any, where: str) -> Any:
    """Serialize a transform for an archive."""
    if not isinstance(operation, TensorOperation) or operation.user_code:
        raise ArgumentTypeError(
            f"{where} takes transforms of millrace.dataset (vision, text, audio, transforms) and of millrace.serve, "
            f"got {operation!r}"
        )
    return json.loads(operation.to_json())


def by_name(transforms: Any, names: Sequence[str], where: str) -> dict[str, RowTransforms]:
    """`pre` or `post` by tensor name, from a list for a single tensor or a dict."""
    if transforms is None:
        return {}
    if not isinstance(transforms, Mapping):
        if len(names) != 1:
            raise ArgumentValueError(f"{where} is a dict where there are several tensors: {', '.join(names)}")
        transforms = {names[0]: transforms}
    unknown = [name for name in transforms if name not in names]
    if unknown:
        raise ArgumentValueError(f"{where} names {unknown[0]!r}, but the tensors are {', '.join(names)}")
    return {name: RowTransforms(list(each), where) for name, each in transforms.items() if len(each)}


def steps_from_json(saved: Any, where: str) -> dict[str, list[TensorOperation]]:
    """Load `pre` or `post` from the JSON of an archive."""
    if not isinstance(saved, dict) or not all(isinstance(steps, list) for steps in saved.values()):
        raise ArgumentTypeError(
            f"{where}: expected a dict from names to lists of transforms, got {type(saved)}."
        )
    return {name: [transform_from_json(step, _OF_SERVE) for step in steps] for name, steps in saved.items()}


def stack_inputs(rows: list[Any], spec: TensorSpec) -> Array:
    """Stack rows to a model input."""
    arrays = [np.asarray(row) for row in rows]
    wanted = spec.shape[1:]
    for number, each in enumerate(arrays):
        if each.dtype != DATATYPES[spec.datatype]:
            raise ServeError(
                f"'{spec.name}': after its transforms a row is {each.dtype}, but the model takes "
                f"{DATATYPES[spec.datatype]}; add transforms.TypeCast to `pre`",
                500,
            )
        if len(each.shape) != len(wanted) or any(
            m not in (n, -1) for m, n in zip(wanted, each.shape, strict=True)
        ):
            raise ServeError(
                f"'{spec.name}', row {number}: after its transforms it has the shape {list(each.shape)}, but the "
                f"model takes {list(wanted)}"
            )
        if each.shape != arrays[0].shape:
            raise ServeError(
                f"'{spec.name}', row {number}: its shape {list(each.shape)} is not that of row 0, "
                f"{list(arrays[0].shape)}; send them one by one"
            )
    return np.stack(arrays)


def collect_rows(rows: list[Any]) -> Array:
    """Stack rows to an output: numbers as an array, text as bytes."""
    stacked = np.stack([np.asarray(row) for row in rows])
    if stacked.dtype.kind in "SU":
        plain = np.empty(stacked.shape, object)
        flat, values = plain.reshape(-1), stacked.reshape(-1)
        for index in range(flat.size):
            one = values[index]
            flat[index] = one if isinstance(one, bytes) else str(one).encode()
        return plain
    return stacked
