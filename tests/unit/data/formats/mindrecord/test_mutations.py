"""Damaged and hostile files: an error of ours or right rows, never a crash, a hang or a huge allocation."""

import json
import random
import struct
import tracemalloc

import numpy as np
import pytest

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.mindrecord import MindRecordReader

from .helpers import FIXTURES, OLD, assert_same, write

NAMES = ["scalars", "multi_label", "packed_multi", "strings", "two_images", "pages", "arrays", "append"]


def original(name):
    folder, name = (OLD, "aclImdb.mindrecord0") if name == "old" else (FIXTURES, f"{name}.mindrecord")
    return (folder / name).read_bytes()


def read(path, data):
    """Return the rows of a file with these bytes, read by blocks and one by one, or None for our error."""
    path.write_bytes(data)
    try:
        with MindRecordReader([path], check_index=False) as reader:
            rows = list(reader.rows())
            reader.read(np.arange(len(reader))[::-1])
            assert len(rows) == len(reader)
            return rows
    except FormatError as error:
        if str(path) not in str(error):
            raise  # an error that does not name its file is a crash too
        return None


def header_of(data):
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length])


def with_header(data, text):
    """Put another header in the place of the old one."""
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    front = len(text).to_bytes(8, "little") + text
    return front + data[len(front) :] if len(front) <= 16384 else front


def used_spans(header):
    """Return where the used bytes of the pages lie."""
    return [
        (header["header_size"] + page["page_id"] * header["page_size"], page["page_size"])
        for page in header["page"]
    ]


@pytest.mark.parametrize("name", [*NAMES, "old"])
def test_truncated_files_are_refused(name, tmp_path):  # 9 x 30
    data = original(name)
    draw = random.Random(name)
    for _ in range(30):
        size = draw.choice(
            [draw.randrange(16), draw.randrange(900), draw.randrange(len(data)), len(data) - 1]
        )
        assert read(tmp_path / "x", data[:size]) is None


@pytest.mark.parametrize("name", [*NAMES, "old"])
def test_flipped_bits_give_an_error_or_as_many_rows(name, tmp_path):  # 9 x 90
    data = original(name)
    draw = random.Random(name)
    rows = read(tmp_path / "x", data)
    spans = [(0, 8 + int.from_bytes(data[:8], "little")), *used_spans(header_of(data))]
    for _ in range(90):
        start, size = draw.choice(spans)
        changed = bytearray(data)
        for _ in range(draw.choice([1, 1, 1, 4, 40])):
            changed[start + draw.randrange(size)] ^= 1 << draw.randrange(8)
        values = read(tmp_path / "x", changed)
        assert values is None or len(values) == len(rows)


def frames(data):
    """Return the places of all row lengths."""
    header = header_of(data)
    offsets = []
    for start, size in used_spans(header):
        at = start
        while at < start + size:
            offsets.append(at)
            at += 8 + int.from_bytes(data[at : at + 8], "little")
    return offsets


LIES = [0, 1, 7, 8, 255, 2**16, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 9, 2**64 - 8, 2**64 - 1]


@pytest.mark.parametrize("name", [*NAMES, "old"])
def test_lengths_of_rows_that_lie_are_noticed(name, tmp_path):  # 9 x 45
    data = original(name)
    wanted = read(tmp_path / "x", data)
    offsets = frames(data)
    draw = random.Random(name)
    for _ in range(45):
        at = draw.choice(offsets)
        true = int.from_bytes(data[at : at + 8], "little")
        lie = draw.choice([*LIES, true + 1, max(true - 1, 0), true + draw.randrange(100)])
        if lie != true:
            rows = read(tmp_path / "x", data[:at] + struct.pack("<Q", lie) + data[at + 8 :])
            if rows is not None:  # a dummy row, which nobody needs to read
                assert_same(rows, wanted)


@pytest.mark.parametrize("name", ["multi_label", "packed_multi", "two_images", "arrays", "append", "old"])
def test_lengths_of_fields_that_lie_are_noticed(name, tmp_path):  # 6 x 45
    data = original(name)
    header = header_of(data)
    draw = random.Random(name)
    count = len(header["schema"][0]["blob_fields"])
    start = used_spans(header)[0][0]
    for _ in range(45):
        at = start
        for _ in range(draw.randrange(3)):  # some row
            at += 8 + int.from_bytes(data[at : at + 8], "little")
        at += 8
        for _ in range(draw.randrange(count)):  # some field
            at += 8 + int.from_bytes(data[at : at + 8], "big")
        true = int.from_bytes(data[at : at + 8], "big")
        lie = draw.choice([*LIES, true + 1, max(true - 1, 0), true + 8])
        if lie != true:
            assert read(tmp_path / "x", data[:at] + struct.pack(">Q", lie) + data[at + 8 :]) is None


NUMBERS = [
    -1,
    0,
    1,
    2,
    3,
    7,
    500,
    2**15,
    2**20,
    2**31,
    2**32,
    2**62,
    2**63,
    2**64,
    10**30,
    1.5,
    None,
    "1",
    [],
    True,
]


@pytest.mark.parametrize("name", [*NAMES, "old"])
def test_numbers_of_the_header_that_lie(name, tmp_path):  # 9 x 60
    data = original(name)
    wanted = read(tmp_path / "x", data)
    draw = random.Random(name)
    for _ in range(60):
        header = header_of(data)
        page = draw.choice(header["page"])
        group = draw.choice(page["row_group_ids"])
        entry = draw.choice([header, page, page, page, group])
        key = draw.choice([key for key, value in entry.items() if type(value) is int])
        entry[key] = draw.choice(NUMBERS)
        rows = read(tmp_path / "x", with_header(data, header))
        if rows is not None:
            assert_same(rows, wanted)


HEADERS = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b"nan",
    b'"' + b"a" * 9000,
    b"[" * 9000,
    b'{"a":' * 2500,
    b"1" * 9000,
    b"-" + b"9" * 5000,
    b"\xff\xfe{}",
    b"{\x00}",
    '{"ü": 1}'.encode("latin-1"),
]


@pytest.mark.parametrize("text", HEADERS, ids=range(len(HEADERS)))
def test_hostile_headers_are_refused(text, tmp_path):
    assert read(tmp_path / "x", with_header(original("tiny"), text)) is None


ODD = [
    None,
    True,
    3,
    -1,
    1e300,
    "",
    "x",
    "../x",
    "a/b",
    "\0",
    [],
    {},
    [[]],
    [{}],
    {"x": {}},
    ["a", "a"],
    [None],
]


def test_headers_with_one_part_replaced(tmp_path):
    data = original("tiny")
    wanted = read(tmp_path / "x", data)
    total = 0
    for path in _paths(header_of(data)):
        for odd in ODD:
            header = header_of(data)
            entry = header
            for key in path[:-1]:
                entry = entry[key]
            entry[path[-1]] = odd
            rows = read(tmp_path / "x", with_header(data, header))
            total += 1
            if rows is not None and "type" not in path:
                assert len(rows) == len(wanted), (path, odd)
    assert total > 500


def _paths(value, path=()):
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _paths(inner, (*path, key))


def test_sets_of_pages_that_contradict_each_other(tmp_path):
    data = original("pages")

    def changed(edit):
        header = header_of(data)
        edit(header["page"])
        return read(tmp_path / "x", with_header(data, header))

    assert changed(lambda pages: None) is not None
    raw = next(n for n, page in enumerate(header_of(data)["page"]) if page["page_type"] == "RAW_DATA")
    assert changed(lambda pages: pages.pop(0)) is None
    assert changed(lambda pages: pages.pop(raw)) is None
    assert changed(lambda pages: pages.append(pages[0])) is None
    assert changed(lambda pages: pages.append(pages[raw])) is None
    assert changed(lambda pages: pages[raw]["row_group_ids"].pop()) is None
    assert changed(lambda pages: pages[raw]["row_group_ids"].append({"id": 0, "offset": 4})) is None
    assert changed(lambda pages: pages[1].update(page_id=pages[0]["page_id"])) is None
    assert changed(lambda pages: pages[-2].update(start_row_id=0)) is None


def test_lying_lengths_cost_no_memory(tmp_path):
    """Nothing is allocated on the word of a file: at most twice its size, and what Python needs anyway."""
    draw = random.Random(1)
    tracemalloc.start()
    try:
        for name in ("scalars", "packed_multi", "packed_single", "arrays", "strings"):
            data = original(name)
            spans = used_spans(header_of(data))
            for _ in range(20):
                changed = bytearray(data)
                start, size = draw.choice(spans)
                at = start + draw.randrange(size)
                changed[at : at + 4] = draw.choice(
                    [b"\xff" * 4, b"\x7f" + b"\xff" * 3, b"\0" * 4, b"\x00\xff\xff\xff"]
                )
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                read(tmp_path / "x", changed)
                assert tracemalloc.get_traced_memory()[1] - before < 2 * len(data) + (1 << 20)
    finally:
        tracemalloc.stop()


def test_row_and_page_of_the_damage_are_named(tmp_path):
    path = write(tmp_path / "x", {"s": {"type": "string"}}, [[{"s": "é"} for _ in range(5)]])
    data = bytearray(path.read_bytes())
    at = data.rindex("é".encode())
    data[at] = 0xFF
    path.write_bytes(data)
    with MindRecordReader(path) as reader:
        assert reader.read([0, 3])["s"] == ["é", "é"]  # the others can be read
        with pytest.raises(FormatError) as caught:
            reader.read([3, 4])
    assert caught.value.context == {"file": str(path), "shard": 0, "page": 0, "row": 4, "row_in_file": 4}
