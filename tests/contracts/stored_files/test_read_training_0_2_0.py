"""Checkpoints, archives and summaries that version 0.2.0 wrote are read."""

from __future__ import annotations

import hashlib
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace
from millrace import Tensor, nn, train
from millrace._src.serve.servable import load_model_file

from .pickled import OBJECTS
from .test_read_0_2_0 import PICKLES
from .training import KEY, STREAM, Regression, step_cell, trained
from .write_0_2_0 import FOLDER

RUN = ("run-1_4.ckpt", "run-1_6.ckpt")


@pytest.fixture(autouse=True)
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "stored"
    shutil.copytree(FOLDER, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("plain.ckpt", {}),
        ("checked.ckpt", {"crc_check": True}),
        ("plain.safetensors", {"format": "safetensors"}),
        ("gcm.ckpt", {"dec_key": KEY, "dec_mode": "AES-GCM"}),
        ("stream.ckpt", {"dec_key": KEY, "dec_mode": STREAM}),
    ],
)
def test_a_checkpoint_is_read(name: str, arguments: dict[str, object]) -> None:
    found = millrace.load_checkpoint(f"checkpoints/{name}", **arguments)
    assert found["dense.weight"].asnumpy().tolist() == (np.arange(6).reshape(2, 3) / 8).tolist()
    assert found["dense.bias"].asnumpy().tolist() == [0, 0]
    assert millrace.load_param_into_net(Regression(), found) == ([], [])


@pytest.mark.parametrize(
    ("name", "arguments"), [("own.ckpt", {}), ("own.safetensors", {}), ("secret.ckpt", {"dec_key": KEY})]
)
def test_a_training_state_is_read_with_the_position_of_its_data(
    name: str, arguments: dict[str, bytes]
) -> None:
    from .pipelines import training_data

    found = train.load_training(f"checkpoints/{name}", step_cell(), **arguments)
    assert (found.step, found.extra) == (2, {"best": 0.5})
    with training_data().epochs(3, state=found.data) as epochs:
        assert [len(list(rows)) for rows in epochs] == [4, 6, 6]


@pytest.mark.parametrize("newest", RUN)
def test_a_run_resumes_to_the_same_bits(newest: str) -> None:
    """From the middle of an epoch, and from its end."""
    folder = Path("checkpoints/run")
    for name in RUN:
        if name > newest:
            (folder / name).unlink()
    expected = np.load(FOLDER / "checkpoints" / "after_two_epochs.npz")
    found = trained(2, resume=str(folder))
    assert found.keys() == set(expected.files)
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-5, err_msg=name)


@pytest.mark.parametrize(("name", "rows"), [("rows", 5), ("fixed", 2)])
def test_an_archive_computes_what_its_network_does(name: str, rows: int) -> None:
    values = Tensor(np.arange(rows * 3, dtype=np.float32).reshape(rows, 3))
    cell = nn.GraphCell(millrace.load(f"archives/{name}.mindir"))
    np.testing.assert_allclose(cell(values).asnumpy(), Regression()(values).asnumpy(), rtol=1e-6)


def test_an_archive_with_transforms_of_images_is_served() -> None:
    loaded = load_model_file("archives/images.mindir")
    images = np.stack([np.full((4, 4, 3), 10, np.uint8), np.full((4, 4, 3), 20, np.uint8)])
    assert [type(step).__name__ for step in loaded.pre[loaded.inputs[0].name].operations] == [
        "Resize",
        "Rescale",
        "HWC2CHW",
    ]
    (made,) = loaded.predict([images])
    assert made.tolist() == [1, 1]  # the bias that is stored decides


def test_an_archive_with_transforms_of_text_is_served() -> None:
    loaded = load_model_file("archives/words.mindir")
    steps = loaded.pre[loaded.inputs[0].name]
    assert steps.takes_text
    (made,) = loaded.predict([np.array([b"a b c", b"b"], object)])
    assert made.tolist() == np.ones((2, 3, 2)).tolist()


@pytest.mark.parametrize("name", ["Cell", "Parameter", "Tensor"])
def test_a_pickle_is_read(name: str) -> None:
    found, made = pickle.loads(bytes.fromhex(PICKLES[name])), OBJECTS[name]()
    assert type(found) is type(made)
    one, other = (found.weight, made.weight) if name == "Cell" else (found, made)
    assert one.asnumpy().tolist() == other.asnumpy().tolist()


def test_the_weights_of_a_landscape_are_read() -> None:
    digests = set()
    for number in (1, 2, 3):
        found = millrace.load_checkpoint(f"summaries/ckpt_dir/Regression_{number}_step.ckpt")
        digests.add(hashlib.sha256(found["dense.weight"].asnumpy().tobytes()).hexdigest())
    assert len(digests) == 3
