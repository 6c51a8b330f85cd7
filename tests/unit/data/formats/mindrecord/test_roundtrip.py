"""Random schemas and rows come back as they went in; what would be lost is refused."""

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.data.formats.mindrecord import FileWriter, MindRecordReader
from millrace._src.data.formats.mindrecord.encoding.msgpack import (
    decode_columns,
    decode_row,
    encode_floats,
    encode_ints,
)
from millrace._src.data.formats.mindrecord.encoding.packed_integers import pack, unpack, unpack_many
from millrace._src.data.formats.mindrecord.schema import Field

from .helpers import assert_same, rows_of, write

INT = {"int32": st.integers(-(2**31), 2**31 - 1), "int64": st.integers(-(2**63), 2**63 - 1)}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
BINARY = st.binary(max_size=60)
SHAPES = st.sampled_from([(-1,), (3,), (2, 2), (-1, 2), (1, -1), (2, -1, 2)])


@st.composite
def array(draw, dtype, shape):
    full = [draw(st.integers(0, 5)) if size == -1 else size for size in shape]
    count = math.prod(full)
    one = INT.get(dtype, st.floats(width=32 if dtype == "float32" else 64))
    return np.array(draw(st.lists(one, min_size=count, max_size=count)), dtype).reshape(full)


@st.composite
def record_set(draw):
    """Return a schema and a list of rows."""
    name = st.from_regex(r"[A-Za-z_][0-9A-Za-z_]{0,11}", fullmatch=True)
    names = draw(st.lists(name, min_size=1, max_size=6, unique_by=str.lower))
    schema, values = {}, {}
    for name in names:
        if name.lower() == "inc":
            name = "x" + name
        type_name = draw(st.sampled_from(["int32", "int64", "float32", "float64", "string", "bytes"]))
        schema[name] = {"type": type_name}
        if type_name == "string":
            values[name] = TEXT
        elif type_name == "bytes":
            values[name] = BINARY
        elif draw(st.booleans()):
            shape = draw(SHAPES)
            schema[name]["shape"] = list(shape)
            values[name] = array(type_name, shape)
        else:
            values[name] = INT.get(type_name, st.floats(allow_nan=False, allow_infinity=False))
    return schema, draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=12))


@given(record_set(), st.integers(1, 12))
@settings(max_examples=60)
def test_rows_come_back(data, step):
    schema, rows = data
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        write(path, schema, [rows[i : i + step] for i in range(0, len(rows), step)])
        assert_same(rows_of(path), [_ordered(row, schema) for row in rows])
        with MindRecordReader(path) as reader:
            backwards = np.arange(len(rows))[::-1]
            block = reader.read(backwards)
        for name, entry in schema.items():
            for value, wanted in zip(block[name], rows[::-1]):
                if "shape" in entry:
                    assert value.dtype == np.dtype(entry["type"])
                    np.testing.assert_array_equal(value, wanted[name])
                elif entry["type"] != "float32":
                    assert value == wanted[name]


def _ordered(row, schema):
    def is_blob(name):
        return schema[name]["type"] == "bytes" or "shape" in schema[name]

    return {name: row[name] for name in sorted(row, key=lambda n: (is_blob(n), n.encode()))}


@given(st.lists(st.lists(INT["int64"], max_size=9), min_size=1, max_size=9), st.booleans())
@settings(max_examples=100)
def test_packed_integers_come_back(rows, narrow):
    dtype = np.dtype("<i4" if narrow else "<i8")
    arrays = [np.array(row, np.int64).astype(dtype) for row in rows]
    packed = [pack(a) for a in arrays]
    for a, data in zip(arrays, packed):
        np.testing.assert_array_equal(unpack(data, dtype), a)
    ends = np.cumsum([len(p) for p in packed])
    starts = ends - [len(p) for p in packed]
    for a, unpacked in zip(arrays, unpack_many(b"".join(packed) + bytes(8), starts, ends, dtype)):
        np.testing.assert_array_equal(unpacked, a)


def test_a_long_packed_array_of_mixed_widths_comes_back():
    values = np.arange(200_000, dtype=np.int64) ** 3 * np.where(np.arange(200_000) % 2, 1, -1)
    np.testing.assert_array_equal(unpack(pack(values), np.dtype("<i8")), values)


@given(st.lists(st.tuples(INT["int64"], st.floats(allow_nan=False)), min_size=1, max_size=20))
def test_rows_by_arrays_and_rows_one_by_one_agree(pairs):
    fields = [Field("a", "int64"), Field("b", "float64")]
    ints, floats = encode_ints([a for a, _ in pairs]), encode_floats([b for _, b in pairs])
    rows = [b"\x82\xa1a" + a + b"\xa1b" + b for a, b in zip(ints, floats)]
    ends = np.cumsum([len(row) for row in rows])
    starts = ends - [len(row) for row in rows]
    columns = decode_columns(b"".join(rows) + bytes(8), starts, ends, fields, ["a", "b"])
    assert columns["a"].tolist() == [a for a, _ in pairs]
    assert columns["b"].tolist() == [b for _, b in pairs]
    assert [decode_row(row, fields) for row in rows] == [{"a": a, "b": b} for a, b in pairs]


def test_any_legal_map_is_read():
    """Keys in another order, wide forms, extra keys of any type: what MindSpore's reader takes, we take."""
    fields = [Field("b", "float64"), Field("n", "int32"), Field("s", "string")]
    row = (
        b"\xde\x00\x05"  # map 16
        b"\xa1n\xd3\xff\xff\xff\xff\xff\xff\xff\xfe"  # int64 -2
        b"\xa1x\x92\xc0\x81\xa1q\xc4\x01z"  # unknown: [nil, {q: bin}]
        b"\xd9\x01s\xda\x00\x02hi"  # str 8 key, str 16 value
        b"\xa1y\xd6\x01abcd"  # unknown: fixext 4
        b"\xa1b\x07"  # an integer in a float field
    )
    assert decode_row(row, fields) == {"b": 7.0, "n": -2, "s": "hi"}


def test_whole_floats_stay_floats_and_big_ones_stay_big(tmp_path):
    values = [1.0, 2.0000000001, -0.0, 1e300, 2.0**63, 0.1]
    path = write(tmp_path / "x", {"f": {"type": "float64"}}, [[{"f": v} for v in values]])
    floats = [row["f"] for row in rows_of(path)]
    assert floats == values
    assert all(type(v) is float for v in floats)
    assert math.copysign(1, floats[2]) == -1


def test_nul_in_strings_and_empty_values_are_kept(tmp_path):
    schema = {"s": {"type": "string"}, "b": {"type": "bytes"}}
    rows = [{"s": "a\0b", "b": b""}, {"s": "\0", "b": b"\0\0"}, {"s": "", "b": b"x"}]
    path = write(tmp_path / "x", schema, [rows])
    assert_same(rows_of(path), rows)
    with MindRecordReader(path) as reader:
        assert reader.read([0, 1], ["s"])["s"] == ["a\0b", "\0"]


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_an_empty_array_in_the_only_blob_field_is_kept(tmp_path, dtype):
    rows = [{"x": np.ones(n, dtype)} for n in (2, 0, 1)]
    path = write(tmp_path / "x", {"x": {"type": dtype, "shape": [-1]}}, [rows])
    assert_same(rows_of(path), rows)


LOSSLESS = [
    ({"type": "int32"}, np.int64(5), 5),
    ({"type": "int32"}, np.uint8(5), 5),
    ({"type": "int64"}, 3.0, 3),
    ({"type": "float32"}, 7, 7.0),
    ({"type": "float64"}, np.float32(0.5), 0.5),
    ({"type": "string"}, np.str_("t"), "t"),
    ({"type": "bytes"}, bytearray(b"x"), b"x"),
    ({"type": "int32", "shape": [-1]}, [1, 2], np.array([1, 2], np.int32)),
    ({"type": "int32", "shape": [2]}, np.array([1, 2], np.int64), np.array([1, 2], np.int32)),
    ({"type": "float32", "shape": [2, 1]}, np.array([1, 0.5]), np.array([[1], [0.5]], np.float32)),
    ({"type": "int64", "shape": [-1]}, np.array([1, 2], ">i8"), np.array([1, 2])),
    ({"type": "float64", "shape": [-1]}, [], np.array([], np.float64)),
]


@pytest.mark.parametrize(("entry", "value", "stored"), LOSSLESS)
def test_another_type_is_converted_where_nothing_is_lost(tmp_path, entry, value, stored):
    path = write(tmp_path / "x", {"v": entry}, [[{"v": value}]])
    assert_same(rows_of(path), [{"v": stored}])


LOSSY = [
    ({"type": "int32"}, 2**31),
    ({"type": "int64"}, 2**63),
    ({"type": "int64"}, 1.5),
    ({"type": "int32"}, True),
    ({"type": "int32"}, "1"),
    ({"type": "int32"}, None),
    ({"type": "float32"}, 2**24 + 1),
    ({"type": "float64"}, 2**53 + 1),
    ({"type": "float64"}, 10**400),
    ({"type": "float32"}, False),
    ({"type": "string"}, b"x"),
    ({"type": "string"}, "\ud800"),
    ({"type": "bytes"}, "x"),
    ({"type": "bytes"}, np.zeros(2, np.uint8)),
    ({"type": "int32", "shape": [-1]}, np.array([2**31])),
    ({"type": "int64", "shape": [-1]}, np.array([2**63], np.uint64)),
    ({"type": "int64", "shape": [-1]}, np.array([0.5])),
    ({"type": "int64", "shape": [-1]}, np.array([np.nan])),
    ({"type": "float32", "shape": [-1]}, np.array([0.1])),
    ({"type": "float32", "shape": [-1]}, np.array([2**63 - 1])),
    ({"type": "float32", "shape": [2, 2]}, np.zeros(3, np.float32)),
    ({"type": "int32", "shape": [-1]}, np.array(["a"])),
    ({"type": "int32", "shape": [-1]}, [[1], [2, 3]]),
    ({"type": "int32", "shape": [-1]}, 3),
]


@pytest.mark.parametrize(("entry", "value"), LOSSY)
def test_what_would_be_lost_is_refused_and_nothing_written(tmp_path, entry, value):
    writer = FileWriter(str(tmp_path / "x"))
    writer.add_schema({"k": {"type": "int32"}, "v": entry})
    good = {"k": 0, "v": {"string": "", "bytes": b""}.get(entry["type"], 0)}
    if "shape" in entry:
        good["v"] = np.zeros([1 if n == -1 else n for n in entry["shape"]], entry["type"])
    rows = [good, {"k": 1, "v": value}]
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="row 1, field 'v'"):
        writer.write_raw_data(rows)
    assert len(rows) == 2  # MindSpore would have dropped it from the caller's list
    writer.write_raw_data([good])
    writer.commit()
    assert len(rows_of(tmp_path / "x")) == 1
