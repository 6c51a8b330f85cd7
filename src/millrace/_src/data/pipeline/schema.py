"""``Schema``: column names, types and shapes, defined in code or read from a JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace._src.core.args import INT32_MAX, Range, check_type
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.schema import ColumnType
from millrace._src.core.values.schema import Schema as PlanSchema

__all__ = ["Schema", "read_schema_file"]

TYPES: dict[str, DType] = {
    "bool": mstype.bool_,
    "int8": mstype.int8,
    "int16": mstype.int16,
    "int32": mstype.int32,
    "int64": mstype.int64,
    "uint8": mstype.uint8,
    "uint16": mstype.uint16,
    "uint32": mstype.uint32,
    "uint64": mstype.uint64,
    "float16": mstype.float16,
    "float32": mstype.float32,
    "float64": mstype.float64,
    "string": mstype.string,
}
_NAMES = {dtype: name for name, dtype in TYPES.items()}

# A schema file is untrusted: it may be huge, endless or deeply nested.
_FILE_BYTES = 16 << 20
_MAX_COLUMNS = 100_000
_MAX_RANK = 64
_ODD = frozenset("\\:*?\"<>|`&;'")


@public("dataset")
class Schema:
    """The columns of a dataset.

    >>> schema = Schema()
    >>> schema.add_column("image", mstype.uint8, [28, 28, 1])
    >>> schema.add_column("label", "int32", [1])
    >>> [column["name"] for column in schema.columns]
    ['image', 'label']
    """

    def __init__(self, schema_file: str | None = None) -> None:
        self.columns: list[dict[str, Any]] = []
        self.dataset_type = ""
        self.num_rows = 0
        if schema_file is not None:
            self._load_values(read_schema_file(schema_file), "file")

    def add_column(self, name: str, de_type: DType | str, shape: list[int] | None = None) -> None:
        """Add a column; without a shape it has one axis of unknown length.

        >>> schema = Schema()
        >>> schema.add_column("tokens", mstype.int32)
        >>> schema.columns
        [{'name': 'tokens', 'rank': 1, 'type': 'int32'}]
        """
        check_type(name, (str,), "name")
        if not name:
            raise ArgumentTypeError("Expected non-empty string for column name.")
        if de_type is None:
            raise ArgumentTypeError("Expected non-empty string for de_type.")
        type_name = _NAMES.get(de_type) if isinstance(de_type, DType) else de_type
        if not isinstance(type_name, str) or type_name not in TYPES:
            raise ArgumentTypeError("Unknown column type.")
        if shape is not None:
            check_type(shape, (list,), "shape")
        column: dict[str, Any] = {"name": name, "rank": 1 if shape is None else len(shape)}
        if shape is not None:
            for i, length in enumerate(shape):
                check_type(length, (int,), f"shape[{i}]")
                Range(-INT32_MAX - 1, INT32_MAX).check(f"shape[{i}]", length)
            column["shape"] = list(shape)
        self.columns.append(column | {"type": type_name})

    def parse_columns(self, columns: Any) -> None:
        """Add columns given as ``{name: {"type": ..., "shape": ...}}`` or as a list of dicts with a name.

        >>> schema = Schema()
        >>> schema.parse_columns({"label": {"type": "int8", "shape": [2]}})
        >>> schema.columns
        [{'name': 'label', 'rank': 1, 'shape': [2], 'type': 'int8'}]
        """
        if isinstance(columns, Mapping):
            # names are sorted, because the keys of a JSON object have no order
            pairs = [(name, columns[name]) for name in sorted(columns, key=str)]
        elif isinstance(columns, list):
            pairs = [(_field(column, "name"), column) for column in columns]
        else:
            raise PlanError("columns must be dict or list, columns contain name, type, shape(optional).")
        if len(pairs) + len(self.columns) > _MAX_COLUMNS:
            raise PlanError(f"a schema may have {_MAX_COLUMNS} columns, but this one has more")
        self.columns += [_column(name, column) for name, column in pairs]

    def from_json(self, json_obj: Any) -> None:
        """Load the schema from a dict with the key ``columns``, and optionally ``datasetType`` and ``numRows``.

        >>> schema = Schema()
        >>> schema.from_json({"numRows": 7, "columns": {"label": {"type": "int8"}}})
        >>> Schema.get_num_rows(schema)
        7
        """
        self._load_values(json_obj, "JSON")

    def _load_values(self, values: Any, where: str) -> None:
        if not isinstance(values, Mapping) or "columns" not in values:
            raise PlanError(f'"columns" node is required in the schema json {where}.')
        parsed = Schema()
        for key, value in values.items():
            if key == "datasetType":
                parsed.dataset_type = _text(value, "FromJSONString")
            elif key == "numRows":
                parsed.num_rows = _number(value, "FromJSONString")
            elif key == "columns":
                parsed.parse_columns(value)
            else:
                raise PlanError(f"Unknown field {key}")
        if not parsed.columns:
            raise PlanError("Columns are missing.")
        if parsed.num_rows < 0:
            raise PlanError(f"numRows must be greater than or equal to 0, but got: {parsed.num_rows}")
        self.__dict__.update(parsed.__dict__)

    def to_json(self) -> str:
        """The schema as JSON text.

        >>> Schema().to_json()
        '{\\n  "columns": null\\n}'
        """
        values: dict[str, Any] = {"columns": self.columns or None}
        if self.dataset_type:
            values["datasetType"] = self.dataset_type
        if self.num_rows:
            values["numRows"] = self.num_rows
        return json.dumps(values, indent=2, sort_keys=True)

    @staticmethod
    def get_num_rows(schema: Schema | str) -> int:
        """The number of rows in a schema or a schema file; 0 if it has none.

        >>> Schema.get_num_rows(Schema())
        0
        """
        return (schema if isinstance(schema, Schema) else Schema(schema)).num_rows

    def as_plan(self) -> PlanSchema:
        """The schema for the plan; lengths below 0 are unknown.

        >>> schema = Schema()
        >>> schema.add_column("image", "uint8", [-1, 28])
        >>> schema.as_plan()
        Schema(image: uint8[?, 28])
        """
        return PlanSchema({column["name"]: _type(column) for column in self.columns})

    def __str__(self) -> str:
        return self.to_json()

    def __repr__(self) -> str:
        return f"Schema({', '.join(column['name'] for column in self.columns)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # it can change


def _type(column: dict[str, Any]) -> ColumnType:
    shape = column.get("shape")
    return ColumnType(
        np.dtype(mstype.np_dtype(TYPES[column["type"]])),
        (None,) if shape is None else tuple(None if length < 0 else length for length in shape),
    )


def read_schema_file(path: Any) -> Any:
    """Read a schema file as JSON."""
    if not isinstance(path, str):
        raise ArgumentTypeError(f"path: {path} is not string")
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        # MindSpore always refuses these characters; here only for a file that does not exist
        if any(character in _ODD for character in os.path.basename(path)):
            raise ArgumentValueError("filename should not contain \\/:*?\\\"<>|`&;\\'")
        raise ArgumentValueError(f"The file {os.path.realpath(path)} does not exist or permission denied!")
    try:
        with open(path, "rb") as opened:
            data = opened.read(_FILE_BYTES + 1)
        if len(data) > _FILE_BYTES:
            raise ValueError(f"larger than {_FILE_BYTES} bytes")
        return json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        raise PlanError(f"Schema file failed to load: {path} ({error})") from error


def _field(column: Any, name: str) -> Any:
    if not isinstance(column, Mapping) or name not in column:
        raise PlanError(f"Column's {name} is missing")
    return column[name]


def _column(name: Any, column: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": _text(name, "ParseColumnString")}
    type_name = _text(_field(column, "type"), "ParseColumnString")
    if type_name not in TYPES:
        raise PlanError("Type is unknown.")
    shape = column.get("shape", [])
    if not isinstance(shape, (list, tuple)) or len(shape) > _MAX_RANK:
        _refuse("ParseColumnString", "array of numbers", shape)
    lengths = [_number(length, "ParseColumnString") for length in shape]
    return spec | {"rank": len(lengths), "shape": lengths, "type": type_name}


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        _refuse(where, "string", value)
    return str(value)


def _number(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > 2**63 - 1:
        _refuse(where, "number", value)
    return int(value)


def _refuse(where: str, wanted: str, value: Any) -> None:
    json_types = {
        str: "string",
        int: "number",
        float: "number",
        bool: "boolean",
        dict: "object",
        list: "array",
    }
    actual = json_types.get(type(value), type(value).__name__)
    raise PlanError(f"{where}: JSON string failed to parse: type must be {wanted}, but is {actual}")
