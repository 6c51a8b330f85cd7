"""A chunk comes out of its bytes as it went in, and damaged bytes are refused."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.executors.worker_pool.serialization import PickleByValue
from millrace._src.data.engine.transport.chunk_codec import ALIGN, decode_chunk, encode_chunk

DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(),
    hnp.unicode_string_dtypes(max_len=9),
    hnp.byte_string_dtypes(max_len=9),
    hnp.datetime64_dtypes(endianness="<"),  # inside objects numpy itself pickles dates as native
    hnp.timedelta64_dtypes(endianness="<"),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary() | ARRAYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def columns(draw, rows):
    kind = draw(st.sampled_from(["dense", "ragged", "objects"]))
    if kind == "dense":
        shape = (rows, *draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
        array = draw(hnp.arrays(draw(DTYPES), shape))
        return array[:, ...] if draw(st.booleans()) else np.asfortranarray(array)
    return draw(st.lists(ARRAYS if kind == "ragged" else PLAIN, min_size=rows, max_size=rows))


@st.composite
def chunks(draw):
    rows = draw(st.integers(0, 5))
    names = draw(st.lists(st.text(max_size=6), unique=True, max_size=4))
    return Chunk(
        {name: draw(columns(rows)) for name in names},
        draw(hnp.arrays(np.uint64, rows)),
        draw(hnp.arrays(np.int64, rows)),
        draw(st.integers(0, 2**40)),
        draw(st.integers(0, 2**60)),
    )


def written(packed):
    room = np.full(packed.size, 0xAB, np.uint8)
    packed.write(room)
    return room


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()  # bit for bit: NaN payloads and -0.0 too
        assert b.flags.writeable
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    else:
        assert a == b


@given(chunks(), st.binary(max_size=50))
def test_round_trip(chunk, extra):
    objects = PickleByValue()
    again, more = decode_chunk(written(encode_chunk(chunk, extra, objects)), objects)
    assert more == extra
    same(chunk.columns, again.columns)
    same(chunk.ids, again.ids)
    same(chunk.origin, again.origin)
    assert (again.epoch, again.start) == (chunk.epoch, chunk.start)


def big_chunk():
    ragged = [np.full((i + 1, 700), i, np.float32) for i in range(4)]
    return Chunk({"x": np.arange(8192.0).reshape(4, 2048), "r": ragged}, np.arange(4, dtype=np.uint64))


def test_large_columns_are_aligned_views_and_small_ones_copies():
    chunk = big_chunk()
    chunk.columns["label"] = np.arange(4)
    room = np.zeros(encode_chunk(chunk).size + ALIGN, np.uint8)
    room = room[-room.ctypes.data % ALIGN :][: encode_chunk(chunk).size]
    encode_chunk(chunk).write(room)
    again, _ = decode_chunk(room)
    assert np.shares_memory(again.columns["x"], room)
    assert again.columns["x"].ctypes.data % ALIGN == 0
    assert all(np.shares_memory(row, room) for row in again.columns["r"])
    assert not np.shares_memory(again.columns["label"], room)
    assert not np.shares_memory(again.ids, room)


def test_strided_and_foreign_order_are_copied_once():
    source = np.arange(600.0).reshape(10, 60)[::2, ::-3]
    chunk = Chunk({"x": source}, np.arange(5, dtype=np.uint64))
    same(np.ascontiguousarray(source), decode_chunk(written(encode_chunk(chunk)))[0].columns["x"])


def test_arrays_inside_objects_are_views():
    chunk = Chunk({"d": [{"a": np.arange(5000)}, {"a": np.ones(3)}]}, np.arange(2, dtype=np.uint64))
    room = written(encode_chunk(chunk, b"", PickleByValue()))
    again, _ = decode_chunk(room, PickleByValue())
    assert np.shares_memory(again.columns["d"][0]["a"], room)
    same(chunk.columns["d"], again.columns["d"])


def test_objects_are_refused_where_peers_do_not_trust_each_other():
    chunk = Chunk({"d": [{"a": 1}]}, np.zeros(1, np.uint64))
    with pytest.raises(DataError, match="column: d"):
        encode_chunk(chunk)
    room = written(encode_chunk(chunk, b"", PickleByValue()))
    with pytest.raises(FormatError, match="not accepted here"):
        decode_chunk(room)


def test_a_value_that_cannot_be_sent_names_its_column():
    chunk = Chunk({"gen": [(i for i in range(3))]}, np.zeros(1, np.uint64))
    with pytest.raises(DataError, match=r"(?s)generator.*column: gen"):
        encode_chunk(chunk, b"", PickleByValue())


def _lie(room, change):
    """The same bytes with another header, which must fit into the old one's padding."""
    length = struct.unpack_from("<4sI", room)[1]
    header = json.loads(bytes(room[8 : 8 + length]))
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode().ljust(length)
    assert -(-(8 + len(text)) // ALIGN) == -(-(8 + length) // ALIGN)
    room = room.copy()
    struct.pack_into("<4sI", room, 0, b"MRC1", len(text))
    room[8 : 8 + len(text)] = np.frombuffer(text, np.uint8)
    return room


LIES = {
    "shape": lambda h: h["columns"][0].__setitem__(3, [4, 99999]),
    "negative": lambda h: h["columns"][0].__setitem__(3, [-4, -2]),
    "offset": lambda h: h["columns"][0].__setitem__(4, -64),
    "dtype": lambda h: h["columns"][0].__setitem__(2, "|O"),
    "rows": lambda h: h.__setitem__("n", 5),
    "rows past ids": lambda h: h.__setitem__("n", 9),
    "kind": lambda h: h["columns"][0].__setitem__(1, "wide"),
    "ragged table": lambda h: h["columns"][1].__setitem__(5, 2),
    "ragged types": lambda h: h["columns"][1].__setitem__(2, []),
    "missing": lambda h: h.pop("epoch"),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_lying_header_is_refused(lie):
    with pytest.raises(FormatError):
        decode_chunk(_lie(written(encode_chunk(big_chunk())), lie))


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8))
def test_damage_never_crashes(at, damage):
    room = written(encode_chunk(big_chunk()))
    room[at : at + len(damage)] = np.frombuffer(damage, np.uint8)
    try:
        chunk, _ = decode_chunk(room)
    except FormatError:
        return
    for column in chunk.columns.values():
        for value in column:
            value.tobytes()  # every byte that is promised can be read


@pytest.mark.parametrize("size", [0, 7, 8, 100])
def test_cut_off_bytes_are_refused(size):
    with pytest.raises(FormatError):
        decode_chunk(written(encode_chunk(big_chunk()))[:size])
