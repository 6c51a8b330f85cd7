"""Datasets of other libraries, as they are."""

from __future__ import annotations

import io
import tarfile
from collections import namedtuple

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import FormatError
from millrace._src.data.sources.adapters.hugging_face import HuggingFaceDataset
from millrace._src.data.sources.adapters.parquet import ParquetDataset
from millrace._src.data.sources.adapters.torch_dataset import TorchDataset
from millrace._src.data.sources.adapters.web_dataset import WebDataset
from tests.parity.data.small_sources.tiny import bmp, pixels


def rows(data):
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


# --- torch ----------------------------------------------------------------------------------------------------


class Pairs:
    targets = [0, 1, 0, 1]
    samples = [(f"{i}.jpg", i % 2) for i in range(4)]

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return np.full((2,), i), i % 2


def test_rows_of_a_map_style_dataset():
    data = TorchDataset(Pairs(), ["x", "label"], shuffle=False)
    assert [(row["x"].tolist(), row["label"].item()) for row in rows(data)][3] == ([3, 3], 1)
    assert TorchDataset(Pairs()).get_col_names() == ["column_0", "column_1"]
    assert data._source.row_location(2) == "2.jpg"


def test_targets_serve_the_pk_sampler():
    data = TorchDataset(Pairs(), ["x", "label"], sampler=ds.PKSampler(3))
    assert [row["label"].item() for row in rows(data)] == [0, 0, 0, 1, 1, 1]


def test_named_tuples_dicts_and_streams():
    point = namedtuple("point", "x y")
    assert TorchDataset([point(1, 2), point(3, 4)], shuffle=False).get_col_names() == ["x", "y"]
    stream = TorchDataset(Iterable(), ["n"])
    assert [row["n"].item() for row in rows(stream)] == [0, 1, 2]
    assert [row["n"].item() for row in rows(stream)] == [0, 1, 2]


class Iterable:
    def __iter__(self):
        return ({"n": n} for n in range(3))


def test_tensors_become_arrays():
    torch = pytest.importorskip("torch")
    data = TorchDataset(
        torch.utils.data.TensorDataset(torch.eye(3), torch.arange(3)), ["x", "y"], shuffle=False
    )
    assert rows(data)[1]["x"].tolist() == [0, 1, 0]
    assert rows(data)[2]["y"].dtype == np.int64


# --- Hugging Face ---------------------------------------------------------------------------------------------


def test_hugging_face():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"]),
         "ids": datasets.Sequence(datasets.Value("int64"))}
    )  # fmt: skip
    columns = {"text": ["a", "bcd", "e"], "label": [1, 0, 1], "ids": [[1], [2, 3], []]}
    table = pytest.importorskip("pyarrow").table(columns).cast(features.arrow_schema)
    info = datasets.DatasetInfo(features=features)
    source = datasets.Dataset(datasets.table.InMemoryTable(table), info=info, fingerprint="tests")
    data = HuggingFaceDataset(source, shuffle=False)
    assert data.get_class_indexing() == {"bad": 0, "good": 1}
    hf_rows = rows(data)
    assert [str(row["text"]) for row in hf_rows] == columns["text"]
    assert [row["ids"].tolist() for row in hf_rows] == columns["ids"]
    picked = HuggingFaceDataset(source, ["label"], sampler=ds.PKSampler(2))
    assert [row["label"].item() for row in rows(picked)] == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="there is no column 'x'"):
        HuggingFaceDataset(source, ["x"])


def test_what_is_no_dataset_is_refused():
    with pytest.raises(TypeError, match=r"datasets\.Dataset is needed"):
        HuggingFaceDataset({"train": []})
    with pytest.raises(TypeError, match="__getitem__ and __len__"):
        TorchDataset(3)


# --- WebDataset -----------------------------------------------------------------------------------------------


def write_tar(path, samples):
    with tarfile.open(path, "w") as archive:
        for key, files in samples:
            for ending, data in files.items():
                member = tarfile.TarInfo(f"{key}.{ending}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return str(path)


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.fixture
def shards(tmp_path):
    def sample(shard, n):
        image, text = bmp(pixels(n + shard * 3)), f"häuser {n}".encode()
        return f"train/{shard}_{n}", {"jpg": image, "cls": b"%d" % n, "txt": text, "npy": npy(np.eye(n + 1))}

    for shard in range(2):
        write_tar(tmp_path / f"part-{shard:03d}.tar", [sample(shard, n) for n in range(3)])
    return str(tmp_path / "part-{000..001}.tar")


def test_web_dataset_rows(shards):
    samples = rows(WebDataset(shards, shuffle=False, decode=True))
    assert list(samples[0]) == ["__key__", "jpg", "cls", "txt", "npy"]
    assert [str(row["__key__"]) for row in samples] == [f"train/{s}_{n}" for s in range(2) for n in range(3)]
    assert np.array_equal(samples[4]["jpg"], pixels(4))
    assert (samples[4]["cls"].item(), str(samples[4]["txt"]), samples[4]["npy"].shape) == (
        1,
        "häuser 1",
        (2, 2),
    )


def test_web_dataset_in_any_order(shards):
    ds.config.set_seed(5)
    data = WebDataset(shards, ["cls", "txt"])
    orders = [[str(row["txt"]) for row in epoch] for epoch in data.epochs(3, as_dict=True)]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    sampled = WebDataset(shards, "cls", sampler=ds.PKSampler(2, class_column="cls"))
    assert [row["cls"].item() for row in rows(sampled)] == [0, 0, 1, 1, 2, 2]
    halves = [
        row["txt"]
        for shard in (0, 1)
        for row in rows(WebDataset(shards, "txt", num_shards=2, shard_id=shard))
    ]
    assert sorted(map(str, halves)) == sorted(orders[0])


def test_web_dataset_names_the_archive(tmp_path):
    path = write_tar(tmp_path / "a.tar", [("1", {"cls": b"1", "txt": b"x"}), ("2", {"txt": b"y"})])
    with pytest.raises(FormatError, match=r"'2' has no file 'cls'[\s\S]*a\.tar"):
        WebDataset(path, ["cls"]).get_dataset_size()
    path = write_tar(tmp_path / "b.tar", [("1", {"cls": b"one"})])
    with pytest.raises(RuntimeError, match=r"b\.tar"):
        rows(WebDataset(path))
    (tmp_path / "c.tar").write_bytes(b"\x1f\x8b" + bytes(600))
    with pytest.raises(FormatError, match="decompress it first"):
        WebDataset(str(tmp_path / "c.tar"))
    with pytest.raises(ValueError, match="does not exist"):
        WebDataset(str(tmp_path / "gone.tar"))


def test_npy_is_never_unpickled(tmp_path):
    data = io.BytesIO()
    np.save(data, np.array([{}], dtype=object), allow_pickle=True)
    path = write_tar(tmp_path / "a.tar", [("1", {"npy": data.getvalue()})])
    with pytest.raises(RuntimeError, match="allow_pickle=False"):
        rows(WebDataset(path))


# --- Parquet and Arrow ----------------------------------------------------------------------------------------


@pytest.fixture
def table():
    arrow = pytest.importorskip("pyarrow")
    return arrow.table(
        {"x": list(range(10)), "f": [n / 2 for n in range(10)], "word": [f"w{n}" * n for n in range(10)],
         "raw": [bytes([n] * 2) for n in range(10)], "ids": [[n] * (n % 3 + 1) for n in range(10)]}
    )  # fmt: skip


def write(table, path, file_format):
    arrow = pytest.importorskip("pyarrow")
    if file_format == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=4)
    else:
        with arrow.OSFile(str(path), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=4)
    return str(path)


@pytest.mark.parametrize("file_format", ["parquet", "arrow"])
def test_parquet_and_arrow_rows(table, tmp_path, file_format):
    files = [write(table, tmp_path / f"{n}.{file_format}", file_format) for n in range(2)]
    read = rows(ParquetDataset(files, shuffle=False))
    assert [row["x"].item() for row in read] == [*range(10), *range(10)]
    assert (read[3]["f"].item(), str(read[3]["word"]), read[3]["raw"].tolist()) == (
        1.5,
        "w3w3w3",
        [3, 3],
    )
    assert read[5]["ids"].tolist() == [5, 5, 5]
    picked = rows(ParquetDataset(files, ["x"], sampler=ds.SubsetSampler([19, 0, 9, 4])))
    assert [row["x"].item() for row in picked] == [9, 0, 9, 4]
    assert ParquetDataset(files, "x", num_shards=3, shard_id=0).get_dataset_size() == 7


def lists(tmp_path, values, arrow_type, file="parquet", **options):
    pa = pytest.importorskip("pyarrow")
    path = write(pa.table({"x": pa.array(values, arrow_type)}), tmp_path / f"lists.{file}", file)
    return [row["x"] for row in rows(ParquetDataset(path, shuffle=False, **options))]


FORMS = ["list", "large_list", "fixed_size_list", "nested"]


@pytest.mark.parametrize(
    ("file", "form"),
    [("parquet", form) for form in FORMS] + [("arrow", form) for form in [*FORMS, "list_view"]],
)
@pytest.mark.parametrize("name", ["float16", "float32", "int8", "uint64", "bool_", "int64"])
def test_elements_of_lists_keep_their_type(tmp_path, file, name, form):
    pa = pytest.importorskip("pyarrow")
    element = getattr(pa, name)()
    wanted = np.array([[0, 1], [1, 1], [0, 0]], np.dtype(name.rstrip("_")))
    types = {
        "list": lambda: pa.list_(element),
        "large_list": lambda: pa.large_list(element),
        "fixed_size_list": lambda: pa.list_(element, 2),
        "nested": lambda: pa.list_(pa.list_(element)),
        "list_view": lambda: pa.list_view(element),
    }
    values = [[row] for row in wanted.tolist()] if form == "nested" else wanted.tolist()
    if name == "float16":
        values = [[[*map(np.float16, r[0])]] if form == "nested" else [*map(np.float16, r)] for r in values]
    for value, row in zip(lists(tmp_path, values, types[form](), file), wanted, strict=True):
        assert value.dtype == wanted.dtype
        assert np.array_equal(value, row[None] if form == "nested" else row)
        value[...] = 0  # it is the reader's own


def test_lists_of_any_length(tmp_path):
    pa = pytest.importorskip("pyarrow")
    column = lists(tmp_path, [[1.5], [], [2.0, 3.0, None]], pa.list_(pa.float32()))
    assert [row.tolist() for row in column[:2]] == [[1.5], []]
    assert [row.dtype for row in column] == [np.float32] * 3
    assert np.isnan(column[2][2])
    column = lists(tmp_path, [[1, None], [2, 3]], pa.list_(pa.int32()))
    assert column[0].dtype == np.float64, "a whole number that is missing has no other place"
    assert lists(tmp_path, [["a", "bc"], []], pa.list_(pa.string()))[0].tolist() == ["a", "bc"]
    column = lists(tmp_path, [[[1], [2]], [[3, 4]]], pa.list_(pa.list_(pa.uint8())))
    assert [row.tolist() for row in column] == [[[1], [2]], [[3, 4]]]
    assert column[0].dtype == np.uint8


def test_views_may_lie_in_any_order(tmp_path):
    pa = pytest.importorskip("pyarrow")
    starts, sizes = pa.array([4, 0, 2, 1], pa.int32()), pa.array([2, 2, 2, 2], pa.int32())
    views = pa.ListViewArray.from_arrays(starts, sizes, pa.array(range(6), pa.int8()))
    path = write(pa.table({"x": views}), tmp_path / "views.arrow", "arrow")
    values = [row["x"] for row in rows(ParquetDataset(path, shuffle=False))]
    assert [row.tolist() for row in values] == [[4, 5], [0, 1], [2, 3], [1, 2]]
    assert {row.dtype.name for row in values} == {"int8"}


def test_lists_that_make_no_array_are_told(tmp_path):
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(FormatError, match=r"'x' has a row whose lists differ in length[\s\S]*lists\.parquet"):
        lists(tmp_path, [[[1], [2, 3]]], pa.list_(pa.list_(pa.uint8())))
    with pytest.raises(FormatError, match="without a value"):
        lists(tmp_path, [[1], None], pa.list_(pa.uint8()))
    with pytest.raises(FormatError, match="without a value"):
        lists(tmp_path, [["a", None]], pa.list_(pa.string()))


def test_parquet_errors_name_the_file(table, tmp_path):
    with pytest.raises(FormatError, match=r"no column 'y'[\s\S]*a\.parquet"):
        ParquetDataset(write(table, tmp_path / "a.parquet", "parquet"), "y").get_dataset_size()
    (tmp_path / "b.parquet").write_bytes(b"PAR1" + bytes(40))
    with pytest.raises(FormatError, match=r"b\.parquet"):
        ParquetDataset(str(tmp_path / "b.parquet"))
