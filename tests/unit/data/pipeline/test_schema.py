"""Schemas written by hand, read from JSON, and read from files that mean harm."""

import json
import pickle

import numpy as np
import pytest

import millrace.common.dtype as mstype
from millrace._src.data.pipeline.schema import Schema


def added(*columns):
    schema = Schema()
    for column in columns:
        schema.add_column(*column)
    return schema


def test_add_column():
    schema = added(
        ("a", mstype.int8), ("b", "float32", [2, 3]), ("c", mstype.string, []), ("a", "bool", [-1])
    )
    assert json.loads(schema.to_json()) == {
        "columns": [
            {"name": "a", "rank": 1, "type": "int8"},
            {"name": "b", "rank": 2, "shape": [2, 3], "type": "float32"},
            {"name": "c", "rank": 0, "shape": [], "type": "string"},
            {"name": "a", "rank": 1, "shape": [-1], "type": "bool"},
        ]
    }


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (
            (1, mstype.int8),
            "Argument name with value 1 is not of type [<class 'str'>], but got <class 'int'>.",
        ),
        (("", mstype.int8), "Expected non-empty string for column name."),
        (("a", None), "Expected non-empty string for de_type."),
        (("a", ""), "Unknown column type."),
        (("a", 3), "Unknown column type."),
        (("a", int), "Unknown column type."),
        (("a", "bytes"), "Unknown column type."),
        (("a", mstype.complex64), "Unknown column type."),
        (("a", mstype.int_), "Unknown column type."),
        (
            ("a", "int8", (1,)),
            "Argument shape with value (1,) is not of type [<class 'list'>], but got <class 'tuple'>.",
        ),
        (
            ("a", "int8", ["x"]),
            "Argument shape[0] with value x is not of type [<class 'int'>], but got <class 'str'>.",
        ),
        (
            ("a", "int8", [True]),
            "Argument shape[0] with value True is not of type (<class 'int'>,), but got <class 'bool'>.",
        ),
    ],
)
def test_add_column_refuses(column, text):
    with pytest.raises(TypeError) as caught:
        added(column)
    assert str(caught.value) == text


def test_parse_columns():
    schema = Schema()
    schema.parse_columns([{"name": "z", "type": "int8", "shape": [2], "rank": 7}])
    schema.parse_columns({"b": {"type": "int8"}, "a": {"type": "string"}})
    assert [column["name"] for column in schema.columns] == ["z", "a", "b"]
    assert schema.columns[0] == {"name": "z", "rank": 1, "shape": [2], "type": "int8"}
    assert schema.columns[1] == {"name": "a", "rank": 0, "shape": [], "type": "string"}
    schema = Schema()
    schema.parse_columns([])
    assert schema.to_json() == str(schema) == '{\n  "columns": null\n}'


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ([{"type": "int8"}], "Column's name is missing"),
        ([3], "Column's name is missing"),
        ([{"name": "a"}], "Column's type is missing"),
        ({"a": {}}, "Column's type is missing"),
        ({"a": 3}, "Column's type is missing"),
        (3, "columns must be dict or list, columns contain name, type, shape(optional)."),
        ([{"name": "a", "type": "zz"}], "Type is unknown."),
        (
            [{"name": "a", "type": 3}],
            "ParseColumnString: JSON string failed to parse: type must be string, but is number",
        ),
        (
            [{"name": 1, "type": "int8"}],
            "ParseColumnString: JSON string failed to parse: type must be string, but is number",
        ),
        (
            [{"name": "a", "type": "int8", "shape": "x"}],
            "ParseColumnString: JSON string failed to parse: type must be array of numbers, but is string",
        ),
        (
            [{"name": "a", "type": "int8", "shape": [None]}],
            "ParseColumnString: JSON string failed to parse: type must be number, but is NoneType",
        ),
    ],
)
def test_parse_columns_refuses(columns, text):
    schema = Schema()
    with pytest.raises(RuntimeError) as caught:
        schema.parse_columns(columns)
    assert str(caught.value) == text
    assert schema.columns == []


FULL = {"datasetType": "TF", "numRows": 7, "columns": {"a": {"type": "int8", "shape": [2], "rank": 1}}}


def test_from_json_and_file(tmp_path):
    schema = added(("x", "int8"))
    schema.from_json(FULL)
    assert json.loads(schema.to_json()) == {
        "columns": [{"name": "a", "rank": 1, "shape": [2], "type": "int8"}],
        "datasetType": "TF",
        "numRows": 7,
    }
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(FULL))
    assert Schema(str(path)) == schema
    assert Schema.get_num_rows(schema) == Schema.get_num_rows(str(path)) == 7
    assert Schema(None) == Schema()
    assert pickle.loads(pickle.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, '"columns" node is required in the schema json JSON.'),
        (3, '"columns" node is required in the schema json JSON.'),
        (None, '"columns" node is required in the schema json JSON.'),
        ([], '"columns" node is required in the schema json JSON.'),
        ({"columns": 3}, "columns must be dict or list, columns contain name, type, shape(optional)."),
        ({"columns": {}}, "Columns are missing."),
        ({"foo": 3, "columns": {"a": {"type": "int8"}}}, "Unknown field foo"),
        (
            {"numRows": "x", "columns": {}},
            "FromJSONString: JSON string failed to parse: type must be number, but is string",
        ),
        (
            {"datasetType": 3, "columns": {}},
            "FromJSONString: JSON string failed to parse: type must be string, but is number",
        ),
        (
            {"numRows": -1, "columns": {"a": {"type": "int8"}}},
            "numRows must be greater than or equal to 0, but got: -1",
        ),
    ],
)
def test_from_json_refuses_and_keeps_what_was(value, text):
    schema = added(("x", "int8"))
    with pytest.raises(RuntimeError) as caught:
        schema.from_json(value)
    assert str(caught.value) == text
    assert [column["name"] for column in schema.columns] == ["x"]


@pytest.mark.parametrize(
    "data",
    [
        b"{bad",
        b"",
        b"\xff\xfe\x00",
        b"[" * 200_000,
        b'{"columns": ' + b'{"a":' * 100_000,
        b'{"columns": {"a": {"type": "int8", "shape": [' + b"1," * 100 + b"1]}}}",
        b'{"columns": {"a": {"type": "int8", "shape": [1e400]}}}',
        b'{"columns": {"a": {"type": "int8", "shape": [' + b"9" * 30 + b"]}}}",
        b"[]",
        b'{"columns": {}}',
    ],
    ids=range(10),
)
def test_hostile_files(tmp_path, data):
    path = tmp_path / "schema.json"
    path.write_bytes(data)
    with pytest.raises(RuntimeError):
        Schema(str(path))


def test_files_that_are_none_or_too_big(tmp_path):
    with pytest.raises(TypeError, match="path: 1 is not string"):
        Schema(1)
    for bad in ("/no/such", str(tmp_path), ""):
        with pytest.raises(ValueError, match="does not exist or permission denied!"):
            Schema(bad)
    with pytest.raises(ValueError, match="filename should not contain"):
        Schema("/tmp/no?such")
    odd = tmp_path / "a:b.json"
    odd.write_text(json.dumps(FULL))
    assert Schema.get_num_rows(Schema(str(odd))) == 7
    huge = tmp_path / "huge.json"
    with huge.open("wb") as out:
        out.truncate(64 << 20)
    with pytest.raises(RuntimeError, match="larger"):
        Schema(str(huge))


def test_for_the_plan():
    plan = added(("a", "uint8", [-1, 28]), ("b", mstype.string, []), ("c", "float16")).as_plan()
    assert {name: kind.shape for name, kind in plan.items()} == {"a": (None, 28), "b": (), "c": (None,)}
    assert plan["c"].dtype == np.float16
    assert plan["b"].dtype.kind == "U"
