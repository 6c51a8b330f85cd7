"""JSON: what the fast parser gives is what Python's gives, and so are the errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.annotations import read_json
from millrace._src.data.formats.files.byte_ranges import RowBlock
from millrace._src.data.formats.json_decoder import decode_json, decode_json_lines
from millrace._src.data.formats.text.json_lines import JsonLines


def outcome(parse: Any, data: bytes) -> str:
    try:
        return repr(parse(data))
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


ODD = r"""1e400|-0|-0.0|18446744073709551616|-9223372036854775809|NaN|-Infinity|"\ud800"|"\ud83d\ude00"|{"a":1,"a":2}|
[1,]|{"a":1}x|01|1.|.5|-|tru||"\u0000"|"a\/b"|123456789.123456789123456789|1e-400|{"a": [1 , 2]} |nul"""


@pytest.mark.parametrize("text", [*ODD.replace("\n", "").split("|"), "\ufeff[1]", '"\t"', "[" * 9 + "]" * 9])
def test_odd_text(text: str) -> None:
    assert outcome(decode_json, text.encode()) == outcome(json.loads, text.encode())


@pytest.mark.parametrize("data", [b'"\xff"', b'{"a": "\xc3("}', "[1]".encode("utf-16")])
def test_odd_bytes(data: bytes) -> None:
    assert outcome(decode_json, data) == outcome(json.loads, data)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=6,
)


@given(VALUES, st.booleans())
def test_any_value(value: Any, plain: bool) -> None:
    text = json.dumps(value, ensure_ascii=plain).encode("utf-8", "surrogatepass")
    assert outcome(decode_json, text) == outcome(json.loads, text)


@given(st.binary(max_size=30))
def test_any_bytes(data: bytes) -> None:
    assert outcome(decode_json, data) == outcome(json.loads, data)


def test_lines_at_once_or_one_by_one() -> None:
    assert decode_json_lines([b"1", b'{"a": [2]}']) == [1, {"a": [2]}]
    assert decode_json_lines([b"1", b"NaN"]) is None
    assert decode_json_lines([b"1 2", b"3"]) is None
    assert decode_json_lines([b"1", b" "]) is None


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"a": 1}\n{"a": NaN}\n{"a": }\n')
    form = JsonLines({"a": ("a",)})
    spans = form.scan(str(path))

    def rows(count: int) -> Any:
        block = RowBlock(
            path.read_bytes(), spans.starts[:count], spans.stops[:count], str(path), np.arange(count)
        )
        return form.rows(block)["a"]

    assert [float(value) for value in rows(2)[:1]] == [1.0]
    assert np.isnan(rows(2)[1])
    with pytest.raises(FormatError, match=r"t\.json at line 3, Expecting value: line 1 column 7 \(char 6\)"):
        rows(3)
    with pytest.raises(
        FormatError, match=r"failed to parse json file: Extra data: line 2 column 1[\s\S]*t\.json"
    ):
        read_json(path)
