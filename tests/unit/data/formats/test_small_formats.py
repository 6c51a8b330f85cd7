"""CRC-32C, TFRecord, IDX, CIFAR pickles and CSV: right values, and errors of ours for anything damaged."""

import gzip
import os
import pickle
import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, FormatError
from millrace._src.data.formats.cifar_pickle import read_batch, read_cifar
from millrace._src.data.formats.csv.type_inference import infer_column_type, read_table
from millrace._src.data.formats.idx import read_idx
from millrace._src.data.formats.tfrecord.example import encode_example, parse_example
from millrace._src.data.formats.tfrecord.record_file import masked_crc32c, read_records, write_record
from tests.e2e.interop.mind_dataset import python2_batch


@pytest.mark.parametrize("size", [0, 1, 9, 2049, 5000])
def test_the_stored_checksum_is_the_one_by_bits(size):
    data = np.random.default_rng(size).bytes(size)
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    assert masked_crc32c(data) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


# --- TFRecord ---------------------------------------------------------------------------------------------------

VALUES = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=9),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=9),
    st.lists(st.binary(max_size=300), min_size=1, max_size=5),
)


@given(st.dictionaries(st.text(max_size=20), VALUES, max_size=6))
def test_examples_come_back(features):
    parsed = parse_example(encode_example(features))
    assert parsed.keys() == features.keys()
    for name, values in features.items():
        assert list(parsed[name]) == values


def test_an_example_made_by_the_protobuf_library():
    # tf.train.Example: a = int64 [1, -1], b = float [0.5] not packed, c = bytes ["x", ""]
    ints = b"\x1a\x0d\x0a\x0b\x01" + b"\xff" * 9 + b"\x01"
    floats = b"\x12\x05\x0d" + struct.pack("<f", 0.5)
    texts = b"\x0a\x05\x0a\x01x\x0a\x00"

    def entry(name, feature):
        body = b"\x0a\x01" + name + b"\x12" + bytes([len(feature)]) + feature
        return b"\x0a" + bytes([len(body)]) + body

    features = entry(b"a", ints) + entry(b"b", floats) + entry(b"c", texts)
    parsed = parse_example(b"\x0a" + bytes([len(features)]) + features)
    assert parsed["a"].tolist() == [1, -1]
    assert parsed["b"].tolist() == [0.5]
    assert parsed["c"] == [b"x", b""]


def test_numbers_that_would_change_are_refused():
    for value, error in [
        ([0.1], ArgumentValueError),
        (np.uint64(2**63), ArgumentValueError),
        (1j, ArgumentTypeError),
    ]:
        with pytest.raises(error):
            encode_example({"x": value})


def tfrecord(path, records):
    with open(path, "wb") as file:
        for record in records:
            write_record(file, record)
    return path


def test_damaged_records_are_refused(tmp_path):
    records = [encode_example({"n": k, "b": bytes([k]) * k}) for k in range(20)]
    path = tfrecord(tmp_path / "x", records)
    assert list(read_records(path)) == records
    data = path.read_bytes()
    draw = random.Random(0)
    for _ in range(300):
        changed = bytearray(data)
        changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(FormatError, match=r"checksum|cut short"):
            list(read_records(path))
    bounds = np.cumsum([0, *(len(r) + 16 for r in records)]).tolist()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        if size in bounds:
            assert list(read_records(path)) == records[: bounds.index(size)]
        else:
            with pytest.raises(FormatError, match="cut short") as caught:
                list(read_records(path))
            assert caught.value.context["file"] == str(path)


def test_records_that_are_no_examples_are_refused_or_parsed():
    draw = random.Random(1)
    good = encode_example({"a": [1, 2, 300], "b": [0.5, 1.5], "c": b"text"})
    for _ in range(2000):
        changed = bytearray(good)
        for _ in range(draw.choice([1, 1, 4])):
            changed[draw.randrange(len(good))] = draw.randrange(256)
        try:
            parse_example(bytes(changed[: draw.choice([len(good), draw.randrange(len(good))])]))
        except FormatError:
            pass


# --- IDX --------------------------------------------------------------------------------------------------------


def idx(array, code=8):
    head = bytes([0, 0, code, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.tobytes()


def test_idx(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (5, 4, 3)).astype(np.uint8)
    path = tmp_path / "x"
    path.write_bytes(idx(images))
    np.testing.assert_array_equal(read_idx(path, 3), images)
    path.write_bytes(gzip.compress(idx(images)))
    np.testing.assert_array_equal(read_idx(path), images)
    path.write_bytes(idx(np.array([1.5, -2], ">f8"), 14))
    assert read_idx(path).tolist() == [1.5, -2]


def test_damaged_idx(tmp_path):
    good = idx(np.zeros((5, 4, 3), np.uint8))
    packed = gzip.compress(good)
    bad = [
        b"", b"\0\0", good[:10], good[:-1], good + b"x", b"\1" + good[1:], good[:2] + b"\7" + good[3:],
        good[:4] + b"\xff" * 12 + good[16:], packed[:-9], packed[:20], packed[:30] + b"\0\0\0" + packed[33:],
    ]  # fmt: skip
    path = tmp_path / "x"
    for data in bad:
        path.write_bytes(data)
        with pytest.raises(FormatError) as caught:
            read_idx(path, 3)
        assert caught.value.context["file"] == str(path)
    path.write_bytes(good)
    with pytest.raises(FormatError, match="3 dimensions, 1 are needed"):
        read_idx(path, 1)


# --- CIFAR ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_cifar_pickles(tmp_path, protocol):
    images = np.random.default_rng(0).integers(0, 256, (7, 3072)).astype(np.uint8)
    batch = {b"data": images, b"labels": list(range(7)), b"batch_label": b"one", b"filenames": [b"a.png"] * 7}
    path = tmp_path / "data_batch_1"
    path.write_bytes(pickle.dumps(batch, protocol=protocol))
    parsed = read_batch(path)
    np.testing.assert_array_equal(parsed["data"], images)
    assert parsed["labels"] == list(range(7))
    pixels, labels = read_cifar([path, path], ["labels"])
    assert pixels.shape == (14, 32, 32, 3)
    np.testing.assert_array_equal(pixels[0].transpose(2, 0, 1).ravel(), images[0])
    assert labels["labels"].tolist() == [*range(7), *range(7)]


def test_a_pickle_of_python_2(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (7, 3072)).astype(np.uint8)
    path = tmp_path / "train"
    path.write_bytes(python2_batch(images, fine_labels=list(range(7)), coarse_labels=[0] * 7))
    assert pickle.loads(path.read_bytes(), encoding="bytes")[b"fine_labels"] == list(range(7))
    pixels, labels = read_cifar([path], ["fine_labels", "coarse_labels"])
    np.testing.assert_array_equal(pixels.transpose(0, 3, 1, 2).reshape(7, -1), images)
    assert labels["fine_labels"].tolist() == list(range(7))


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/millrace-was-here",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_hostile_pickle_does_nothing(tmp_path, protocol):
    path = tmp_path / "x"
    path.write_bytes(pickle.dumps({b"data": Evil()}, protocol=protocol))
    with pytest.raises(FormatError, match="not a valid CIFAR file"):
        read_batch(path)
    assert not os.path.exists("/tmp/millrace-was-here")


def test_damaged_pickles(tmp_path):
    good = pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 2]}, protocol=2)
    path = tmp_path / "x"
    draw = random.Random(2)
    for _ in range(400):
        changed = bytearray(good)
        for _ in range(3):
            changed[draw.choice([draw.randrange(200), -draw.randrange(1, 60)])] = draw.randrange(256)
        path.write_bytes(bytes(changed[: draw.choice([len(good), draw.randrange(len(good))])]))
        try:
            read_cifar([path], ["labels"])
        except FormatError as error:
            if str(path) not in str(error):
                raise


# --- CSV --------------------------------------------------------------------------------------------------------


def test_csv_types_are_those_of_pandas():
    assert infer_column_type(["1", " 2", "-3"]) == ("int64", [1, 2, -3])
    assert infer_column_type(["1", "2.5"]) == ("float64", [1.0, 2.5])
    assert infer_column_type(["1e3", "-inf"]) == ("float64", [1000.0, float("-inf")])
    assert infer_column_type(["True", "false"]) == ("bool", [True, False])
    assert infer_column_type(["True", "1"])[0] == "string"
    assert infer_column_type(["9223372036854775808"])[0] == "string"
    assert infer_column_type(["1_000"])[0] == "string"
    assert infer_column_type(["", ""]) == ("string", ["", ""])
    assert infer_column_type([]) == ("string", [])
    type_name, values = infer_column_type(["1", "", "NaN"])
    assert type_name == "float64"
    assert values[0] == 1
    assert np.isnan(values[1:]).all()


def test_csv(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes('\ufeffa,"b c"\r\n1,"x, ""y""\nz"\r\n\r\n2,é\r\n'.encode())
    assert read_table(path) == {"a": ["1", "2"], "b c": ['x, "y"\nz', "é"]}
    for text, message in [
        ("", "no first line"), ("a,a\n1,2\n", "two columns have the same name"), ("a,b\n1\n", "line 2 has 1 fields"),
        ('a\n"x', "not a CSV"), ("a\n\udcff", "not a CSV"),
    ]:  # fmt: skip
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(FormatError, match=message):
            read_table(path)


def test_a_quote_inside_a_field_is_a_sign_for_the_converter(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('a,b\n1,5" pipe\n2,x\n')
    assert read_table(path) == {"a": ["1", "2"], "b": ['5" pipe', "x"]}
