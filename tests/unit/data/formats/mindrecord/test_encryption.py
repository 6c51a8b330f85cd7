"""Encrypted sets."""

import pytest

from millrace._src.core.errors import ArgumentValueError, FormatError
from millrace._src.core.io import encrypted_stream
from millrace._src.data.formats.mindrecord import FileReader, FileWriter, MindRecordReader
from millrace._src.data.formats.mindrecord import encryption as crypto
from millrace.mindrecord import set_dec_mode, set_enc_key, set_enc_mode

from .helpers import FIXTURES, copied, rows_of, write

pytest.importorskip("cryptography")

KEY = "0123456789abcdef"
SCHEMA = {"id": {"type": "int32"}, "b": {"type": "bytes"}}
ROWS = [{"id": n, "b": bytes([n]) * 5} for n in range(4)]


@pytest.fixture(autouse=True)
def plain_again():
    """Without a key before and after each test: the settings are those of the process."""
    reset()
    yield
    reset()


def reset():
    set_enc_key(None)
    set_enc_mode()
    set_dec_mode(None)


@pytest.mark.parametrize("size", [16, 24, 32])
def test_round_trip(tmp_path, size):
    set_enc_key("k" * size)
    path = write(tmp_path / "x", SCHEMA, [ROWS])
    assert list(FileReader(str(path)).get_next()) == ROWS
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x", "x.db"]  # no plain text left
    assert path.read_bytes().endswith(b"AES-GCMENCRYPT")
    assert (tmp_path / "x.db").read_bytes().endswith(b"AES-GCMENCRYPT")
    writer = FileWriter.open_for_append(str(path))
    writer.write_raw_data(ROWS)
    writer.commit()
    assert rows_of(path) == ROWS + ROWS
    set_enc_key(None)
    with pytest.raises(FormatError, match="set_enc_key"):
        MindRecordReader(path)
    set_enc_key("x" * size)
    with pytest.raises(FormatError, match="the key is not the right one, or the file was changed"):
        MindRecordReader(path)


def test_a_lost_index_is_rebuilt_encrypted(tmp_path):
    path = copied("encrypted.mindrecord", tmp_path)
    (tmp_path / "encrypted.mindrecord.db").unlink()
    set_enc_key(KEY)
    with pytest.warns(UserWarning, match="rebuilt"):
        assert rows_of(path) == ROWS
    assert (tmp_path / "encrypted.mindrecord.db").read_bytes().endswith(b"AES-GCMENCRYPT")
    assert rows_of(path) == ROWS  # and now without a word


def test_every_damaged_byte_is_noticed(tmp_path):
    data = bytearray((FIXTURES / "encrypted.mindrecord").read_bytes())
    path = tmp_path / "encrypted.mindrecord"
    set_enc_key(KEY)
    for at in [*range(52), 5000, len(data) - 19, len(data) - 15, len(data) - 1]:
        data[at] ^= 1
        path.write_bytes(data)
        data[at] ^= 1
        if 32 + 4 + 12 - 4 <= at < 32 + 4 + 12:
            continue  # the four bytes of the IV that are stored and not used
        with pytest.raises(FormatError):
            MindRecordReader(path, check_index=False)


def test_plain_file_with_a_key(tmp_path):
    path = copied("tiny.mindrecord", tmp_path)
    set_enc_key(KEY)
    with pytest.raises(FormatError, match="not encrypted"):
        MindRecordReader(path)


def test_functions_of_the_user(tmp_path):
    def swap(source, size, target, key):
        assert key == KEY
        target.write(bytes(b ^ 7 for b in source.read()))

    def back(source, size, target, key):
        data = source.read(size)
        assert data.endswith(b"\0\0\0\0UDF-ENC")
        target.write(bytes(b ^ 7 for b in data[:-11]))

    set_enc_key(KEY)
    set_enc_mode(swap)
    path = write(tmp_path / "x", SCHEMA, [ROWS])
    with pytest.raises(FormatError, match="set_dec_mode"):
        MindRecordReader(path)
    set_dec_mode(back)
    assert rows_of(path) == ROWS


def test_wrong_arguments(tmp_path):
    for bad in ("short", 16, b"0123456789abcdef"):
        with pytest.raises(ArgumentValueError):
            set_enc_key(bad)
    for change in (set_enc_mode, set_dec_mode):
        with pytest.raises(ArgumentValueError):
            change("AES-CBC")
    set_enc_key(KEY)
    with pytest.raises(ArgumentValueError, match="shard_num=1"):
        write(tmp_path / "x", SCHEMA, [ROWS], shards=2)
    assert crypto.current().key == KEY.encode()


# --- AES-GCM-STREAM ---------------------------------------------------------------------------------------------

STREAM = "AES-GCM-STREAM"
BLOCK = 4096


@pytest.fixture
def stream(monkeypatch):
    """Sets of a few blocks."""
    monkeypatch.setattr(encrypted_stream.StreamWriter.__init__, "__defaults__", (BLOCK,))
    set_enc_key(KEY)
    set_enc_mode(STREAM)


def test_stream_round_trip(tmp_path, stream):
    path = write(tmp_path / "x", SCHEMA, [ROWS])
    assert path.read_bytes().endswith(b"AES-STRENCRYPT")
    assert (tmp_path / "x.db").read_bytes().endswith(b"AES-STRENCRYPT")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x", "x.db"]  # no plain text left
    assert rows_of(path) == ROWS
    writer = FileWriter.open_for_append(str(path))
    writer.write_raw_data(ROWS)
    writer.commit()
    assert rows_of(path) == ROWS + ROWS
    (tmp_path / "x.db").unlink()
    with pytest.warns(UserWarning, match="rebuilt"):
        assert rows_of(path) == ROWS + ROWS
    assert (tmp_path / "x.db").read_bytes().endswith(b"AES-STRENCRYPT")


def test_one_mode_is_never_read_as_the_other(tmp_path, stream):
    path = write(tmp_path / "x", SCHEMA, [ROWS])
    set_enc_mode()
    with pytest.raises(FormatError, match=r"expected a file encrypted with AES-GCM, got AES-GCM-STREAM"):
        MindRecordReader(path)
    set_dec_mode(STREAM)
    assert rows_of(path) == ROWS
    old = write(tmp_path / "old", SCHEMA, [ROWS])
    with pytest.raises(FormatError, match=r"got AES-GCM\. Call set_dec_mode\('AES-GCM'\)"):
        MindRecordReader(old)
    set_dec_mode(None)
    assert rows_of(old) == ROWS


def parts_of(data: bytes) -> tuple[bytes, list[bytes], bytes]:
    head, tail, step = encrypted_stream.HEADER.size, len(data) - 18, BLOCK + 16
    return data[:head], [data[at : min(at + step, tail)] for at in range(head, tail, step)], data[tail:]


def test_exchanged_repeated_and_dropped_blocks_are_refused(tmp_path, stream):
    first = write(tmp_path / "a", SCHEMA, [ROWS])
    second = write(tmp_path / "b", SCHEMA, [[{"id": 9 - n, "b": b"other"} for n in range(4)]])
    head, blocks, tail = parts_of(first.read_bytes())
    _, second_blocks, _ = parts_of(second.read_bytes())
    assert len(blocks) == len(second_blocks) > 4
    target = tmp_path / "a"
    cases = [blocks[:n] + blocks[n + 1 :] for n in range(len(blocks))]  # one dropped
    cases += [[*blocks[:n], blocks[n], *blocks[n:]] for n in range(len(blocks))]  # one repeated
    cases += [blocks[:n] for n in range(len(blocks))]  # cut at a border
    cases += [
        [*blocks[:n], second_blocks[n], *blocks[n + 1 :]] for n in range(len(blocks))
    ]  # one of another file
    cases += [
        [*blocks[:n], blocks[n + 1], blocks[n], *blocks[n + 2 :]] for n in range(len(blocks) - 1)
    ]  # exchanged
    cases += [second_blocks, [*blocks, b"x" * 16]]
    for case in cases:
        assert case != blocks
        target.write_bytes(head + b"".join(case) + tail)
        with pytest.raises(FormatError, match="cannot decrypt"):
            MindRecordReader(target)
    target.write_bytes(head + b"".join(blocks) + tail)
    assert rows_of(target) == ROWS


def test_mindspores_format_cannot_notice_a_block_of_another_file(tmp_path, monkeypatch):
    """What the documentation says of it: it is why the other mode exists."""
    monkeypatch.setattr(crypto, "_BLOCK", BLOCK)
    set_enc_key(KEY)
    first = write(tmp_path / "a", SCHEMA, [ROWS])
    second = write(tmp_path / "b", SCHEMA, [[{"id": 9 - n, "b": b"other"} for n in range(4)]])
    data, second_data = bytearray(first.read_bytes()), second.read_bytes()
    step = 4 + 4 + 16 + 28 + BLOCK
    count = (len(data) - 18) // step
    assert count > 4
    for n in range(1, count):  # all but the first block, which has the header
        data[n * step : (n + 1) * step] = second_data[n * step : (n + 1) * step]
    first.write_bytes(bytes(data))
    mixed = rows_of(first)
    assert mixed not in (ROWS, rows_of(second))
    assert {row["b"] for row in mixed} == {b"other"}
