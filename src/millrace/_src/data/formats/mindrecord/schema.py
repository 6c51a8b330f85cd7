"""Schema of a MindRecord set: fields and where each is stored."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .exceptions import MRMBuildSchemaError, MRMInvalidSchemaError

__all__ = ["Field", "RecordSchema", "TYPES"]

TYPES = ("int32", "int64", "float32", "float64", "string", "bytes")
_NAME = re.compile(r"[0-9A-Za-z_]+\Z")
_MAX_DIMENSION = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class Field:
    """One field: a scalar or text stored in the raw rows, or bytes or an array stored in the blob rows.

    >>> Field("boxes", "float32", (-1, 4)).is_blob, Field("label", "int32").is_blob
    (True, False)
    """

    name: str
    type: str
    shape: tuple[int, ...] | None = None

    @property
    def is_blob(self) -> bool:
        return self.type == "bytes" or self.shape is not None

    @property
    def is_integer(self) -> bool:
        return self.type in ("int32", "int64")

    @property
    def is_float(self) -> bool:
        return self.type in ("float32", "float64")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of a numeric field, little-endian as stored."""
        return np.dtype(self.type).newbyteorder("<")

    @property
    def fixed_size(self) -> int | None:
        """Number of elements if the shape is fixed, else None."""
        if self.shape is None or -1 in self.shape:
            return None
        return int(np.prod(self.shape, dtype=np.int64)) if self.shape else 1

    def shape_for(self, count: int) -> tuple[int, ...] | None:
        """The shape of an array with this many elements, or None if no shape fits."""
        if self.shape is None:
            return None
        if -1 not in self.shape:
            return self.shape if count == self.fixed_size else None
        inner = 1
        for size in self.shape:
            inner *= 1 if size == -1 else size
        if count % inner:
            return None
        return tuple(count // inner if size == -1 else size for size in self.shape)

    def as_json(self) -> dict[str, Any]:
        """The entry in the header, keys sorted."""
        if self.shape is None:
            return {"type": self.type}
        return {"shape": list(self.shape), "type": self.type}


@dataclasses.dataclass(frozen=True)
class RecordSchema:
    """Fields in stored order, sorted by the bytes of their names.

    >>> schema = RecordSchema.parse({"label": {"type": "int32"}, "data": {"type": "bytes"}})
    >>> [f.name for f in schema.fields], [f.name for f in schema.blob]
    (['data', 'label'], ['data'])
    """

    fields: tuple[Field, ...]
    desc: str = ""

    @property
    def raw(self) -> tuple[Field, ...]:
        """Fields stored in the raw rows."""
        return tuple(f for f in self.fields if not f.is_blob)

    @property
    def blob(self) -> tuple[Field, ...]:
        """Fields stored in the blob rows."""
        return tuple(f for f in self.fields if f.is_blob)

    @property
    def names(self) -> list[str]:
        return [f.name for f in self.fields]

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)

    def as_json(self) -> dict[str, Any]:
        """The one entry of the header's list of schemas."""
        inner = {f.name: f.as_json() for f in self.fields}
        return {"blob_fields": [f.name for f in self.blob], "desc": self.desc, "schema": inner}

    @classmethod
    def parse(cls, content: Mapping[str, Any], desc: str = "") -> RecordSchema:
        """Parse and check the schema of a user or a file.

        >>> RecordSchema.parse({"x": {"type": "bytes", "shape": [1]}})
        Traceback (most recent call last):
        ...
        millrace.mindrecord.common.exceptions.MRMInvalidSchemaError: field 'x': a bytes field has no shape
        """
        if not isinstance(content, Mapping):
            raise MRMInvalidSchemaError(f"a schema is a dict of fields, not {type(content).__name__}")
        if not content:
            raise MRMInvalidSchemaError("the schema has no field")
        fields = [_parse_field(name, entry) for name, entry in content.items()]
        return cls(tuple(sorted(fields, key=lambda f: f.name.encode())), desc)


def _parse_field(name: Any, entry: Any) -> Field:
    if not isinstance(name, str) or not _NAME.match(name):
        raise MRMInvalidSchemaError(f"field name {name!r} must consist of letters, digits and '_'")
    if not isinstance(entry, Mapping):
        raise MRMInvalidSchemaError(
            f"field '{name}': expected a dict such as {{'type': 'int32'}}, got {entry!r}"
        )
    extra = set(entry) - {"type", "shape"}
    if extra or "type" not in entry:
        raise MRMInvalidSchemaError(
            f"field '{name}': takes 'type' and 'shape', got {sorted(map(str, entry))}"
        )
    type_name = entry["type"]
    if type_name not in TYPES:
        raise MRMInvalidSchemaError(f"field '{name}': type {type_name!r} is not one of {', '.join(TYPES)}")
    if "shape" not in entry:
        return Field(name, type_name)
    shape = entry["shape"]
    if type_name in ("string", "bytes"):
        raise MRMInvalidSchemaError(f"field '{name}': a {type_name} field has no shape")
    if not isinstance(shape, list) or any(type(size) is not int for size in shape):
        raise MRMInvalidSchemaError(f"field '{name}': shape must be a list of ints, got {shape!r}")
    if shape.count(-1) > 1 or any(size == 0 or size < -1 or size > _MAX_DIMENSION for size in shape):
        raise MRMBuildSchemaError(f"field '{name}': dimensions are > 0, at most one is -1, got {shape}")
    return Field(name, type_name, tuple(shape))
