"""Q26: how to read image and perform Decode operation in user-defined Dataset?"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import millrace.dataset as ds
import millrace.dataset.vision as vision

FORMATS = ["JPEG", "PNG", "BMP"]


def picture(number: int) -> Image.Image:
    ramp = np.add.outer(np.arange(24) * 3, np.arange(32) * 2)
    return Image.fromarray(np.stack([ramp, ramp[::-1], np.full_like(ramp, number * 9)], -1).astype(np.uint8))


@pytest.fixture(params=FORMATS)
def data_path(request, tmp_path) -> list[str]:
    """data_path is a list of image file names."""
    names = [str(tmp_path / f"{number}.{request.param.lower()}") for number in range(5)]
    for number, name in enumerate(names):
        picture(number).save(name, request.param)
    return names


class ImageDataset:
    def __init__(self, data_path):
        self.data = data_path

    def __getitem__(self, index):
        # use file open and read method
        f = open(self.data[index], "rb")  # noqa: SIM115 - as the page writes it
        img_bytes = f.read()
        f.close()

        # return bytes directly
        return (img_bytes,)

    def __len__(self):
        return len(self.data)


class ArrayDataset(ImageDataset):
    def __getitem__(self, index):
        # use np.fromfile to read image
        img_np = np.fromfile(self.data[index], np.uint8)

        # return Numpy array directly
        return (img_np,)


class PILDataset(ImageDataset):
    def __getitem__(self, index):
        img_rgb = Image.open(self.data[index]).convert("RGB")
        return (img_rgb,)


class DecodedDataset(ImageDataset):
    def __getitem__(self, index):
        return (np.asarray(Image.open(self.data[index]).convert("RGB")),)


def images(source, *operations, **options) -> list[np.ndarray]:
    data = ds.GeneratorDataset(source, ["data"], shuffle=False, **options)
    data = data.map(operations=list(operations), input_columns=["data"]) if operations else data
    return [row["data"] for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


@pytest.mark.parametrize("to_pil", [False, True])
@pytest.mark.parametrize("source", [ImageDataset, ArrayDataset, PILDataset])
def test_decode_takes_them_all(source, to_pil, data_path) -> None:
    got = images(source(data_path), vision.Decode(to_pil=to_pil))
    wanted = images(PILDataset(data_path))
    assert [image.shape for image in got] == [(24, 32, 3)] * 5
    assert {image.dtype for image in got} == {np.dtype(np.uint8)}
    lossy = data_path[0].endswith("jpeg") and not to_pil  # two decoders may round differently
    for one, two in zip(got, wanted, strict=True):
        assert np.abs(one.astype(int) - two).max() <= (3 if lossy else 0)


def test_bytes_and_array_give_the_same(data_path) -> None:
    assert np.array_equal(
        images(ImageDataset(data_path), vision.Decode()), images(ArrayDataset(data_path), vision.Decode())
    )


@pytest.mark.parametrize("source", [PILDataset, DecodedDataset])
def test_no_decode_is_needed_after_decoding_yourself(source, data_path) -> None:
    got = images(source(data_path))
    assert np.array_equal(got, [np.asarray(Image.open(name).convert("RGB")) for name in data_path])


def test_code_of_the_page(data_path) -> None:
    """Decode and ToTensor(output_type=np.int32) in one list."""
    dataset1 = ds.GeneratorDataset(ImageDataset(data_path), ["data"], shuffle=False)
    decode_op = vision.Decode(to_pil=True)
    to_tensor = vision.ToTensor(output_type=np.int32)
    dataset1 = dataset1.map(operations=[decode_op, to_tensor], input_columns=["data"])
    for row in dataset1.create_dict_iterator(num_epochs=1, output_numpy=True):
        assert row["data"].shape == (3, 24, 32)
        assert row["data"].dtype == np.int32


def test_with_worker_processes(data_path) -> None:
    one = images(ImageDataset(data_path), vision.Decode())
    two = images(
        ImageDataset(data_path), vision.Decode(), num_parallel_workers=2, python_multiprocessing=True
    )
    assert np.array_equal(one, two)


def test_the_pages_slip_is_explained(tmp_path) -> None:
    """``np.fromfile(name)`` without a type reads float64: the error says what Decode wants and what it got."""
    buffer = io.BytesIO()
    picture(1).save(buffer, "JPEG")
    name = tmp_path / "1.jpg"
    name.write_bytes(buffer.getvalue() + bytes(-len(buffer.getvalue()) % 8))

    class Slip(ImageDataset):
        def __getitem__(self, index):
            return (np.fromfile(self.data[index]),)

    with pytest.raises(RuntimeError) as caught:
        images(Slip([str(name)]), vision.Decode())
    assert "uint8" in str(caught.value)
    assert "float64" in str(caught.value)


def test_a_broken_file_is_named(tmp_path) -> None:
    class Files(ImageDataset):
        @property
        def files(self):
            return self.data

    names = [str(tmp_path / "good.png"), str(tmp_path / "broken.jpg")]
    picture(0).save(names[0])
    Path(names[1]).write_bytes(b"\xff\xd8 this is no image")
    with pytest.raises(RuntimeError) as caught:
        images(Files(names), vision.Decode())
    text = str(caught.value)
    assert "Decode" in text
    assert "row: 1" in text
