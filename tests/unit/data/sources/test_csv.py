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

from millrace._src.core.errors import FormatError, PlanError
from millrace._src.data.formats.csv import records as csv_rows
from millrace._src.data.formats.csv.number_parser import parse_plain_floats, parse_plain_ints
from millrace._src.data.formats.files.byte_ranges import RowBlock
from millrace._src.data.sources.csv import CSVDataset


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
    assert parse_plain_ints([str(n) for n in numbers]).tolist() == numbers


@given(st.lists(st.decimals(-(10**9), 10**9, places=4, allow_nan=False), min_size=1))
def test_plain_floats(numbers: list[Any]) -> None:
    texts = [f"{n:f}" for n in numbers]
    floats = parse_plain_floats(texts)
    if floats is not None:
        assert floats.tolist() == [float(text) for text in texts]


@pytest.mark.parametrize(
    "texts", [["1", ""], ["1-2"], ["-"], ["."], ["1.2.3"], ["1e5"], ["1_0"], ["٣"], ["+1"], ["nan"]]
)
def test_what_is_not_plain(texts: list[str]) -> None:
    assert parse_plain_floats(texts) is None
    assert parse_plain_ints(texts) is None


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
        ('1,2\n1,a"b\n', {}, "never closed; the last one is on line 2"),
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


# --- the fast ways give what the plain one gives -----------------------------------------------------------------

FIELD = st.one_of(
    st.integers(-(2**33), 2**33).map(str),
    st.floats(width=64).map(repr),
    st.text('ab"1,. \n-xé', max_size=6),
    st.text("ab1,.\n-x é", max_size=6).map(lambda text: f'"{text}"'),
    st.sampled_from(
        ["", '""', '"a""b"', "0x1f", "1e5", "nan", "-inf", ".5", "1.", "12abc", '"7"', "+3", "1_0", "NA"]
    ),
)


def outcome(path: Path, kinds: list[type], delimiter: str) -> Any:
    form = csv_rows.CsvFormat([f"c{n}" for n in range(len(kinds))], kinds, delimiter)
    try:
        spans = form.scan(str(path))
        block = RowBlock(path.read_bytes(), spans.starts, spans.stops, str(path), np.arange(len(spans)))
        columns = form.rows(block) if len(spans) else {}
    except FormatError as error:
        return str(error)
    return [(name, str(np.asarray(c).dtype), np.asarray(c).tolist()) for name, c in columns.items()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=120, deadline=None)
@given(
    rows=st.lists(st.lists(FIELD, min_size=1, max_size=4), min_size=1, max_size=5),
    kinds=st.lists(st.sampled_from([int, float, str]), min_size=1, max_size=4),
    even=st.booleans(),
    delimiter=st.sampled_from([",", ";", "\t", "::"]),
)
def test_the_fast_ways_agree_with_the_plain_one(
    tmp_path: Path, rows: Any, kinds: Any, even: bool, delimiter: str
) -> None:
    """Through pyarrow, through csv.reader, and sign by sign: the same columns, or the same error."""
    if even:  # as many fields as there are columns, or nearly every example would be an error
        rows = [(row * 4)[: len(kinds)] for row in rows]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(delimiter.join(row) for row in rows), newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "ARROW_FROM", -1)
        fast = outcome(path, kinds, delimiter)
        patch.setattr(csv_rows, "parse_with_arrow", lambda *_: None)
        middle = outcome(path, kinds, delimiter)
        patch.setattr(csv_rows, "_split_with_csv_module", lambda pieces, _: [None] * len(pieces))
        plain = outcome(path, kinds, delimiter)
    assert repr(fast) == repr(middle) == repr(plain)


def test_a_file_that_is_long_enough_goes_through_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    calls = []
    real = csv_rows.parse_with_arrow
    monkeypatch.setattr(csv_rows, "ARROW_FROM", 100)
    monkeypatch.setattr(csv_rows, "parse_with_arrow", lambda *given: calls.append(real(*given)) or calls[-1])
    path = tmp_path / "t.csv"
    path.write_text("".join(f'{n},{n / 4},"a, {n}"\n' for n in range(400)))
    data = CSVDataset(str(path), column_defaults=[0, 0.0, ""], column_names=["n", "x", "s"], shuffle=False)
    batches = list(data.batch(50).create_dict_iterator(num_epochs=1, output_numpy=True))
    assert (
        sum(batch["n"].tolist() == list(range(50 * i, 50 * i + 50)) for i, batch in enumerate(batches)) == 8
    )
    assert batches[7]["s"][-1] == "a, 399"
    assert calls
    assert all(columns is not None for columns in calls)
