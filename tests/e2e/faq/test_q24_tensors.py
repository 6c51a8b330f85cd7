"""Q24: can the data processing operation and network computing operator be used together?"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from PIL import Image

import millrace as ms
import millrace.dataset as ds
import millrace.dataset.vision as vision
from millrace._src.core import log

IMAGES = np.arange(3 * 8 * 6 * 3, dtype=np.uint8).reshape(3, 8, 6, 3)


@pytest.fixture(autouse=True)
def fresh_warnings(monkeypatch):
    monkeypatch.setattr(log, "_warned_keys", set())


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def images() -> ds.Dataset:
    return ds.NumpySlicesDataset({"image": IMAGES}, shuffle=False)


def rows(data: ds.Dataset) -> list[np.ndarray]:
    return [row["image"] for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_a_tensor_is_converted_and_warned_about_once() -> None:
    """The input of the network operator must be Tensor; what it returns goes on as an array."""

    def network(x):
        return ms.Tensor(x) * 2

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = images().map(network, "image", num_parallel_workers=2)
        assert np.array_equal(rows(data), IMAGES * 2)
        rows(data)
    [said] = [str(warning.message) for warning in caught]
    assert "Tensor" in said
    assert "converted to a numpy array" in said


def test_once_with_worker_processes_too() -> None:
    code = """
        import numpy as np, warnings
        import millrace as ms, millrace.dataset as ds
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                data = ds.NumpySlicesDataset({"x": np.arange(40)}, shuffle=False)
                data = data.map(lambda x: ms.Tensor(x) + 1, "x", python_multiprocessing=True, num_parallel_workers=2)
                rows = [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        print(rows == list(range(1, 41)), len([w for w in caught if "Tensor" in str(w.message)]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("True 1\n", "")


def test_values_of_every_kind_are_accepted(quiet) -> None:
    kinds = {
        "array": lambda x: x,
        "PIL image": lambda x: Image.fromarray(x),
        "Tensor": lambda x: ms.Tensor(x),
        "list": lambda x: x.tolist(),
    }
    for function in kinds.values():
        made = rows(images().map(function, "image"))
        assert np.array_equal(made, IMAGES)
    assert [float(value) for value in rows(images().map(lambda x: float(x[0, 0, 0]), "image"))] == [
        0.0,
        144.0,
        32.0,
    ]


def test_one_operations_output_suits_the_next(quiet) -> None:
    """Ensure that the output format of the previous one is the input format of the next: done here."""
    wanted = rows(images().map(vision.CenterCrop(4), "image"))
    for convert in (lambda x: Image.fromarray(x), lambda x: ms.Tensor(x), lambda x: np.asarray(x)):
        assert np.array_equal(rows(images().map([convert, vision.CenterCrop(4)], "image")), wanted)
        assert np.array_equal(rows(images().map(convert, "image").map(vision.CenterCrop(4), "image")), wanted)
    back = [
        vision.ToPIL(),
        lambda pil: pil.rotate(180),
        np.asarray,
        lambda x: ms.Tensor(x[::-1, ::-1]),
        vision.HWC2CHW(),
    ]
    assert np.array_equal(rows(images().map(back, "image")), IMAGES.transpose(0, 3, 1, 2))


def test_sources_filters_and_batch_functions(quiet) -> None:
    class Source:
        def __getitem__(self, index):
            return ms.Tensor([index]), Image.new("L", (3, 2), index), np.int32(index), 1.5

        def __len__(self):
            return 4

    data = ds.GeneratorDataset(Source(), ["tensor", "image", "array", "number"], shuffle=False)
    data = data.filter(lambda tensor: ms.Tensor(tensor) > 0, ["tensor"])
    data = data.batch(3, per_batch_map=lambda xs, info: (ms.Tensor(np.stack(xs)),), input_columns=["tensor"])
    [row] = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    assert row["tensor"].tolist() == [[1], [2], [3]]
    assert row["image"].shape == (3, 2, 3)


def test_arrays_say_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows(images().map([lambda x: x + 1, vision.CenterCrop(4)], "image"))


def test_batches_are_tensors_for_the_network() -> None:
    [batch] = images().batch(3).create_dict_iterator(num_epochs=1)
    assert isinstance(batch["image"], ms.Tensor)
    assert batch["image"].dtype == ms.uint8


def test_network_operators_and_cells_in_map(quiet) -> None:
    """Data operations, network operators and a whole Cell in one list; each takes what the one before gives."""
    pytest.importorskip("torch")
    from millrace import nn, ops

    class Halve(nn.Cell):
        def construct(self, x):
            return ops.relu(x - 2.0) / 2.0

    halve = Halve()
    data = images().map(
        [
            vision.CenterCrop(4),
            lambda x: ops.transpose(ms.Tensor(x).astype(ms.float32), (2, 0, 1)),
            lambda x: halve(ms.Tensor(x)),
            lambda x: np.asarray(x) + 1,
        ],
        "image",
        num_parallel_workers=2,
    )
    crops = np.stack(rows(images().map(vision.CenterCrop(4), "image"))).transpose(0, 3, 1, 2)
    wanted = np.maximum(crops.astype(np.float32) - 2, 0) / 2 + 1
    assert np.array_equal(np.stack(rows(data)), wanted)


def test_a_batch_goes_into_a_net_as_it_comes() -> None:
    pytest.importorskip("torch")
    from millrace import nn

    [batch] = images().batch(3).create_dict_iterator(num_epochs=1)
    net = nn.SequentialCell(nn.Flatten(), nn.Dense(8 * 6 * 3, 2))
    assert net(batch["image"].astype(ms.float32)).shape == (3, 2)
