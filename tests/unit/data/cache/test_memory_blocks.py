"""Blocks, slabs, tables and shelves: what is read is what was kept, whatever became of the bytes in between."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millrace._src.core.errors import FormatError, ResourceError
from millrace._src.core.values.chunk import Chunk
from millrace._src.core.values.columns import RaggedColumn, StringColumn
from millrace._src.data.cache import memory_blocks as slabs
from millrace._src.data.cache import session_manager as rooms_of
from millrace._src.data.cache import slot_table as table
from millrace._src.data.cache.client import Connection, connect, disconnect
from millrace._src.data.cache.disk_store import folder_bytes, open_disk_store
from millrace._src.data.cache.in_process_server import in_process_address, in_process_session
from millrace._src.data.cache.row_group import encode_row_group, head_of, open_row_group, tag_of
from millrace._src.data.cache.row_store import RowStore
from millrace._src.data.cache.session_manager import SessionManager
from millrace._src.data.cache.slot_table import SlotTable, create_table, pack_slot

ROWS = 64


def chunk_of(rows: Any, width: int = 3) -> Chunk:
    """Rows whose values tell which they are, with a column of every kind."""
    rows = np.asarray(rows, np.int64)
    columns: dict[str, Any] = {
        "dense": np.repeat(rows[:, None], width, 1).astype(np.float32),
        "number": rows.copy(),
        "words": np.array([f"w{row}" for row in rows]),
        "texts": StringColumn.of([f"t{row}" for row in rows]),
        "runs": RaggedColumn(np.repeat(rows, rows % 3), np.append(0, np.cumsum(rows % 3))),
        "list": [np.full(int(row) % 4, row, np.int16) for row in rows],
    }
    return Chunk(columns, rows.astype(np.uint64), rows)


def same(columns: Any, rows: Any) -> bool:
    wanted = chunk_of(rows)
    return list(columns) == list(wanted.columns) and all(
        np.array_equal(np.asarray(columns[name][i]), np.asarray(wanted.columns[name][i]))
        for name in wanted.columns
        for i in range(len(wanted))
    )


def numbers(*rows: int) -> Any:
    return np.array(rows, np.uint64)


@pytest.fixture(params=["memory", "folder"])
def shelf(request: Any, tmp_path: Path) -> Iterator[RowStore]:
    if request.param == "memory":
        found: Any = connect(in_process_address()).open_store(in_process_session(), "key", ROWS, None, False)
    else:
        found = open_disk_store(tmp_path, "key", ROWS, None)
    yield found
    found.close()


def got(shelf: RowStore, rows: Any) -> Any:
    wanted = np.asarray(rows, np.uint64)
    return shelf.read(wanted, shelf.find(wanted))


# what was put, in any order and any company -----------------------------------------------------------


def test_rows_come_back_in_any_order_and_number(shelf: RowStore) -> None:
    assert shelf.put(chunk_of([5, 1, 9]), numbers(5, 1, 9)) == 3
    assert shelf.put(chunk_of([20, 21]), numbers(20, 21)) == 2
    for rows in ([1], [9, 5, 1], [21, 1, 20, 9], [5, 5, 5], [20, 1, 20, 1]):
        assert same(got(shelf, rows), rows), rows
    assert not shelf.find(numbers(2))[0]


def test_a_row_that_comes_twice_is_kept_once(shelf: RowStore) -> None:
    assert shelf.put(chunk_of([7, 3, 7, 7]), numbers(7, 3, 7, 7)) == 2
    assert shelf.put(chunk_of([3, 4]), numbers(3, 4)) == 1
    assert same(got(shelf, [7, 7, 3, 4]), [7, 7, 3, 4])


def test_rows_beyond_the_table_are_not_kept(shelf: RowStore) -> None:
    assert shelf.put(chunk_of([ROWS, ROWS - 1]), numbers(ROWS, ROWS - 1)) == 1
    assert shelf.put(chunk_of([0]), np.array([-1]).view(np.uint64)) == 0
    assert shelf.find(numbers(ROWS, ROWS + 7, ROWS - 1)).astype(bool).tolist() == [False, False, True]


def test_no_rows(shelf: RowStore) -> None:
    assert shelf.put(chunk_of([]), numbers()) == 0
    assert len(shelf.find(numbers())) == 0
    assert shelf.sequence(0, 10) is None
    assert SlotTable(create_table(0)).total is None


def test_what_is_read_may_be_written_to(shelf: RowStore) -> None:
    """The next op, and a user's function, write to their rows: nobody else's change."""
    big = {
        "dense": np.zeros((8, 2048), np.float32),
        "runs": RaggedColumn(np.zeros(8 * 2048, np.int32), np.arange(9) * 2048),
        "list": [np.zeros(2048, np.int16) for _ in range(8)],
    }
    rows = np.arange(8)
    shelf.put(Chunk(dict(big), rows.astype(np.uint64), rows), rows.astype(np.uint64))
    for wanted in ([0, 1, 2], [4, 2, 7]):
        columns = got(shelf, wanted)
        for name in big:
            for i in range(3):
                columns[name][i][...] = 1
        part = shelf.sequence(0, 8)
        assert part is not None
        for name in big:
            part.columns[name][0][...] = 2
        fresh = got(shelf, wanted)
        assert all(not np.any(fresh[name][i]) for name in big for i in range(3))


def test_two_threads_write_and_read(shelf: RowStore) -> None:
    wrong: list[Any] = []

    def work(start: int) -> None:
        for row in range(start, ROWS, 4):
            shelf.put(chunk_of([row]), numbers(row))
            if not same(got(shelf, [row]), [row]):
                wrong.append(row)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert same(got(shelf, range(ROWS)), range(ROWS))


def test_more_rows_than_fit_into_a_block(shelf: RowStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace._src.data.cache.row_store.MAX_ROWS_PER_GROUP", 10)
    assert shelf.put(chunk_of(range(ROWS)), np.arange(ROWS, dtype=np.uint64)) == ROWS
    assert same(got(shelf, range(ROWS)), range(ROWS))
    part = shelf.sequence(3, 100)
    assert part is not None
    assert same(part.columns, range(3, 3 + len(part)))


def test_a_forked_process_keeps_nothing_and_spoils_nothing(shelf: RowStore) -> None:
    shelf.put(chunk_of([1]), numbers(1))
    assert same(got(shelf, [1]), [1])  # mapped: the child can read it
    child = os.fork()
    if not child:
        try:
            kept = shelf.put(chunk_of([2]), numbers(2))
            os._exit(0 if kept == 0 and same(got(shelf, [1]), [1]) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    shelf.put(chunk_of([3]), numbers(3))
    assert same(got(shelf, [1, 3]), [1, 3])
    assert not shelf.find(numbers(2))[0]


def test_a_row_larger_than_a_slab() -> None:
    shelf: Any = connect(in_process_address()).open_store(in_process_session(), "large", 4, None, False)
    try:
        large = np.arange(rooms_of.FIRST_BLOCK_BYTES + 12345, dtype=np.uint8).reshape(1, -1)
        one = Chunk({"x": large}, numbers(2), np.array([2]))
        assert shelf.put(one, numbers(2)) == 1, shelf.refused
        assert np.array_equal(got(shelf, [2])["x"], large)
    finally:
        shelf.close()


# damage ----------------------------------------------------------------------------------------------


def test_a_wrong_place_gives_no_row(shelf: RowStore) -> None:
    """Whatever number stands in the table, the row that is asked for comes or none does."""
    shelf.put(chunk_of(range(10)), np.arange(10, dtype=np.uint64))
    shelf.put(chunk_of(range(10, 20)), np.arange(10, 20, dtype=np.uint64))
    right = shelf.find(np.arange(20, dtype=np.uint64)).copy()
    draws = np.random.default_rng(5)
    places = [
        *right.tolist(),
        1,
        1 << 48,
        (1 << 64) - 1,
        *(int(place) ^ (1 << k) for place in right[:2] for k in range(64)),
    ]
    places += draws.integers(0, 1 << 63, 50).tolist()
    for place in places:
        row = int(draws.integers(20))
        shelf.table.put(numbers(row), np.array([place], np.uint64))
        columns = shelf.read(numbers(row), np.array([place], np.uint64))
        assert columns is None or same(columns, [row])
        shelf.table.put(numbers(row), np.array([place], np.uint64))
        part = shelf.sequence(row, 5)
        assert part is None or same(part.columns, range(row, row + len(part)))
        shelf.table.put(np.arange(20, dtype=np.uint64), right)


def test_a_wrong_length_of_the_sequence_is_none() -> None:
    made = SlotTable(create_table(10))
    made._head[2] = 99
    assert made.total is None
    made.total = 11
    assert made.total is None
    made.total = 10
    assert made.total == 10


def test_every_flipped_bit_of_a_checked_block_is_found() -> None:
    one = chunk_of([4, 5])
    pieces, length = encode_row_group(one, numbers(4, 5))
    data = np.zeros(length, np.uint8)
    whole = b"".join(bytes(piece) for piece in [head_of(pieces, 2, length, 7, checked=True), *pieces])
    data[:] = np.frombuffer(whole, np.uint8)
    assert same(open_row_group(data, 0, 7).chunk.columns, [4, 5])
    with pytest.raises(FormatError, match="another row store"):
        open_row_group(data, 0, 8)
    for at in range(0, length, 3):
        if 20 <= at < 24:  # the flags, which say that there is a checksum at all
            continue
        damaged = data.copy()
        damaged[at] ^= 1 << (at % 8)
        with pytest.raises(FormatError):
            open_row_group(damaged, 0, 7)
    for size in range(0, length, 32):
        with pytest.raises(FormatError):
            open_row_group(data[:size], 0, 7)


def test_noise_is_no_block() -> None:
    draws = np.random.default_rng(1)
    for _ in range(200):
        noise = draws.integers(0, 256, 256, np.uint8)
        noise[:4] = np.frombuffer(b"MRB1", np.uint8)
        with pytest.raises(FormatError):
            open_row_group(noise, 0, 7)


def _filled(folder: Path) -> Path:
    made = open_disk_store(folder, "key", ROWS, None)
    for start in range(0, ROWS, 8):
        made.put(chunk_of(range(start, start + 8)), np.arange(start, start + 8, dtype=np.uint64))
    made.close()
    return next((folder / "key").glob("*.blocks"))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "cut": lambda path: os.truncate(path, path.stat().st_size * 2 // 3),
    "empty": lambda path: os.truncate(path, 0),
    "short": lambda path: os.truncate(path, 30),
    "noise at its end": lambda path: path.write_bytes(path.read_bytes() + os.urandom(500)),
    "foreign": lambda path: path.write_bytes(b"nothing of the kind\n" * 100),
    "another file beside it": lambda path: (path.parent / "1-aa.blocks").write_bytes(os.urandom(4096)),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a link to nowhere": lambda path: (path.parent / "0-link.blocks").symlink_to("nowhere"),
    "a folder": lambda path: (path.parent / "0-folder.blocks").mkdir(),
    "a length of nonsense": lambda path: (path.parent / "total").write_text("nonsense"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_of_a_folder(name: str, tmp_path: Path) -> None:
    """Rows that are whole are read, the others are made anew, and the next run has all of them."""
    DAMAGES[name](_filled(tmp_path))
    for _ in range(2):
        made = open_disk_store(tmp_path, "key", ROWS, None)
        for row in range(ROWS):
            columns = got(made, [row]) if made.find(numbers(row))[0] else None
            assert columns is None or same(columns, [row])
            if columns is None:
                assert made.put(chunk_of([row]), numbers(row)) == 1
            assert same(got(made, [row]), [row])
        assert same(got(made, range(ROWS)), range(ROWS))
        made.close()


def test_flipped_bits_in_a_folder(tmp_path: Path) -> None:
    path = _filled(tmp_path)
    data = bytearray(path.read_bytes())
    draws = np.random.default_rng(3)
    for _ in range(40):
        damaged = bytearray(data)
        damaged[int(draws.integers(64, len(data)))] ^= 1 << int(draws.integers(8))
        path.write_bytes(damaged)
        made = open_disk_store(tmp_path, "key", ROWS, None)
        kept = [row for row in range(ROWS) if made.find(numbers(row))[0]]
        for row in kept:
            columns = got(made, [row])
            assert columns is None or same(columns, [row])
        made.close()


# limits ----------------------------------------------------------------------------------------------


def _fill(shelf: Any, rows: int, size: int) -> int:
    stored = 0
    for row in range(rows):
        one = Chunk({"x": np.full((1, size), row % 251, np.uint8)}, numbers(row), np.array([row]))
        stored += shelf.put(one, numbers(row))
    return stored


@pytest.mark.parametrize("limit", [1 << 20, 5 << 20])
def test_a_limit_holds(limit: int) -> None:
    address, session = in_process_address(), in_process_session()
    shelf: Any = connect(address).open_store(session, "limited", 10_000, limit, False)
    try:
        stored = _fill(shelf, 3000, 10_000)
        assert 0 < stored < 3000
        assert "used" in shelf.refused
        assert 0.8 * limit < stored * 10_000 < limit
        said = connect(address).request(do="info")
        assert said["memory_used"] <= limit
        assert np.array_equal(got(shelf, [stored - 1])["x"][0], np.full(10_000, (stored - 1) % 251, np.uint8))
    finally:
        shelf.close()


def test_the_servers_memory_is_a_limit_and_idle_rows_make_room(tmp_path: Path) -> None:
    rooms = SessionManager(memory=8 << 20, spill=None)
    session = rooms.generate()

    def fill(key: str, client: int) -> int:
        shelf, made = rooms.open(session, key, 10, None, False, client), 0
        while True:
            try:
                made += rooms.lease_block(shelf, 1 << 20, client).size
            except ResourceError:
                return made
            assert rooms.memory_used <= 8 << 20

    assert fill("one", 1) >= 7 << 20
    assert fill("two", 2) == 0  # somebody uses the first
    rooms.leave(1)
    assert fill("two", 2) >= 7 << 20
    assert list(rooms.sessions[session].stores) == ["two"]
    assert fill("three", 3) == 0
    rooms.close()
    assert rooms.memory_used == 0


def test_what_does_not_fit_goes_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms_of, "DISK_RESERVE", 0)
    rooms = SessionManager(memory=4 << 20, spill=str(tmp_path))
    shelf = rooms.open(rooms.generate(), "key", 10, None, True, 1)
    kinds = [rooms.lease_block(shelf, 1 << 20, 1).block_type for _ in range(3)]
    assert kinds[-1] == "disk"
    assert list(tmp_path.iterdir()) == []  # a file without a name
    rooms.close()


def test_a_folders_limit_holds_for_two_writers(tmp_path: Path) -> None:
    limit = 1 << 20
    one = open_disk_store(tmp_path, "one", 10_000, limit)
    two = open_disk_store(tmp_path, "two", 10_000, limit)
    work = [threading.Thread(target=_fill, args=(shelf, 400, 5_000)) for shelf in (one, two)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert 0.8 * limit < folder_bytes(tmp_path) <= limit
    assert one.refused
    one.close()
    three = open_disk_store(tmp_path, "three", 10_000, limit)
    before = folder_bytes(tmp_path, ["two"])
    assert _fill(three, 20, 5_000) > 0  # the rows of the first, which nobody uses, made room
    assert not (tmp_path / "one").exists()
    assert folder_bytes(tmp_path, ["two"]) == before
    assert folder_bytes(tmp_path) <= limit
    two.close()
    three.close()


# a machine that refuses ------------------------------------------------------------------------------


def test_without_memfd_a_file_stands_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_leaks: None
) -> None:
    def refuse(*_: Any) -> int:
        raise OSError(errno.ENOSYS, "no")

    monkeypatch.setattr(os, "memfd_create", refuse)
    shelf: Any = connect(in_process_address()).open_store(in_process_session(), "key", ROWS, None, False)
    assert shelf.put(chunk_of([1, 2]), numbers(1, 2)) == 2
    assert same(got(shelf, [2, 1]), [2, 1])
    shelf.close()
    monkeypatch.setattr(
        "millrace._src.core.machine.shared_memory.fallback_folders", list
    )  # and /dev/shm is full
    with pytest.raises(ResourceError):
        connect(in_process_address()).open_store(in_process_session(), "another", ROWS, None, False)
    disconnect(in_process_address())
    from millrace._src.data.cache.in_process_server import stop_in_process_server

    stop_in_process_server()


def test_a_slab_whose_progress_is_nonsense_is_not_written_into_another_row() -> None:
    fd = slabs.create("memory", 1 << 16)
    os.pwrite(fd, np.array([(1 << 60) + 3, 5], np.uint64).tobytes(), 0)
    writer = slabs.BlockWriter(fd, 1 << 16)
    assert writer.free_bytes < 0
    assert writer.used % 64 == 0
    writer.close()


def test_two_connections_never_write_to_one_slab() -> None:
    address, session = in_process_address(), in_process_session()
    one, two = Connection(address), Connection(address)
    shelves = [each.open_store(session, "both", 10_000, None, False) for each in (one, two)]
    assert [shelf.put(chunk_of([row]), numbers(row)) for row, shelf in enumerate(shelves)] == [1, 1]
    places = [table.slot_block(shelves[0].find(numbers(row)))[0] for row in range(2)]
    assert places[0] != places[1]
    one.close()  # as if its process had died
    three = Connection(address)
    later = three.open_store(session, "both", 10_000, None, False)
    from .server_fixture import until

    until(lambda: three.request(do="info")["clients"] <= 2)
    assert later.put(chunk_of([2]), numbers(2)) == 1
    assert table.slot_block(later.find(numbers(2)))[0] == places[0]  # behind what the first had written
    assert shelves[0].put(chunk_of([3]), numbers(3)) == 0  # who was hung up on writes no more
    for shelf in shelves[1:]:
        assert same(got(shelf, [0, 1, 2]), [0, 1, 2])
    for connection in (two, three):
        connection.close()


def test_places_know_their_slab() -> None:
    assert table.slot_block(pack_slot(7, 64, np.arange(3, dtype=np.uint64))).tolist() == [7, 7, 7]
    assert tag_of("a") != tag_of("b")
