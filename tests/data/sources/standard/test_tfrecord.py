"""TFRecord files: the fast decoder gives what the plain one gives, damage is named, lengths are never trusted."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.core.dtype import int32, string
from millrace.core.errors import FormatError, PlanError
from millrace.data.fluent.schema import Schema
from millrace.data.formats.crc32c import masked_rows
from millrace.data.formats.example_message import parse_example
from millrace.data.sources.tfrecord import TFRecordDataset
from tests.parity.sources.tf_bytes import example, masked, record, records


def rows_of(path: Path, data: bytes, **options: Any) -> list[dict[str, Any]]:
    path.write_bytes(data)
    data_set = TFRecordDataset(str(path), shuffle=False, **options)
    return list(data_set.create_dict_iterator(num_epochs=1, output_numpy=True))


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=20))
def test_checksums_of_many_equal_those_of_one(parts: list[bytes]) -> None:
    sizes = np.array([len(part) for part in parts])
    ends = np.cumsum(sizes)
    assert masked_rows(b"".join(parts), ends - sizes, ends).tolist() == [masked(part) for part in parts]


def test_checksum_of_a_long_record() -> None:
    data = bytes(range(256)) * 3000
    assert masked_rows(data, np.array([0, 1]), np.array([len(data), 5])).tolist() == [
        masked(data),
        masked(data[1:5]),
    ]


INTS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4)
FLOATS = st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=4)
BYTES = st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), packed=st.booleans())
def test_any_example(data: Any, packed: bool, tmp_path: Path) -> None:
    """Any lengths, any order of the features, packed or not: the columns are those of the plain parser."""
    kinds = {"a": INTS, "b": FLOATS, "long name of a feature " * 3: BYTES, "d": st.just([7])}
    rows = []
    for _ in range(data.draw(st.integers(1, 6))):
        names = data.draw(st.permutations(list(kinds)))
        rows.append({name: data.draw(kinds[name]) for name in names})
    messages = [example(row, packed) for row in rows]
    got = rows_of(tmp_path / "t.tfrecord", records(messages))
    for one, message in zip(got, messages, strict=True):
        wanted = parse_example(message)
        assert list(one) == sorted(kinds)
        for name, value in wanted.items():
            if kinds[name] is BYTES:
                width = max(map(len, value))
                value = np.frombuffer(b"".join(part.ljust(width) for part in value), np.uint8)
            np.testing.assert_array_equal(one[name], value)


def test_extra_feature_and_missing_feature(tmp_path: Path) -> None:
    more = records([example({"a": [1]}), example({"b": [2.0], "a": [3]})])
    assert [row["a"].tolist() for row in rows_of(tmp_path / "t", more)] == [[1], [3]]
    less = records([example({"a": [1], "b": [2.0]}), example({"a": [3]})])
    with pytest.raises(FormatError, match=r"record 2.*column name: b does not exist"):
        rows_of(tmp_path / "t", less)
    with pytest.raises(PlanError, match="failed to find column name: z"):
        rows_of(tmp_path / "t", less, columns_list=["z"])


def test_schema(tmp_path: Path) -> None:
    data = records([example({"a": [1, 2], "t": ["naïve".encode()]}), example({"a": [3, 4], "t": [b"x"]})])
    schema = Schema()
    schema.add_column("t", string, [])
    schema.add_column("a", int32, [2, 1])
    first = rows_of(tmp_path / "t", data, schema=schema)[0]
    assert list(first) == ["t", "a"]
    assert first["t"].item() == "naïve"
    assert first["a"].dtype == np.int32
    assert first["a"].tolist() == [[1], [2]]
    wrong = Schema()
    wrong.add_column("a", int32, [3])
    with pytest.raises(FormatError, match="Column shape of a defined in schema does not match"):
        rows_of(tmp_path / "t", data, schema=wrong)
    other = Schema()
    other.add_column("a", string)
    with pytest.raises(FormatError, match="the actual type: int64, but the predefined type: string"):
        rows_of(tmp_path / "t", data, schema=other)


GOOD = records([example({"a": [n]}) for n in range(5)])
SIZE = len(GOOD) // 5


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda d: d[:-1], "cut short"),
        (lambda d: d[:3], "cut short"),
        (lambda d: d[: SIZE + 13], "record 2"),
        (lambda d: d[:9] + bytes([d[9] ^ 1]) + d[10:], "record 1: the checksum of its length"),
        (lambda d: d[: SIZE + 7] + b"\x7f" + d[SIZE + 8 :], "record 2: the checksum of its length"),
        (lambda d: d[: 2 * SIZE + 14] + b"\xff" + d[2 * SIZE + 15 :], "record 3: the checksum of the record"),
        (lambda d: b"hello world this is no record" * 3, "checksum of its length"),
        (lambda d: record(b"\xff\xff\xff"), "no Example"),
        (lambda d: b"", "no"),
    ],
)
def test_damage_is_named(tmp_path: Path, damage: Any, text: str) -> None:
    with pytest.raises((FormatError, PlanError), match=text) as caught:
        rows_of(tmp_path / "t.tfrecord", damage(GOOD))
    assert "t.tfrecord" in str(caught.value)


@given(st.binary(max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_messages(tmp_path: Path, noise: bytes) -> None:
    """Bytes with right checksums and any content: rows, or an error of ours; never another."""
    data = records([example({"a": [1]}), noise, example({"a": [2]})[:4] + noise])
    try:
        rows_of(tmp_path / "t", data)
    except (FormatError, PlanError):
        pass


def test_a_length_is_checked_before_memory_is_taken(tmp_path: Path) -> None:
    length = struct.pack("<Q", 1 << 60)
    with pytest.raises(FormatError, match="cut short, or a length is damaged"):
        rows_of(tmp_path / "t", length + struct.pack("<I", masked(length)) + b"abc")
