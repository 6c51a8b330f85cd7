"""Checkpoints in object storage."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("obstore")
pytest.importorskip("moto")

import millrace as ms
import millrace.dataset as ds
from millrace import nn
from millrace._src.core.io import remote
from millrace._src.core.io.remote import remote_glob
from millrace.train import (
    CheckpointConfig,
    Model,
    ModelCheckpoint,
    check_checkpoint,
    contents_of,
    load_checkpoint,
    save_checkpoint,
    wait_for_checkpoints,
)
from tests.support.faulty_s3_proxy import Faults, faulty
from tests.support.s3_server import server, store

__all__ = ["server", "store"]  # fixtures


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
@pytest.mark.parametrize("beside", [False, True])
def test_saved_and_loaded(store, format, beside):
    address = f"s3://bucket/run/net-{beside}"
    for value in (1, 2):  # the second takes the place of the first
        save_checkpoint({"w": np.full(3, value)}, address, format=format, async_save=beside)
        wait_for_checkpoints()
    found = load_checkpoint(f"{address}.{format}", format=format)
    assert found["w"].asnumpy().tolist() == [2, 2, 2]
    assert contents_of(f"{address}.{format}").numbers() == 3


def test_what_is_not_there_and_what_is_damaged(store, tmp_path):
    with pytest.raises(ValueError, match=r"s3://bucket/no\.ckpt does not exist"):
        load_checkpoint("s3://bucket/no.ckpt")
    save_checkpoint({"w": np.full(3, 1)}, "s3://bucket/w.ckpt")
    assert check_checkpoint("s3://bucket/w.ckpt")
    from millrace._src.core.io.remote import upload

    (tmp_path / "torn").write_bytes(b"\x0a\xff\x01")
    upload(tmp_path / "torn", "s3://bucket/torn.ckpt")
    with pytest.raises(ValueError, match=r"s3://bucket/torn\.ckpt.*ends inside"):
        load_checkpoint("s3://bucket/torn.ckpt")


def test_a_training_saves_there_and_goes_on_from_there(store):
    def train(epochs, folder, **options):
        ms.set_seed(1)
        x = np.arange(12, dtype=np.float32).reshape(6, 2) / 10
        data = ds.NumpySlicesDataset({"x": x, "y": x[:, :1]}, shuffle=True).batch(2)
        net = nn.Dense(2, 1)
        model = Model(net, nn.MSELoss(), nn.Adam(net.trainable_params()))
        config = CheckpointConfig(2, keep_checkpoint_max=2)
        model.train(epochs, data, callbacks=ModelCheckpoint("r", folder, config), **options)
        return net.weight.asnumpy().tobytes()

    whole = train(4, "s3://bucket/whole")
    train(2, "s3://bucket/train")
    names = [name.rpartition("/")[2] for name in remote_glob("s3://bucket/train/*")]
    assert names == ["r-2_1.ckpt", "r-2_3.ckpt"]
    assert train(4, "s3://bucket/train", resume="s3://bucket/train") == whole
    names = [name.rpartition("/")[2] for name in remote_glob("s3://bucket/train/*")]
    assert names == ["r-4_1.ckpt", "r-4_3.ckpt"]


@pytest.mark.parametrize("seed", range(3))
def test_saved_and_loaded_whatever_goes_wrong_on_the_way(server, seed, monkeypatch):
    """Larger than one request and than one part of an upload; a checkpoint is there whole or not at all."""
    monkeypatch.setattr(remote.RETRIES, "pause", 0.001)
    monkeypatch.setattr(remote.RETRIES, "budget", 30.0)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    weights = {"w": np.random.default_rng(seed).random(10 << 17)}  # 10 MB
    with faulty(server, Faults(seed, 0.3, most=12)) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        save_checkpoint(weights, "s3://bucket/faults.ckpt")
        assert load_checkpoint("s3://bucket/faults.ckpt")["w"].asnumpy().tobytes() == weights["w"].tobytes()


def test_a_save_that_fails_leaves_what_was_there(server, monkeypatch):
    monkeypatch.setattr(remote.RETRIES, "pause", 0.001)
    monkeypatch.setattr(remote.RETRIES, "budget", 30.0)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    save_checkpoint({"w": np.zeros(3)}, "s3://bucket/kept.ckpt")
    with faulty(server, Faults(0, 1.0, in_a_row=10**9, kinds=("busy",))) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        with pytest.raises(Exception, match=r"failed \d+ times: OSError") as caught:
            save_checkpoint({"w": np.ones(3)}, "s3://bucket/kept.ckpt")
        assert "s3://bucket/kept.ckpt" in str(caught.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    assert load_checkpoint("s3://bucket/kept.ckpt")["w"].asnumpy().tolist() == [0, 0, 0]
