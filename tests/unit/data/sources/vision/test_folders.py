"""What the shared suite does not ask: classes, labels, decoding, errors' wording, listing, JSON."""

from __future__ import annotations

import io
import pickle
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import DataError, FormatError
from millrace._src.data.formats.files.file_list import FileList, list_files
from millrace._src.data.sources.vision.celeba import CelebADataset
from millrace._src.data.sources.vision.cifar import Cifar10Dataset
from millrace._src.data.sources.vision.div2k import DIV2KDataset
from millrace._src.data.sources.vision.fake_image import FakeImageDataset
from millrace._src.data.sources.vision.food101 import Food101Dataset
from millrace._src.data.sources.vision.image_folder import ImageFolderDataset
from millrace._src.data.sources.vision.mnist import MnistDataset
from millrace._src.data.sources.vision.voc import VOCDataset
from tests.parity.data.small_sources import folders
from tests.parity.data.small_sources.tiny import bmp, picture, pixels


@pytest.fixture
def pets(tmp_path):
    folders.image_folder(tmp_path)
    return str(tmp_path)


def labels(data):
    return [row["label"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_pk_sampler_draws_from_every_class(pets):
    sampled = labels(ImageFolderDataset(pets, sampler=ds.PKSampler(2)))
    assert sampled == [0, 0, 1, 1, 2, 2]


def test_pk_sampler_says_why_not(tmp_path):
    folders.celeba(tmp_path)
    with pytest.raises(ValueError, match="CelebADataset doesn't support PKSampler"):
        CelebADataset(str(tmp_path), sampler=ds.PKSampler(2))
    with pytest.raises(RuntimeError, match="has none in column 'label'"):
        _pk(tmp_path)


def _pk(root):
    data = VOCDataset(str(_voc(root)), sampler=ds.PKSampler(2))
    return list(data.create_dict_iterator(num_epochs=1))


def _voc(root):
    folders.voc(root / "voc")
    return root / "voc"


def test_labels_are_read_without_images(tmp_path):
    folders.food101(tmp_path)
    for path in (tmp_path / "images").rglob("*.jpg"):
        path.unlink()
    data = Food101Dataset(str(tmp_path), sampler=ds.PKSampler(1))
    assert data.get_dataset_size() == 3


def test_decrypt_gets_the_path(tmp_path):
    path = picture(tmp_path / "a" / "1.jpg", 3)
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))

    def decrypt(name):
        return bytes(byte ^ 1 for byte in Path(name).read_bytes())

    data = ImageFolderDataset(str(tmp_path), decode=True, decrypt=decrypt)
    (row,) = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert np.array_equal(row[0], pixels(3))


def test_a_file_that_is_no_image_is_named(pets):
    Path(pets, "cat", "9.png").write_bytes(b"no image")
    data = ImageFolderDataset(pets, decode=True, shuffle=False)
    seen = []
    rows = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    with pytest.raises(DataError) as caught:
        seen.extend(row["label"].item() for row in rows)
    assert seen == [0, 1], "the rows before it are delivered"
    assert caught.value.context["row"] == 2
    assert caught.value.context["file"].endswith("cat/9.png")


def test_only_decoding_is_heavy(pets):
    assert not ImageFolderDataset(pets)._source.is_expensive
    assert ImageFolderDataset(pets, decode=True)._source.is_expensive


def test_nothing_is_listed_before_it_is_needed(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.setattr("os.scandir", lambda *_: pytest.fail("listed"))
    assert ImageFolderDataset(str(tmp_path)).get_col_names() == ["image", "label"]


def test_the_listing_travels(pets):
    source = ImageFolderDataset(pets)._source
    source.size()
    sent = pickle.dumps(source)
    Path(pets, "cat", "later.png").write_bytes(b"...")
    assert pickle.loads(sent).size() == 8


def test_json_brings_it_back(pets):
    data = ImageFolderDataset(pets, extensions=[".png"], shuffle=False).batch(2)
    rebuilt = ds.deserialize(ds.serialize(data))
    assert rebuilt.get_dataset_size() == 1
    assert ds.serialize(rebuilt)["children"][0]["extensions"] == [".png"]


def test_processes_read_the_same_rows(pets):
    wanted = labels(ImageFolderDataset(pets, shuffle=False))
    settings.update(executor="processes", num_parallel_workers=2)
    assert labels(ImageFolderDataset(pets, shuffle=False)) == wanted


def test_cifar_python_version(tmp_path):
    rows = {b"data": np.arange(6144, dtype=np.uint8).reshape(2, 3072), b"labels": [4, 9]}
    (tmp_path / "test_batch").write_bytes(pickle.dumps(rows, protocol=2))
    assert labels(Cifar10Dataset(str(tmp_path), "test", shuffle=False)) == [4, 9]
    (tmp_path / "test_batch").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(FormatError, match=r"os\.system|no need of"):
        labels(Cifar10Dataset(str(tmp_path), "test"))


def test_fake_images_depend_on_the_seed_only():
    datasets = [FakeImageDataset(4, (3, 5, 2), 3, seed, shuffle=False) for seed in (1, 1, 2)]
    first, same, different = (
        [row["image"] for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
        for data in datasets
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, different)
    assert first[0].shape == (3, 5, 2)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: MnistDataset("/nope"),
            ValueError,
            "The folder /nope does not exist or is not a directory or permission",
        ),
        (
            lambda: MnistDataset(3),
            TypeError,
            "Argument dataset_dir with value 3 is not of type [<class 'str'>], but got",
        ),
        (
            lambda: MnistDataset(".", usage="x"),
            ValueError,
            "Input usage is not within the valid set of ['train', 'test', 'all'].",
        ),
        (
            lambda: MnistDataset(".", usage=3),
            TypeError,
            "Argument usage with value 3 is not of type [<class 'str'>]",
        ),
        (
            lambda: ImageFolderDataset(".", extensions=".jpg"),
            TypeError,
            "Argument extensions with value .jpg is not of type",
        ),
        (
            lambda: ImageFolderDataset(".", decrypt=3),
            TypeError,
            "Argument decrypt is not a callable object, but got <class 'int'>",
        ),
        (
            lambda: ImageFolderDataset(".", sampler=ds.SequentialSampler(), shuffle=True),
            RuntimeError,
            "sampler and shuffle cannot be specified at the same time.",
        ),
        (
            lambda: ImageFolderDataset(".", sampler=ds.SequentialSampler(), num_samples=1),
            RuntimeError,
            "sampler and num_samples cannot be specified at the same time.",
        ),
        (
            lambda: ImageFolderDataset(".", num_shards=2, shard_id=2),
            ValueError,
            "Input shard_id is not within the required interval of [0, 1].",
        ),
        (
            lambda: VOCDataset("."),
            ValueError,
            "ImageSets/Segmentation/train.txt does not exist or permission denied!",
        ),
        (lambda: VOCDataset(".", task="x"), ValueError, "Invalid task : x."),
        (
            lambda: FakeImageDataset(0),
            ValueError,
            "Input num_images is not within the required interval of [1, 2147483647].",
        ),
        (
            lambda: FakeImageDataset(1, (1, 2)),
            ValueError,
            "image_size should be a list or tuple of length 3, but got 2",
        ),
        (
            lambda: DIV2KDataset(".", scale=5),
            ValueError,
            "Input scale is not within the valid set of [2, 3, 4, 8].",
        ),
        (
            lambda: DIV2KDataset(".", scale=8, downgrade="unknown"),
            ValueError,
            "DIV2KNode: scale equal to 8 is allowed only in bicubic downgrade.",
        ),
        (
            lambda: CelebADataset(".", usage="x"),
            ValueError,
            "usage should be 'all', 'train', 'valid' or 'test'.",
        ),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_wording_is_that_of_mindspore(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="ImageFolderDataset API can't read the data file"):
        ImageFolderDataset(str(tmp_path)).get_dataset_size()


def test_listing_is_compact_and_sorted(tmp_path):
    files = FileList(tmp_path)
    for number in range(100):
        files.extend(f"class_{number:03d}", [b"image_%06d.jpg" % n for n in range(1000)])
    assert len(files) == 100_000
    assert files.nbytes < 40 * len(files)
    assert files[99_999].endswith("class_099/image_000999.jpg")
    assert files[0:2] == [files[0], files[1]]


def test_names_are_bytes(tmp_path):
    odd = b"caf\xe9.jpg"  # not UTF-8
    Path(tmp_path, "a").mkdir()
    Path(tmp_path, "a", "b.jpg").write_bytes(bmp(pixels(1)))
    try:
        with open(bytes(tmp_path / "a") + b"/" + odd, "wb") as file:
            file.write(bmp(pixels(2)))
    except OSError:
        pytest.skip("the file system takes UTF-8 only")
    assert list_files(tmp_path / "a") == [b"b.jpg", odd]
    assert labels(ImageFolderDataset(str(tmp_path), decode=True)) == [0, 0]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_progress(monkeypatch, tmp_path):
    for number in range(5000):
        (tmp_path / f"{number}.jpg").touch()
    for after, terminal, shown in (
        (0, Terminal(), True),
        (0, io.StringIO(), False),
        (1000, Terminal(), False),
    ):
        monkeypatch.setattr("millrace._src.data.formats.files.file_list.SHOW_AFTER", after)
        monkeypatch.setattr(sys, "stderr", terminal)
        assert len(list_files(tmp_path)) == 5000
        assert ("listing /" in terminal.getvalue()) is shown
        assert ("5000" in terminal.getvalue()) is shown


def test_a_list_of_many_files_is_small(tmp_path):
    """No object per file: names lie in one block."""
    files = FileList(tmp_path)
    tracemalloc.start()
    files.extend("folder", [b"image_%08d.jpg" % n for n in range(100_000)])
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert files[99_999] == str(tmp_path / "folder" / "image_00099999.jpg")
    assert kept < 100_000 * 40
    assert peak < 100_000 * 150
