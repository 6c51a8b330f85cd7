"""TFRecord files: the fast decoder gives what the plain one gives, damage is named, lengths are never trusted."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace._src.core.errors import FormatError, PlanError
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.core.values.dtype import int32, string
from millrace._src.data.formats.tfrecord.example import parse_example
from millrace._src.data.pipeline.schema import Schema
from millrace._src.data.sources.tfrecord import TFRecordDataset
from tests.parity.data.sources.tf_bytes import example, masked, record, records


def rows_of(path: Path, data: bytes, **options: Any) -> list[dict[str, Any]]:
    path.write_bytes(data)
    data_set = TFRecordDataset(str(path), shuffle=False, **options)
    return list(data_set.create_dict_iterator(num_epochs=1, output_numpy=True))


INTS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4)
FLOATS = st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=4)
BYTES = st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), packed=st.booleans())
def test_any_example(data: Any, packed: bool, tmp_path: Path) -> None:
    """Any lengths, any order of the features, packed or not: the columns are those of the plain parser."""
    strategies = {"a": INTS, "b": FLOATS, "long name of a feature " * 3: BYTES, "d": st.just([7])}
    rows = []
    for _ in range(data.draw(st.integers(1, 6))):
        names = data.draw(st.permutations(list(strategies)))
        rows.append({name: data.draw(strategies[name]) for name in names})
    messages = [example(row, packed) for row in rows]
    got = rows_of(tmp_path / "t.tfrecord", records(messages))
    for one, message in zip(got, messages, strict=True):
        wanted = parse_example(message)
        assert list(one) == sorted(strategies)
        for name, value in wanted.items():
            if strategies[name] is BYTES:
                width = max(map(len, value))
                value = np.frombuffer(b"".join(part.ljust(width) for part in value), np.uint8)
            np.testing.assert_array_equal(one[name], value)


def test_extra_feature_and_missing_feature(tmp_path: Path) -> None:
    path = records([example({"a": [1]}), example({"b": [2.0], "a": [3]})])
    assert [row["a"].tolist() for row in rows_of(tmp_path / "t", path)] == [[1], [3]]
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
    flat_schema = Schema()
    flat_schema.add_column("a", string)
    with pytest.raises(FormatError, match="the actual type: int64, but the predefined type: string"):
        rows_of(tmp_path / "t", data, schema=flat_schema)


def deals(folder: Path, shuffle: Any, epochs: int = 6, **options: Any) -> list[list[set[int]]]:
    """For each of two shards and each epoch the files that its rows come from."""
    files = []
    for number in range(5):
        rows = [example({"a": [10 * number + n]}) for n in range(2 if number == 2 else 3)]
        (folder / f"{number}.tfrecord").write_bytes(records(rows))
        files.append(str(folder / f"{number}.tfrecord"))
    deals_by_epoch = []
    for shard in range(2):
        data = TFRecordDataset(files, shuffle=shuffle, num_shards=2, shard_id=shard, **options)
        rows_of_epochs = data.create_dict_iterator(num_epochs=epochs, output_numpy=True)
        deals_by_epoch.append([{int(row["a"][0]) // 10 for row in rows_of_epochs} for _ in range(epochs)])
        assert data.get_dataset_size() == (8, 6)[shard], "the first deal counts, as in MindSpore"
    return deals_by_epoch


@pytest.mark.parametrize("shuffle", [Shuffle.GLOBAL, Shuffle.FILES])
def test_files_are_dealt_anew_each_epoch(tmp_path: Path, shuffle: Shuffle) -> None:
    """Every rank permutes the files alike: each file goes to one of them, and not always to the same."""
    first, second = deals(tmp_path, shuffle)
    for one, two in zip(first, second, strict=True):
        assert sorted([*one, *two]) == [0, 1, 2, 3, 4]
    assert len({frozenset(one) for one in first}) > 1


def test_files_stay_with_their_shard_without_a_shuffle(tmp_path: Path) -> None:
    assert deals(tmp_path, False, 2) == [[{0, 2, 4}] * 2, [{1, 3}] * 2]


def test_all_rows_of_every_file_come_though_files_differ(tmp_path: Path, no_leaks: None) -> None:
    first, second = ([], [])
    deals(tmp_path, False, 1)
    files = [str(tmp_path / f"{n}.tfrecord") for n in range(5)]
    for shard, epochs in enumerate((first, second)):
        data = TFRecordDataset(files, num_shards=2, shard_id=shard).batch(2)
        rows = data.create_dict_iterator(num_epochs=5, output_numpy=True)
        epochs += [sorted(n for row in rows for n in row["a"][:, 0].tolist()) for _ in range(5)]
    for one, two in zip(first, second, strict=True):
        assert sorted(one + two) == [0, 1, 2, 10, 11, 12, 20, 21, 30, 31, 32, 40, 41, 42]
    assert len({len(one) for one in first}) > 1, "a shard is as long as the files it got"


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
        (lambda d: record(b"\xff\xff\xff"), "not an Example"),
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
