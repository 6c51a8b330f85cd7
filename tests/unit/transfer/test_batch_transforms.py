"""Transforms on a card: the same rows as on the host, bit for bit or within the bound that a step states.

A card's kernels are PyTorch functions; here they run on a CPU, which stands for the card.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import ArgumentValueError, DataError, DeviceQueueError
from millrace._src.core.machine.shared_value import SharedFloat
from millrace._src.data.plan.host_device_split import HostDeviceSplit, jpeg_size
from millrace._src.transfer import DevicePrefetcher
from millrace._src.transfer.decode_balancer import DOWN, EVERY, UP, DecodeBalancer
from millrace._src.transfer.kernels import Images
from millrace.dataset import transforms, vision
from tests.unit.transfer.offload_cases import ASKED, EXACT, MEAN, STD, folder, pictures, sized

pytestmark = pytest.mark.usefixtures("no_leaks")


def on_host(data: Any, epochs: int = 1) -> list[Any]:
    rows = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    return [list(row) for _ in range(epochs) for row in rows]


def on_card(data: Any, epochs: int = 1, **options: Any) -> list[Any]:
    source = data._device_run(epochs, **options)
    assert source.device_work is not None, "nothing moved"
    with DevicePrefetcher(source, epochs=epochs) as feed:
        return [[value.asnumpy() for value in batch] for _ in range(epochs) for batch in feed]


def moved(data: Any) -> list[str]:
    """Names of the transforms that move."""
    source = data._device_run(1)
    source.stop()
    return (
        [step.op for column in source.device_work.work for step in column.steps] if source.device_work else []
    )


def alike(data: Any, within: float = 0) -> None:
    ds.config.set_seed(11)
    for host, card in zip(on_host(data, 2), on_card(data, 2), strict=True):
        assert len(host) == len(card)
        for one, other in zip(host, card, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            if within:
                assert np.abs(one.astype(np.float64) - other.astype(np.float64)).max() <= within
            else:
                assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(
    ("size", "dtype"), [((24, 30, 3), np.uint8), ((24, 30, 3), np.float32), ((24, 30, 3), np.int16)]
)
def test_what_moves_by_itself_has_the_same_bits(name: str, size: Any, dtype: Any) -> None:
    data = pictures(10, size, dtype).map(EXACT[name](), "image").batch(4)
    assert moved(data) == [type(op).__name__ for op in EXACT[name]()]
    alike(data)


def test_pictures_without_channels() -> None:
    alike(pictures(6, (9, 7)).map([vision.Normalize([3.0], [2.0]), vision.HWC2CHW()], "image").batch(3))
    alike(pictures(6, (9, 7)).map([vision.RandomHorizontalFlip(), vision.ToTensor()], "image").batch(3))


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_for_has_the_same_bits(name: str) -> None:
    plain = pictures().map(ASKED[name](), "image").batch(4)
    assert plain._device_run(1).device_work is None  # not by itself
    asked = pictures().map(ASKED[name](), "image", offload=True).batch(4)
    assert moved(asked) == [type(op).__name__ for op in ASKED[name]()]
    alike(asked)
    alike(pictures().map([op.device("GPU") for op in ASKED[name]()], "image").batch(4))


@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0, 1.83])
def test_blended_colours_are_within_a_level(factor: float) -> None:
    alike(pictures().map(vision.AdjustContrast(factor), "image", offload=True).batch(4), within=1)
    alike(pictures().map(vision.AdjustSaturation(factor), "image", offload=True).batch(4), within=1)


def test_pictures_of_different_sizes_travel_packed() -> None:
    ops = [vision.RandomResizedCrop((16, 12)), vision.RandomHorizontalFlip(), vision.ToTensor()]
    alike(sized().map(ops, "image", offload=True).batch(4))
    alike(sized().map([vision.Resize(24), vision.CenterCrop(20)], "image", offload=True).batch(4))
    with pytest.raises(DeviceQueueError, match="different sizes cannot be one batch"):
        on_card(sized().map(vision.Resize(24), "image", offload=True).batch(4))


def test_several_maps_columns_and_names() -> None:
    data = pictures().map(vision.RandomHorizontalFlip(), "image").map(lambda x: x + 1, "label")
    data = data.map(vision.Normalize(MEAN, STD), "image").map(vision.HWC2CHW(), "image").batch(3)
    assert moved(data) == ["RandomHorizontalFlip", "Normalize", "HWC2CHW"]
    alike(data)
    alike(data.rename("image", "picture").project(["label", "picture"]).skip(1).take(2).repeat(2))
    two = ds.NumpySlicesDataset({"a": np.ones((4, 5, 6, 3), np.uint8), "b": np.ones((4, 3, 2, 3), np.uint8)})
    alike(two.map(vision.ToTensor(), "a").map(vision.ToTensor(), "b").batch(2))


@pytest.mark.parametrize(
    "data",
    [
        lambda: pictures().map(vision.ToTensor(), "image"),
        lambda: pictures().map(vision.ToTensor(), "image").batch(2, per_batch_map=lambda a, b, info: (a, b)),
        lambda: pictures().map(vision.ToTensor(), "image").filter(lambda a, b: True).batch(2),
        lambda: pictures().map([vision.ToTensor(), lambda x: x], "image").batch(2),
        lambda: (
            pictures().map(vision.ToTensor(), "image").map(lambda a, b: (a, b), ["image", "label"]).batch(2)
        ),
        lambda: pictures().map(vision.ToTensor(), "image", ["picture"]).batch(2),
        lambda: pictures().map(vision.ToTensor(), "image", offload=False).batch(2),
        lambda: pictures().map(vision.ToTensor().device("CPU"), "image").batch(2),
        lambda: pictures().map(transforms.TypeCast(np.int64), "label").batch(2),
        lambda: pictures().map(vision.ToTensor(), "image").batch(2).project("label"),
    ],
)
def test_what_stays_on_the_host(data: Any) -> None:
    assert moved(data()) == []


def test_the_setting() -> None:
    def data() -> Any:
        return pictures().map([vision.AdjustContrast(0.5), vision.ToTensor()], "image").batch(2)

    assert moved(data()) == ["ToTensor"]
    ds.config.set_auto_offload(True)
    assert moved(data()) == ["AdjustContrast", "ToTensor"]
    ds.config.set_auto_offload(False)
    assert moved(data()) == []
    asked = pictures().map([vision.AdjustContrast(0.5), vision.ToTensor()], "image", offload=True).batch(2)
    assert moved(asked) == ["AdjustContrast", "ToTensor"]
    assert [batch[0].shape for batch in asked] == [(2, 3, 24, 30)] * 5  # no card here: the host does it


def test_explain_says_what_the_card_does() -> None:
    data = pictures().map([vision.AdjustContrast(0.5), vision.ToTensor()], "image", offload=True).batch(2)
    assert "Card" not in data.explain()
    shown = data.explain(device_target="GPU")
    assert shown.splitlines()[0] == "GPU(image: AdjustContrast, ToTensor)"
    assert "AdjustContrast is not the host's bit for bit: 1 level of 255" in shown
    assert "to the GPU: AdjustContrast+ToTensor" in shown


def test_device_takes_what_has_a_form() -> None:
    with pytest.raises(ArgumentValueError, match=r"there is no Ascend device. Use device\('GPU'\)"):
        vision.Normalize(MEAN, STD).device("Ascend")
    with pytest.raises(ArgumentValueError, match=r"AutoContrast.* has no GPU kernel"):
        vision.AutoContrast().device("GPU")
    with pytest.raises(ArgumentValueError, match="valid set"):
        vision.Normalize(MEAN, STD).device("TPU")
    image = np.full((2, 2, 3), 9, np.uint8)
    assert (vision.HorizontalFlip().device("GPU")(image) == image).all()  # eagerly on the host


def test_one_that_cannot_move_says_why() -> None:
    data = pictures().map(
        [vision.Resize((8, 8)).device("GPU"), vision.AutoContrast(), vision.ToTensor()], "image"
    )
    with pytest.warns(UserWarning, match="runs on the host: AutoContrast behind it has no form"):
        assert moved(data.batch(2)) == ["ToTensor"]


def test_errors_are_the_hosts() -> None:
    data = pictures(4, (5, 6, 2)).map([vision.Normalize(MEAN, STD), vision.HWC2CHW()], "image").batch(2)
    with pytest.raises(DataError) as host:
        on_host(data)
    with pytest.raises(DataError) as card:
        on_card(data)
    first, other = (str(error.value).splitlines()[0] for error in (host, card))
    assert "number of channels does not match" in first
    assert first.partition("map(")[0] == other.partition("map(")[0]


def test_a_row_that_only_the_host_takes_is_done_there() -> None:
    data = pictures().map([vision.ToPIL(), vision.ToTensor()], "image").batch(5)
    alike(data)  # of a Pillow image it divides in float64
    apart = pictures().map([vision.ToPIL(), vision.HorizontalFlip()], "image").map(vision.ToTensor(), "image")
    assert moved(apart.batch(5)) == ["ToTensor"]
    alike(apart.batch(5))
    alike(pictures(4, (2, 5, 6, 3)).map(vision.Normalize(MEAN, STD), "image").batch(2))
    alike(pictures(4, dtype=np.float32).map(vision.Resize((7, 8)), "image", offload=True).batch(2))


def test_a_state_goes_on_wherever_rows_are_made() -> None:
    ds.config.set_seed(4)
    ops = [vision.RandomHorizontalFlip(), vision.ToTensor()]
    data = pictures(12).shuffle(12).map(ops, "image").batch(3)
    whole = on_host(data)
    rows = data.create_tuple_iterator(num_epochs=1)
    next(rows)
    rest = on_card(data, state=rows.state())
    rows.stop()
    for one, other in zip(whole[1:], rest, strict=True):
        assert one[0].tobytes() == other[0].tobytes()


def test_decoding_in_the_source_in_a_map_and_in_worker_processes(tmp_path: Any) -> None:
    where = folder(tmp_path)
    ops = [vision.RandomResizedCrop(16), vision.RandomHorizontalFlip(), vision.ToTensor()]
    for decode in (True, False):
        data = ds.ImageFolderDataset(where, shuffle=False, decode=decode)
        data = data.map(ops if decode else [vision.Decode(), *ops], "image", num_parallel_workers=2).batch(3)
        alike(data)
    expected = on_card(data)
    ds.config.set_executor("processes")
    for one, other in zip(expected, on_card(data), strict=True):
        assert one[0].tobytes() == other[0].tobytes()


@pytest.fixture
def host_decoder(monkeypatch: Any) -> list[int]:
    """The host's decoder in the place of nvJPEG: how many pictures it got at a time."""
    torch = pytest.importorskip("torch")
    groups: list[int] = []

    def decoded(encoded: Any, sizes: Any, device: Any) -> Any:
        groups.append(len(encoded))
        images = [torch.from_numpy(vision.Decode()(one.numpy()).transpose(2, 0, 1).copy()) for one in encoded]
        assert [tuple(image.shape[1:]) for image in images] == sizes
        return Images.of_planes(images)

    monkeypatch.setattr("millrace._src.transfer.batch_transforms.decode_jpeg_batch", decoded)
    return groups


def test_encoded_pictures_travel(tmp_path: Any, host_decoder: list[int], monkeypatch: Any) -> None:
    monkeypatch.setattr("millrace._src.transfer.batch_transforms.GROUP", 2)
    where = folder(tmp_path)
    png = np.random.default_rng(1).integers(0, 256, (30, 20, 3)).astype(np.uint8)
    # no JPEG, whatever its name says: the host decodes it
    vision.write_png(str(tmp_path / "a" / "2.jpg"), png)

    def ops() -> list[Any]:
        return [vision.RandomResizedCrop(16), vision.RandomHorizontalFlip(), vision.Normalize(MEAN, STD)]

    data = ds.ImageFolderDataset(where, shuffle=False)
    alike(data.map([op.device("GPU") for op in (vision.Decode(), *ops())], "image").batch(3))
    assert sum(host_decoder) == 2 * 5
    assert max(host_decoder) == 2
    assert moved(data.map([vision.Decode(), *ops()], "image").batch(3)) == [
        "RandomHorizontalFlip",
        "Normalize",
    ]
    asked = data.map([vision.Decode(), *ops()], "image", offload=True).batch(3)
    assert "nvJPEG rounds differently" in asked.explain(device_target="GPU")


def test_the_host_takes_a_share_of_the_decoding(tmp_path: Any, host_decoder: list[int]) -> None:
    data = ds.ImageFolderDataset(folder(tmp_path, 12), shuffle=False)
    data = data.map([vision.Decode(), vision.RandomResizedCrop(16)], "image", offload=True).batch(4)
    ds.config.set_seed(5)
    expected = on_host(data)
    for share, least, most in ((1.0, 0, 0), (0.5, 1, 11), (0.0, 12, 12)):
        host_decoder.clear()
        source = data._device_run(1)
        source.device_work.work[0].share.set(share)
        with DevicePrefetcher(source, epochs=1) as feed:
            made = [batch[0].asnumpy() for batch in feed]
        assert least <= sum(host_decoder) <= most
        for one, other in zip(expected, made, strict=True):
            assert one[0].tobytes() == other.tobytes()


def test_the_share_follows_what_steps_wait_for() -> None:
    share = SharedFloat()
    split = DecodeBalancer([share])
    for _ in range(EVERY * 5):
        split.update(full=True, waited=0.0, stepped=1.0)
    assert share.get() == pytest.approx(5 * UP)
    for turn in range(EVERY):
        split.update(full=False, waited=1.0 * turn, stepped=1.0)
    assert share.get() == pytest.approx(5 * UP * DOWN)
    for _ in range(EVERY):
        split.update(full=False, waited=EVERY - 1.0, stepped=20.0)  # nobody waits: it stays
    assert share.get() == pytest.approx(5 * UP * DOWN)
    copy = pickle.loads(pickle.dumps(share))
    share.set(0.125)
    assert copy.get() == 0.125


def test_without_torchvision_the_error_names_the_extra(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    data = ds.ImageFolderDataset(folder(tmp_path, 2), shuffle=False)
    data = data.map([vision.Decode().device("GPU"), vision.Resize((8, 8)).device("GPU")], "image").batch(2)
    with pytest.raises(ImportError, match=r"Decode.*device.*needs 'torchvision'.*pip install 'torchvision"):
        on_card(data)


def test_a_cut_travels() -> None:
    cut = HostDeviceSplit([vision.RandomHorizontalFlip(), vision.ToTensor()], settings.current())
    assert cut.steps
    assert [step.op for step in pickle.loads(pickle.dumps(cut)).steps] == ["RandomHorizontalFlip", "ToTensor"]


def test_the_size_of_a_jpeg() -> None:
    image = np.random.default_rng(0).integers(0, 256, (21, 33, 3)).astype(np.uint8)
    jpeg = np.asarray(vision.encode_jpeg(image)).reshape(-1)
    assert jpeg_size(jpeg) == (21, 33)
    assert jpeg_size(jpeg[:-2]) is None
    assert jpeg_size(np.asarray(vision.encode_png(image)).reshape(-1)) is None
