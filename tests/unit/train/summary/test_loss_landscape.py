"""SummaryLandscape: losses over a plane are those of the net there, and TensorBoard reads the picture."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
import millrace.dataset as ds
from millrace import nn, train
from millrace._src.train.summary import loss_plane as plane
from tests.unit.train.summary.test_summary import read

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(12, 1)
Y = 3 * X - 1


def data():
    return ds.NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).batch(4)


def trained(folder, seed=1, **landscape):
    """Weight and bias after each step, or epoch, of a training whose weights a collector keeps."""
    ms.set_seed(seed)
    net = nn.Dense(1, 1)
    seen = {"step": [], "epoch": []}

    class Seen(train.Callback):
        def on_train_step_end(self, run_context):
            seen["step"].append((net.weight.item(), net.bias.item()))

        def on_train_epoch_end(self, run_context):
            seen["epoch"].append((net.weight.item(), net.bias.item()))

    settings = {"landscape_size": 5, "intervals": [[1, 2, 4]]} | landscape
    collector = train.SummaryCollector(str(folder), collect_specified_data={"collect_landscape": settings})
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.2))
    model.train(5, data(), callbacks=[collector, Seen()])
    return np.array(seen[landscape.get("unit", "step")])


def parts():
    net = nn.Dense(1, 1)
    parts.net = net
    return train.Model(net, nn.MSELoss(), metrics={"loss"}), net, data(), {"loss"}


def numbers(folder, name):
    found = read(folder)
    tag = next(tag for tag in found.Tags()["tensors"] if tag.startswith(f"{name}/points"))
    return json.loads(found.Tensors(tag)[0].tensor_proto.string_val[0]), found.Images(name)[0]


def loss(weight, bias):
    return np.mean((X * weight + bias - Y) ** 2)


@pytest.mark.parametrize("unit", ["step", "epoch"])
def test_losses_over_the_plane_are_those_of_the_net_there(tmp_path, unit):
    points = trained(tmp_path, unit=unit)[[0, 1, 3]]
    ms.set_seed(3)
    train.SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts)
    found, image = numbers(tmp_path, "landscape_[1, 4]")
    assert found["decomposition"] == "PCA"
    assert found["intervals"] == [1, 2, 4]
    # weight and bias span a plane: every point of the path lies in it
    path = np.array(found["path"])
    np.testing.assert_allclose(path[:, 2], [loss(*point) for point in points], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(path[-1, :2], 0, atol=1e-6)
    assert np.allclose(found["convergence_point"], path[-1], atol=1e-5)
    # from coordinates to weights: two steps away from the end say which directions they are
    away = (points[:2] - points[2]).T @ np.linalg.inv(path[:2, :2].T)
    for column, x in enumerate(found["x"]):
        for row, y in enumerate(found["y"]):
            there = points[2] + away @ [x, y]
            assert found["z"][row][column] == pytest.approx(loss(*there), rel=1e-3, abs=1e-5)
    assert min(found["x"]) < path[:, 0].min() < path[:, 0].max() < max(found["x"])
    assert (image.width, image.height) == (255, 255)
    around, _ = numbers(tmp_path, "landscape_[4]")
    assert around["decomposition"] == "Random"
    assert (around["x"], around["path"]) == ([-1, -0.5, 0, 0.5, 1], [])
    assert around["z"][2][2] == pytest.approx(loss(*points[2]), rel=1e-4)


def test_the_net_gets_its_weights_back_and_settings_may_change(tmp_path):
    trained(
        tmp_path / "run", create_landscape={"train": True, "result": False}, intervals=[[1, 2, 3], [2, 3, 4]]
    )
    given = []

    def remembering():
        made = parts()
        given.append((made[1], made[1].weight.asnumpy().copy()))
        return made

    landscape = train.SummaryLandscape(str(tmp_path / "run"))
    settings = {"landscape_size": 3, "num_samples": 5, "intervals": [[1, 3, 4]]}
    landscape.gen_landscapes_with_multi_process(remembering, settings, [0], str(tmp_path / "out"))
    ((net, before),) = given
    np.testing.assert_array_equal(net.weight.asnumpy(), before)
    found, _ = numbers(tmp_path / "out", "landscape_[1, 4]")
    assert np.shape(found["z"]) == (3, 3)
    assert found["num_samples"] == 5
    assert len(read(tmp_path / "out").Tags()["images"]) == 1
    landscape.clean_ckpt()
    assert not os.path.exists(tmp_path / "run" / "ckpt_dir")
    with pytest.raises(FileNotFoundError, match=r"train_metadata.json file does not exist"):
        landscape.gen_landscapes_with_multi_process(parts)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"landscape_size": 2}, ValueError, "between 3 and 256"),
        ({"landscape_size": 4.0}, TypeError, "landscape_size"),
        ({"unit": "row"}, ValueError, "should be step or epoch"),
        ({"create_landscape": {"other": True}}, ValueError, "create_landscape"),
        ({"create_landscape": {"train": 1}}, TypeError, "train"),
        ({"intervals": [[1, 2]]}, ValueError, "less than three"),
        ({"intervals": [[1, 2, "3"]]}, TypeError, "intervals"),
        ({"intervals": None}, TypeError, "intervals"),
        ({"num_samples": 0}, ValueError, "num_samples"),
        ({"size": 4}, ValueError, "are unsupported"),
        ({"intervals": [[1, 2, 99]]}, ValueError, "does not exist 99th"),
    ],
)
def test_settings_are_checked(tmp_path, settings, error, words):
    if words != "does not exist 99th":
        with pytest.raises(error, match=words):
            train.SummaryCollector(str(tmp_path), collect_specified_data={"collect_landscape": settings})
    trained(tmp_path)
    with pytest.raises(error, match=words):
        train.SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts, settings)


def test_devices_and_functions_are_checked(tmp_path):
    with pytest.raises(ValueError, match="must name the steps or epochs"):
        train.SummaryCollector(str(tmp_path), collect_specified_data={"collect_landscape": {"unit": "step"}})
    trained(tmp_path)
    landscape = train.SummaryLandscape(str(tmp_path))
    with pytest.raises(ValueError, match="between 0 and 7"):
        landscape.gen_landscapes_with_multi_process(parts, device_ids=[8])
    with pytest.raises(TypeError, match="must return a Model, its network, a dataset and metrics"):
        landscape.gen_landscapes_with_multi_process(lambda: 3)


def test_a_picture_shows_low_and_high_the_path_and_what_is_no_number():
    axis = np.array([-1.0, 0.0, 1.0])
    z = np.array([[0.0, 1.0, 4.0], [1.0, 2.0, np.nan], [4.0, 5.0, 8.0]])
    path = np.array([[-1.0, -1.0, 0.0]])
    made = plane.Landscape(axis, axis, z, path, (1.0, 1.0, 8.0), {})
    pixels = made.to_image()
    assert pixels.shape == (255, 255, 3)
    assert pixels[-1, 0].tolist() == [220, 40, 40]  # the path begins below on the left
    assert pixels[0, -1].tolist() == [255, 255, 255]
    assert pixels[127, 200].tolist() == [160, 160, 160]
    assert pixels[230, 60].tolist() == [68, 1, 84]
    assert json.loads(made.text())["z"][1][2] is None
