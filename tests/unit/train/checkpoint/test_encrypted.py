"""Encrypted checkpoints, mode AES-GCM-STREAM: no block can be moved, repeated, dropped or taken from another file."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("cryptography")

import millrace as ms
import millrace.dataset as ds
from millrace._src.core.errors import ArgumentValueError, CheckpointError
from millrace._src.core.io import encrypted_stream
from millrace._src.core.io import encryption as sealed
from millrace.train import (
    CheckpointConfig,
    Model,
    ModelCheckpoint,
    load_checkpoint,
    load_training,
    save_checkpoint,
    save_training,
)

KEY = b"0123456789abcdef"
STREAM = "AES-GCM-STREAM"
HEAD = encrypted_stream.HEADER.size
BLOCK = 64


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(encrypted_stream.StreamWriter.__init__, "__defaults__", (BLOCK,))
    monkeypatch.setattr(sealed, "BLOCK", BLOCK)


def saved(name: str, fill: int, mode: str = STREAM) -> bytes:
    values = {letter: np.full(16, fill + n, np.int32) for n, letter in enumerate("abc")}
    save_checkpoint(values, name, enc_key=KEY, enc_mode=mode)
    return Path(name).read_bytes()


def blocks_of(data: bytes) -> list[bytes]:
    step = BLOCK + 16
    return [data[start : start + step] for start in range(HEAD, len(data), step)]


def refused(data: bytes) -> str:
    Path("x.ckpt").write_bytes(data)
    with pytest.raises(CheckpointError, match=r"x\.ckpt.*cannot decrypt") as caught:
        load_checkpoint("x.ckpt", dec_key=KEY, dec_mode=STREAM)
    return str(caught.value)


def test_round_trip():
    saved("a.ckpt", 1)
    found = load_checkpoint("a.ckpt", dec_key=KEY, dec_mode=STREAM, crc_check=True)
    assert {name: set(value.asnumpy().tolist()) for name, value in found.items()} == {
        "a": {1},
        "b": {2},
        "c": {3},
    }


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 3 * BLOCK + 5])
@pytest.mark.parametrize("step", [1, 7, BLOCK, BLOCK + 1, 1000])
def test_every_length_and_every_way_to_write_it(size, step):
    plain = bytes(n % 251 for n in range(size))
    parts: list[bytes] = []
    writer = encrypted_stream.StreamWriter(parts.append, KEY, BLOCK)
    for start in range(0, size, step):
        writer.write(plain[start : start + step])
    writer.finish()
    data = b"".join(parts)
    assert len(data) == HEAD + size + 16 * max(1, -(-size // BLOCK))
    read = encrypted_stream.decrypt_blocks(lambda start, end: data[start:end], len(data), KEY)
    assert b"".join(read) == plain


def test_every_order_and_every_selection_of_blocks_is_refused():
    data = saved("a.ckpt", 1)
    blocks = blocks_of(data)
    whole = tuple(range(len(blocks)))
    assert len(whole) == 4
    tried = 0
    for count in range(len(blocks) + 2):
        for order in itertools.product(whole, repeat=count):
            if order != whole:
                refused(data[:HEAD] + b"".join(blocks[n] for n in order))
                tried += 1
    assert tried == sum(4**count for count in range(6)) - 1


def test_a_block_of_another_file_under_the_same_key_is_refused():
    first, second = saved("a.ckpt", 1), saved("b.ckpt", 7)
    assert len(first) == len(second)
    mine, other = blocks_of(first), blocks_of(second)
    for chosen in itertools.product((0, 1), repeat=len(mine)):
        if len(set(chosen)) == 1:
            continue
        mixed = b"".join((other if one else mine)[n] for n, one in enumerate(chosen))
        refused(first[:HEAD] + mixed)
        refused(second[:HEAD] + mixed)
    refused(first[:HEAD] + b"".join(other))


def test_every_cut_and_every_changed_byte_is_refused():
    data = saved("a.ckpt", 1)
    for size in range(4, len(data)):
        refused(data[:size])
    refused(data + b"\0")
    refused(data + blocks_of(data)[-1])
    for at in range(4, len(data)):
        refused(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    for size in range(4):  # not even the magic is there
        Path("x.ckpt").write_bytes(data[:size])
        with pytest.raises(CheckpointError, match=r"x\.ckpt"):
            load_checkpoint("x.ckpt", dec_key=KEY, dec_mode=STREAM)


def test_mindspores_format_cannot_notice_this():
    """What the documentation says of the other modes: it is why this one exists."""
    first, second = saved("a.ckpt", 1, "AES-GCM"), saved("b.ckpt", 7, "AES-GCM")
    step = sealed.block_size(first, "AES-GCM")
    Path("x.ckpt").write_bytes(second[:step] + first[step:])
    found = load_checkpoint("x.ckpt", dec_key=KEY)
    assert set(found["c"].asnumpy().tolist()) == {3}
    assert set(found["a"].asnumpy().tolist()) != {1}


def test_a_mode_is_never_read_as_another():
    """Otherwise a file with exchanged blocks could pass as the format that cannot notice them."""
    saved("old.ckpt", 1, "AES-GCM")
    saved("new.ckpt", 1)
    with pytest.raises(
        CheckpointError, match="dec_mode is 'AES-GCM-STREAM', and the file is encrypted as 'AES-GCM'"
    ):
        load_checkpoint("old.ckpt", dec_key=KEY, dec_mode=STREAM)
    with pytest.raises(
        CheckpointError, match="dec_mode is 'AES-GCM', and the file is encrypted as 'AES-GCM-STREAM'"
    ):
        load_checkpoint("new.ckpt", dec_key=KEY)
    with pytest.raises(CheckpointError, match="give its key as dec_key, and dec_mode='AES-GCM-STREAM'"):
        load_checkpoint("new.ckpt")
    with pytest.raises(CheckpointError, match="crc_check=False, or save it with enc_mode='AES-GCM-STREAM'"):
        load_checkpoint("old.ckpt", dec_key=KEY, crc_check=True)
    with pytest.raises(ArgumentValueError, match="must be one of"):
        save_checkpoint({"a": np.zeros(1)}, "x", enc_key=KEY, enc_mode="AES-GCM-SIV")
    with pytest.raises(CheckpointError, match="key of 16 bytes, got one of 32"):
        load_checkpoint("new.ckpt", dec_key=KEY * 2, dec_mode=STREAM)


def test_an_encrypted_training_file():
    net = ms.nn.Dense(2, 1)
    save_training("run.ckpt", net, step=3, enc_key=KEY)
    data = Path("run.ckpt").read_bytes()
    assert load_training("run.ckpt", net, dec_key=KEY).step == 3
    with pytest.raises(CheckpointError, match="encrypted"):
        load_training("run.ckpt", net)
    with pytest.raises(CheckpointError, match="cannot decrypt"):
        load_training("run.ckpt", net, dec_key=b"x" * 16)
    Path("cut.ckpt").write_bytes(data[: HEAD + 2 * (BLOCK + 16)])
    with pytest.raises(CheckpointError, match="cannot decrypt"):
        load_training("cut.ckpt", net, dec_key=KEY)


# --- Model.train(resume=...) ---------------------------------------------------------------------------------------


def checkpoints(enc_key=KEY, enc_mode=STREAM):
    return ModelCheckpoint("run", "files", CheckpointConfig(enc_key=enc_key, enc_mode=enc_mode))


def trained(epochs, callbacks, resume=None):
    """The weights after training a new network."""
    ms.set_seed(3)
    net = ms.nn.Dense(2, 1)
    rows = np.arange(12, dtype=np.float32).reshape(6, 2) / 12
    data = ds.NumpySlicesDataset({"x": rows, "y": rows[:, :1]}, shuffle=True).batch(2)
    optimizer = ms.nn.Momentum(net.trainable_params(), 0.1, 0.9)
    Model(net, ms.nn.MSELoss(), optimizer).train(epochs, data, callbacks=callbacks, resume=resume)
    return net.weight.asnumpy().tobytes()


def test_a_training_resumes_from_its_encrypted_files():
    whole = trained(4, None)
    trained(2, checkpoints(), resume="files")
    with pytest.raises(CheckpointError, match="encrypted"):
        load_checkpoint(str(next(Path("files").glob("*.ckpt"))))
    assert trained(4, [checkpoints()], resume="files") == whole


@pytest.mark.parametrize("callbacks", [None, lambda: checkpoints(enc_key=b"x" * 16)])
def test_encrypted_files_are_not_resumed_without_their_key(callbacks):
    trained(1, checkpoints())
    with pytest.raises(CheckpointError, match=r"encrypted .*ModelCheckpoint|cannot decrypt"):
        trained(2, callbacks and callbacks(), resume="files")


def test_a_mode_that_does_not_verify_whole_files_is_refused_with_resume():
    trained(1, checkpoints(enc_mode="AES-GCM"))
    with pytest.raises(
        ArgumentValueError, match=r"expected enc_mode='AES-GCM-STREAM'.*got 'AES-GCM'.*Set enc_mode="
    ):
        trained(2, checkpoints(enc_mode="AES-GCM"), resume="files")


def test_several_keys_are_refused_with_resume():
    with pytest.raises(ArgumentValueError, match=r"expected one enc_key .* got 2"):
        trained(1, [checkpoints(), checkpoints(enc_key=b"x" * 16)], resume="files")
