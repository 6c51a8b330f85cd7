"""Arrays of numbers in large JSON: the same values as any JSON reader gives, and nothing else is accepted."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace._src.core.errors import ServeError
from millrace._src.serve.http.json_arrays import NumberArray, cut_arrays, encode_array, json_size
from millrace._src.serve.tensor_codec import DATATYPES, TensorSpec

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def read(text, datatype="FP64", shape=None):
    array = NumberArray(memoryview(text))
    shape = array.shape() if shape is None else shape
    return array.read(TensorSpec("x", datatype, (-1,) * len(shape)), int(np.prod(shape)), shape)


@settings(max_examples=150, deadline=None)
@given(SHAPES, st.sampled_from(["FP64", "FP32", "INT8", "UINT64", "BOOL"]), st.data())
def test_an_array_is_what_json_says(shape, datatype, data):
    kind = DATATYPES[datatype]
    if kind.kind == "f":
        numbers = st.floats(allow_nan=False, allow_infinity=False, width=kind.itemsize * 8)
    elif kind.kind == "b":
        numbers = st.booleans()
    else:
        numbers = st.integers(int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    count = int(np.prod(shape))
    values = np.array(data.draw(st.lists(numbers, min_size=count, max_size=count)), kind).reshape(shape)
    separators = data.draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n\t", ":")]))
    text = json.dumps(values.tolist(), separators=separators).encode()
    got = read(text, datatype)
    assert (got.shape, got.dtype) == (tuple(shape), kind)
    assert got.tobytes() == values.tobytes()
    flat = json.dumps(values.reshape(-1).tolist()).encode()
    assert read(flat, datatype, shape).tobytes() == values.tobytes()
    encoded = encode_array(values)
    assert np.array(json.loads(encoded), kind).tobytes() == values.tobytes()
    assert len(encoded) <= json_size(values)


@settings(max_examples=400, deadline=None)
@given(SHAPES, st.data())
def test_what_is_no_json_is_refused(shape, data):
    """One character of a right text is removed, doubled or replaced."""
    text = json.dumps(np.arange(int(np.prod(shape)), dtype=float).reshape(shape).tolist())
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from(["", text[at] * 2, *'[],1 -.e"{}x']))
    changed = text[:at] + other + text[at + 1 :]
    try:
        expected = np.array(json.loads(changed), float)
    except ValueError:
        expected = None
    try:
        got = read(changed.encode())
    except ServeError:
        return  # more may be refused than JSON forbids: lists of unequal lengths
    assert expected is not None, changed
    assert got.tolist() == expected.tolist(), changed


@pytest.mark.parametrize(
    "text",
    [b"[1[],[]2]", b"[[1]2,[3]]", b"[1,2", b"1,2]", b"[1 2]", b"[1,,2]", b"[,1]", b"[1,]", b"[[],[]]", b"[" * 5000,
     b"[" + b"9" * 5000 + b"]", b"[" + b"1" * 70_000 + b",1]", b"[NaN]", b"[1e999]", b"[0x1]", b"[null]"],
)  # fmt: skip
def test_malformed_arrays(text):
    with pytest.raises(ServeError):
        read(text)


def test_arrays_of_several_parts():
    """Parts are cut at commas, wherever these are."""
    values = np.arange(200_000).reshape(1000, 2, 100)
    text = json.dumps(values.tolist()).encode()
    assert len(text) > 10 * (64 << 10)
    assert np.array_equal(read(text, "INT64"), values)
    assert np.array_equal(json.loads(encode_array(values)), values)
    assert np.array_equal(json.loads(encode_array(values.reshape(1, 1, -1))), values.reshape(1, 1, -1))
    with pytest.raises(ServeError, match="expected lists of shape"):
        read(text.replace(b"[7", b"[7, 7", 1), "INT64", [1000, 2, 100])
    with pytest.raises(ServeError, match="INT8 holds"):
        read(text, "INT8")


def test_only_values_of_objects_are_cut():
    """Texts that look like arrays stay texts, and what a client writes in the place of an array is no array."""
    numbers = list(range(500))
    body = {
        "data": numbers,
        "a": {"data": [numbers, numbers]},
        "s": '"data":[' + "1," * 500,
        "t": '\\"',
        "short": [1],
    }
    divided = cut_arrays(json.dumps(body).encode())
    rest = json.loads(divided.text)
    assert (rest["s"], rest["t"], rest["short"]) == (body["s"], body["t"], [1])
    assert set(divided.arrays) == {rest["data"], rest["a"]["data"]}
    assert divided.arrays[rest["a"]["data"]].shape() == [2, 500]
    other = cut_arrays(json.dumps(body).encode())
    assert not set(other.arrays) & set(divided.arrays)


@pytest.mark.parametrize(
    "text",
    [b'{"a":[' + b"{}," * 2_000_000 + b"1]}", b'{"a":[' + b'"",' * 500_000 + b"1]}", b"[" + b"1," * 3_000_000 + b"1]",
     b'{"a":"' + b'\\"' * 1_000_000 + b'"}', b'{"a":"' + b"\\n" * 1_100_000 + b'"}', b'"' + b"\\" * 3_000_000],
)  # fmt: skip
def test_json_of_many_small_objects_is_refused_before_it_is_decoded(text):
    with pytest.raises(ServeError) as failed:
        cut_arrays(text)
    assert failed.value.status == 413
