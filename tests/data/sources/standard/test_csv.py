"""CSV: any text survives, numbers are those of Python, damage is named with its line."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.core.errors import FormatError, PlanError
from millrace.data.formats.numbers import plain_floats, plain_ints
from millrace.data.sources.csv import CSVDataset


def rows_of(path: Path, text: str, **options: Any) -> list[list[Any]]:
    path.write_bytes(text.encode())
    data = CSVDataset(str(path), shuffle=False, **options)
    return [
        [value.item() for value in row] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    ]


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=8))
def test_any_text(rows: list[tuple[str, ...]], tmp_path: Path) -> None:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    got = rows_of(tmp_path / "t.csv", file.getvalue(), column_names=["a", "b", "c"])
    assert got == [list(row) for row in rows]


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1))
def test_plain_ints(numbers: list[int]) -> None:
    assert plain_ints([str(n) for n in numbers]).tolist() == numbers


@given(st.lists(st.decimals(-(10**9), 10**9, places=4, allow_nan=False), min_size=1))
def test_plain_floats(numbers: list[Any]) -> None:
    texts = [f"{n:f}" for n in numbers]
    found = plain_floats(texts)
    if found is not None:
        assert found.tolist() == [float(text) for text in texts]


@pytest.mark.parametrize(
    "texts", [["1", ""], ["1-2"], ["-"], ["."], ["1.2.3"], ["1e5"], ["1_0"], ["٣"], ["+1"], ["nan"]]
)
def test_what_is_not_plain(texts: list[str]) -> None:
    assert plain_floats(texts) is None
    assert plain_ints(texts) is None


def test_numbers_as_c_reads_them(tmp_path: Path) -> None:
    got = rows_of(
        tmp_path / "t.csv",
        "1.5, 7 ,nan\n3x,-0.0,1e3\n",
        column_names=list("abc"),
        column_defaults=[0, 0.0, 0.0],
    )
    assert got[0][:2] == [1, 7.0]
    assert got[1] == [3, 0.0, 1000.0]
    assert np.isnan(got[0][2])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1,2\n3\n", {}, "at line 2.*1 fields, but there are 2"),
        ("1,2\n3,4,5\n", {}, "at line 2.*3 fields"),
        ('1,2\n1,a"b\n', {}, "never closed; the last one stands in line 2"),
        ('1,a"b"\n', {}, "at line 1.*quote"),
        ('1,"a"b\n', {}, "at line 1.*quote"),
        ('1,"ab\n', {}, "never closed"),
        ("1,99999999999\n", {"column_defaults": ["", 1]}, "value out of range"),
        ("1,2\n1,x\n", {"column_defaults": ["", 1]}, "at line 2.*type does not match"),
        ("", {}, "no data found"),
    ],
)
def test_damage_is_named(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises((FormatError, PlanError), match=message) as caught:
        rows_of(tmp_path / "bad.csv", text, column_names=["a", "b"], **options)
    assert "bad.csv" in str(caught.value)


def test_line_ends(tmp_path: Path) -> None:
    names = {"column_names": ["a", "b"]}
    assert rows_of(tmp_path / "t", "1,2\r\n\r\n3,4\r\n", **names) == [["1", "2"], ["3", "4"]]
    assert rows_of(tmp_path / "t", "1,2\r3,4", **names) == [["1", "2"], ["3", "4"]]
    assert rows_of(tmp_path / "t", '"a\r\nb",2\n', **names) == [["a\r\nb", "2"]]


@pytest.mark.parametrize("wrong", ['"', "\n", ",,", ""])
def test_delimiter(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ValueError, match="field_delim is invalid"):
        rows_of(tmp_path / "t", "1,2\n", field_delim=wrong)
