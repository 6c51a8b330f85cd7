"""TFRecord to MindRecord, without TensorFlow."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.mindrecord.writer import MSRStatus
from millrace._src.data.formats.tfrecord.example import parse_example
from millrace._src.data.formats.tfrecord.record_file import read_records

from .base import Converter, check_path, write_set

__all__ = ["TFRecordToMR"]

_TYPES = {
    "string": "string", "int8": "int32", "int16": "int32", "int32": "int32", "int64": "int64",
    "uint8": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64",
    "float16": "float32", "float32": "float32", "float64": "float64", "double": "float64", "bool": "int32",
}  # fmt: skip
_SPECIAL = str.maketrans(dict.fromkeys(set(string.punctuation + " ") - {"_"}, "_"))


@public("mindrecord")
class TFRecordToMR(Converter):
    """The Examples of a TFRecord file. ``feature_dict`` has the shape and dtype of each feature.

    A feature is a ``tf.io.FixedLenFeature`` or anything with ``shape`` and ``dtype``, or a pair of them:
    ``{"label": ([], "int64")}``. String features in ``bytes_fields`` stay bytes.

    >>> from millrace._src.data.formats.tfrecord.example import encode_example
    >>> from millrace._src.data.formats.tfrecord.record_file import write_record
    >>> with open("x.tfrecord", "wb") as file:
    ...     write_record(file, encode_example({"n": 3, "x": [0.5, 1.5]}))
    >>> TFRecordToMR("x.tfrecord", "x.mindrecord", {"n": ([], "int64"), "x": ([2], "float32")}).transform()
    <MSRStatus.SUCCESS: 0>
    >>> from millrace.mindrecord import FileReader
    >>> next(FileReader("x.mindrecord").get_next())
    {'n': 3, 'x': array([0.5, 1.5], dtype=float32)}
    """

    def __init__(
        self,
        source: str,
        destination: str,
        feature_dict: dict[str, Any],
        bytes_fields: list[str] | None = None,
    ) -> None:
        if not isinstance(source, str):
            raise ArgumentValueError("Parameter source must be string.")
        if not isinstance(destination, str):
            raise ArgumentValueError("Parameter destination must be string.")
        self.source, self.destination = check_path(source, "source"), check_path(destination, "destination")
        if not isinstance(feature_dict, dict) or not feature_dict:
            raise ArgumentValueError("Parameter feature_dict is None or not dict.")
        self.features = {name: _parse_feature(name, feature) for name, feature in feature_dict.items()}
        self.bytes_fields = self._check_bytes_fields(bytes_fields)
        self.schema = {name.translate(_SPECIAL): self._entry(name) for name in self.features}
        if len(self.schema) != len(self.features):
            raise ArgumentValueError(
                "two features of feature_dict have the same name once their punctuation has become '_'"
            )

    def _check_bytes_fields(self, fields: list[str] | None) -> list[str]:
        if fields is not None and not isinstance(fields, list):
            raise ArgumentValueError(f"Parameter bytes_fields: {fields} must be list(str).")
        for item in fields or []:
            if not isinstance(item, str):
                raise ArgumentValueError(f"Parameter bytes_fields's item: {item} is not str.")
            if item not in self.features:
                raise ArgumentValueError(
                    f"Parameter bytes_fields's item: {item} is not in feature_dict: {list(self.features)}."
                )
            if self.features[item][1] != "string":
                raise ArgumentValueError(
                    f"Parameter bytes_field: {item} should be tf.string in feature_dict."
                )
        return fields or []

    def _entry(self, name: str) -> dict[str, Any]:
        shape, dtype_name = self.features[name]
        if not shape:
            return {"type": "bytes" if name in self.bytes_fields else _TYPES[dtype_name]}
        if len(shape) != 1:
            raise ArgumentValueError(f"Parameter len(feature_dict[{name}].shape) should be 1.")
        if not isinstance(shape[0], int) or shape[0] < 1:
            raise ArgumentValueError(f"Parameter feature_dict[{name}].shape[0] should > 0")
        if dtype_name == "string":
            raise ArgumentValueError(
                f"Parameter feature_dict[{name}].dtype is tf.string which shape[0] is not None. "
                "It is not supported."
            )
        return {"type": _TYPES[dtype_name], "shape": [shape[0]]}

    def tfrecord_iterator(self) -> Iterator[dict[str, Any]]:
        """The rows, as they will be written."""
        for number, record in enumerate(read_records(self.source)):
            features = parse_example(record, self.source, number)
            row = {}
            for name, (shape, dtype_name) in self.features.items():
                if name not in features:
                    raise FormatError(f"the Example has no feature '{name}'", file=self.source, row=number)
                row[name.translate(_SPECIAL)] = self._value(name, features[name], shape, dtype_name, number)
            yield row

    def tfrecord_iterator_oldversion(self) -> Iterator[dict[str, Any]]:
        """The same as tfrecord_iterator."""
        return self.tfrecord_iterator()

    def _value(self, name: str, values: Any, shape: list[int], dtype_name: str, number: int) -> Any:
        expected = shape[0] if shape else 1
        texts = isinstance(values, list)
        floats = not texts and values.dtype.kind == "f"
        type_matches = texts == (dtype_name == "string") and floats == (
            dtype_name in ("double", "float16", "float32", "float64")
        )
        if len(values) != expected or not type_matches:
            what = "texts" if texts else str(values.dtype)
            text = f"feature '{name}' holds {len(values)} {what}, feature_dict declares {expected} of {dtype_name}"
            raise FormatError(text, file=self.source, row=number)
        if dtype_name == "string":
            if name in self.bytes_fields:
                return values[0]
            try:
                return values[0].decode()
            except UnicodeDecodeError:
                text = f"feature '{name}' is not text: name it in bytes_fields"
                raise FormatError(text, file=self.source, row=number) from None
        if shape:
            return np.asarray(values)
        return values[0].item()

    def run(self) -> MSRStatus:
        """Convert the file."""
        return write_set(self.destination, self.schema, "TFRecord to MindRecord", self.tfrecord_iterator())

    def transform(self) -> MSRStatus:
        """Convert the file."""
        return self.run()


def _parse_feature(name: str, feature: Any) -> tuple[list[int], str]:
    """Shape and dtype name of a FixedLenFeature, a similar object, or a pair."""
    shape, dtype_name = getattr(feature, "shape", None), getattr(feature, "dtype", None)
    if isinstance(feature, (tuple, list)) and len(feature) == 2 and dtype_name is None:
        shape, dtype_name = feature
    dtype_name = getattr(dtype_name, "name", None) or (
        dtype_name if isinstance(dtype_name, str) else getattr(dtype_name, "__name__", None)
    )
    if shape is None or dtype_name not in _TYPES:
        raise ArgumentValueError(
            f"Parameter feature_dict: {name!r} only support FixedLenFeature, or a pair such as ([], 'int64'); "
            f"got {feature!r}"
        )
    return list(shape), dtype_name
