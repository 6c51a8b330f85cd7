"""Whatever is done to a file, repair saves rows of it and never makes one up; it says what it lost.

Without checksums, damage inside a value that leaves all lengths alone cannot be seen; such a row may be saved, with
its damage. Everything else holds with any evidence: none, the index, checksums, both.
"""

import random

import numpy as np
import pytest

from millrace._src.data.formats.mindrecord import FileReader, FileWriter, MindRecordReader
from millrace._src.data.formats.mindrecord.checksums import read_checksums
from millrace._src.data.formats.mindrecord.recovery.repair import repair
from millrace._src.data.formats.mindrecord.recovery.verify import add_checksums, verify
from tests.unit.data.formats.mindrecord.helpers import rows_of

ROWS, HEADER, PAGE = 150, 1 << 14, 1 << 15
INT, TEXT, BYTES = {"type": "int32"}, {"type": "string"}, {"type": "bytes"}
SCHEMAS = {
    "image": {"label": INT, "data": BYTES},
    "two": {"n": INT, "a": BYTES, "v": {"type": "int64", "shape": [-1]}},
    "scalars": {"n": INT, "s": TEXT},
    "matrix": {"x": {"type": "float32", "shape": [8, 20]}},
}
DAMAGE_TYPES = [
    "zeros",
    "noise",
    "zeros over a boundary",
    "noise over a boundary",
    "cut",
    "swap",
    "header",
    "scalars",
]


def value(field, k):
    draw = np.random.default_rng(k)
    if field == BYTES:  # the ends of an image, much noise, and zeros that read as lengths
        body = draw.integers(0, 256, 400 + 9 * (k % 60), np.uint8).tobytes()
        return b"\xff\xd8" + body + bytes(8 * (k % 5)) + b"\xff\xd9"
    if field == INT:
        return k
    if field == TEXT:
        return f"row {k} " * (k % 40 + 1)
    return (
        draw.integers(-9, 9, k % 7).astype(np.int64)
        if field["type"] == "int64"
        else draw.random((8, 20), np.float32)
    )


def make(folder, name, index, checksums):
    path = folder / "x"
    writer = FileWriter(str(path), overwrite=True, checksums=checksums)
    writer.set_header_size(HEADER), writer.set_page_size(PAGE)
    writer.add_schema(SCHEMAS[name])
    writer.write_raw_data(
        [{key: value(field, k) for key, field in SCHEMAS[name].items()} for k in range(ROWS)]
    )
    writer.commit()
    if not index:
        (folder / "x.db").unlink()
    return path


def spans(path):
    """Return the payloads of all rows: (raw start, raw end, blob start, blob end)."""
    with MindRecordReader([path], check_index=False) as reader:
        shard = reader.shards[0]
        data, ranges = shard.map(), []
        for group in shard.groups:
            ranges += zip(
                *(p.tolist() for p in (*shard.raw_ranges(data, group), *shard.blob_ranges(data, group)))
            )
        return ranges


def damage(data, kind, draw, places, header):
    """Change some bytes of a file."""
    size = draw.choice([1, 5, 40, 700, 5000])
    hit = bytes(size) if kind in ("zeros", "zeros over a boundary") else draw.randbytes(size)
    blobs = [place[2] - 8 for place in places]
    if kind == "cut":
        return data[: draw.randrange(HEADER, len(data))]
    if kind == "swap":
        a, b = draw.sample([page.id for page in header.pages if page.used > 100], 2)
        one, two = HEADER + a * PAGE, HEADER + b * PAGE
        data = data.ljust(HEADER + (max(a, b) + 1) * PAGE, b"\0")
        first, second = data[one : one + PAGE], data[two : two + PAGE]
        data = bytearray(data)
        data[one : one + PAGE], data[two : two + PAGE] = second, first
        return bytes(data)
    if kind == "header":
        length = int.from_bytes(data[:8], "little")
        at, hit = draw.randrange(length), draw.choice([bytes(64), draw.randbytes(64)])
    elif kind == "scalars":
        at, hit = draw.choice(places)[0] - draw.randrange(12), draw.choice([bytes(30), draw.randbytes(30)])
    elif "boundary" in kind:
        at = draw.choice(blobs[1:]) - draw.randrange(size)
    else:
        at = draw.randrange(HEADER, len(data) - size)
    return data[:at] + hit + data[at + len(hit) :]


def payloads(data, place):
    a, b, c, d = place
    return data[a:b], data[c:d]


def real(pair, name):
    """Return a row without the dummies of parts that the schema leaves empty."""
    return pair[0] if name == "scalars" else pair[1] if name == "matrix" else pair


@pytest.mark.parametrize("evidence", ["nothing", "index", "checksums", "both"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_no_row_is_ever_made_up(tmp_path, name, evidence):
    index, checksums = evidence in ("index", "both"), evidence in ("checksums", "both")
    path = make(tmp_path, name, index, checksums)
    original, row_spans = path.read_bytes(), spans(path)
    with MindRecordReader([path], check_index=False) as reader:
        header = reader.shards[0].header
    rows = [real(payloads(original, span), name) for span in row_spans]
    for number, damage_type in enumerate(DAMAGE_TYPES * 2):
        draw = random.Random(f"{name} {number}")
        data = damage(original, damage_type, draw, row_spans, header)
        path.write_bytes(data)
        try:
            done = repair(path, tmp_path / "y", overwrite=True)
        except RuntimeError as error:
            assert damage_type == "header" and not checksums and "no header" in str(error)  # noqa: PT018, PT017
            continue
        repaired = (tmp_path / "y").read_bytes()
        saved = [real(payloads(repaired, span), name) for span in spans(tmp_path / "y")]
        assert len(saved) == done.saved
        assert (done.saved + done.lost == ROWS) or not done.total_known, damage_type
        # where each row was: its bytes as they lie there now, with true lengths before and behind it
        now = [real(payloads(data, span), name) for span in row_spans]
        numbers = iter(range(ROWS))
        for pair in saved:
            if damage_type == "swap" and name == "matrix" and not checksums:
                assert pair in rows  # pages of equal rows may change places unseen
            else:
                assert any(
                    pair == (rows[k] if checksums or damage_type == "swap" else now[k]) for k in numbers
                ), damage_type
        whole = [k for k in range(ROWS) if now[k] == rows[k]]
        if checksums:
            assert saved == [rows[k] for k in whole], damage_type
        elif index and damage_type not in ("header", "swap"):
            touched = sum(
                any(data[s - 8 : e] != original[s - 8 : e] for s, e in (p[:2], p[2:])) for p in row_spans
            )
            assert done.lost <= 2 * touched, damage_type
        result = verify(path)
        assert (result.rows_lost, result.total_known) == (done.lost, done.total_known), damage_type
        if done.lost:
            assert not result.ok
            named = [p for p in result.problems if p.row is not None]
            assert sum((p.last_row or p.row) - p.row + 1 for p in named) >= done.lost


def test_zeros_over_a_boundary_do_not_become_empty_images(tmp_path):
    """What once saved 276 rows that were never in the file and said that none was lost."""
    path = make(tmp_path, "image", index=False, checksums=False)
    row_spans = spans(path)
    at = row_spans[20][2] - 8
    data = path.read_bytes()
    path.write_bytes(data[: at - 100] + bytes(2208) + data[at - 100 + 2208 :])
    done = repair(path, tmp_path / "y")
    assert done.lost > 0
    assert done.saved + done.lost == ROWS
    originals = [value(BYTES, k) for k in range(ROWS)]
    for row in rows_of(tmp_path / "y"):
        assert row["data"] == originals[row["label"]]


def test_with_the_index_only_the_damaged_rows_are_lost(tmp_path):
    path = make(tmp_path, "image", index=True, checksums=False)
    row_spans = spans(path)
    first, last = (
        row_spans[19][3] - 50,
        row_spans[22][2] + 10,
    )  # the end of 19, all of 20 and 21, the front of 22
    data = path.read_bytes()
    path.write_bytes(data[:first] + bytes(last - first) + data[last:])
    assert [(p.row, p.last_row) for p in verify(path).problems] == [(19, None), (20, 22)]
    done = repair(path, tmp_path / "y")
    assert (done.saved, done.lost) == (ROWS - 4, 4)
    assert [row["label"] for row in rows_of(tmp_path / "y")] == [k for k in range(ROWS) if not 19 <= k <= 22]


def test_checksums_see_inside_values_and_save_what_has_lost_its_length(tmp_path):
    path = make(tmp_path, "image", index=False, checksums=True)
    row_spans = spans(path)
    data = bytearray(path.read_bytes())
    data[row_spans[5][2] + 100] ^= 1  # one bit of an image
    data[row_spans[9][2] - 8 : row_spans[9][2]] = b"\xff" * 8  # one length
    path.write_bytes(data)
    result = verify(path)
    assert result.rows_lost == 1
    assert {p.row: p.text for p in result.problems}[5] == "its checksum does not match"
    assert "the checksums match, so the row is intact" in {p.row: p.text for p in result.problems}[9]
    done = repair(path, tmp_path / "y")
    assert (done.saved, done.lost) == (ROWS - 1, 1)
    assert verify(tmp_path / "y").checksums == 1


def test_checksums_bring_back_a_lost_header(tmp_path):
    path = make(tmp_path, "image", index=False, checksums=True)
    data = path.read_bytes()
    path.write_bytes(bytes(3000) + data[3000:])
    assert not verify(path).ok
    assert (repair(path, tmp_path / "y").saved, verify(tmp_path / "y").ok) == (ROWS, True)


def test_checksums_of_an_older_state_are_noticed_and_not_used(tmp_path):
    path = make(tmp_path, "image", index=True, checksums=True)
    old = (tmp_path / "x.crc").read_bytes()
    writer = FileWriter.open_for_append(str(path))
    writer.write_raw_data([{"label": 1000, "data": b"more"}])
    writer.commit()
    assert verify(path).checksums == 1  # a set that has them keeps them up
    (tmp_path / "x.crc").write_bytes(old)
    result = verify(path)
    assert not result.problems
    assert ["another state of the file" in p.text for p in result.index_problems] == [True]
    assert repair(path, tmp_path / "y").saved == ROWS + 1
    add_checksums(path)
    assert verify(path).ok
    make(tmp_path, "image", index=True, checksums=False)  # writing without them removes them
    assert not (tmp_path / "x.crc").exists()


def test_damaged_checksums_are_said_to_be_and_not_used(tmp_path):
    path = make(tmp_path, "image", index=True, checksums=True)
    content = bytearray((tmp_path / "x.crc").read_bytes())
    content[-100] ^= 1
    (tmp_path / "x.crc").write_bytes(content)
    assert read_checksums(path) == "it is damaged itself"
    assert [p.text for p in verify(path).index_problems] == ["it is damaged itself"]
    assert FileReader(str(path)).len() == ROWS
