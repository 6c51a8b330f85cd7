"""Damaged files of every format: each is refused with CheckpointError, or loads values that it holds; nothing else."""

from __future__ import annotations

import json
import random
import resource
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
from millrace import Tensor
from millrace._src.core.errors import CheckpointError
from millrace._src.train.checkpoint import ckpt_protobuf as wire
from millrace._src.train.checkpoint import training_state as resume
from millrace.train import contents_of, load_checkpoint, load_training, save_checkpoint, save_training

KEY = b"0123456789abcdef"
VARIANTS = 300


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def little_memory():
    """A size that a file claims must be checked before memory is allocated for it."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


def put(name: str, data: bytes) -> str:
    path = Path(name)
    if path.exists():
        path.chmod(0o600)
    path.write_bytes(data)
    return name


def values() -> dict:
    return {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.arange(4, dtype=np.int64),
        "c": np.array([True, False]),
        "deep.name": np.arange(3, dtype=np.uint8),
        "number": np.array(7, np.int32),
    }


def mutated(data: bytes, seed: int) -> Iterator[bytes]:
    """Flipped bits, overwritten words, cuts, insertions, repeated and removed ranges."""
    chance = random.Random(seed)
    words = [
        b"\xff" * 8,
        b"\0" * 8,
        struct.pack("<q", -1 << 62),
        struct.pack("<Q", 1 << 40),
        b"\x80" * 11,
        b"9" * 40,
    ]
    for number in range(VARIANTS):
        made = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(made) or 1)
            size = chance.randint(1, 40)
            action = number % 6
            if action == 0 and made:
                made[at % len(made)] ^= 1 << chance.randrange(8)
            elif action == 1:
                word = chance.choice(words)
                made[at : at + len(word)] = word
            elif action == 2:
                del made[at:]
            elif action == 3:
                made[at:at] = chance.randbytes(size)
            elif action == 4:
                made[at:at] = made[at : at + size]
            else:
                del made[at : at + size]
        if bytes(made) != data:
            yield bytes(made)


def attempt(load: Callable[[], object]) -> bool:
    """Whether it was refused, by our error and no other."""
    try:
        load()
    except CheckpointError:
        return True
    return False


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
@pytest.mark.parametrize("crc", [False, True])
def test_parameters(format, crc, little_memory):
    save_checkpoint(values(), "whole", format=format, crc_check=crc)
    data = Path(f"whole.{format}").read_bytes()
    expected = {name: array.tobytes() for name, array in values().items()}
    refusals = 0
    for made in mutated(data, seed=11):
        name = put(f"x.{format}", made)

        def load(name: str = name) -> None:
            found = load_checkpoint(name, format=format, crc_check=crc)
            if crc:  # what loads with a checksum is what was saved
                assert {key: value.asnumpy().tobytes() for key, value in found.items()} == expected

        refusals += attempt(load)
        attempt(lambda name=name: contents_of(name))
    assert refusals > VARIANTS // 2


@pytest.mark.parametrize("mode", ["AES-GCM-STREAM", "AES-GCM", "AES-CBC", "SM4-CBC"])
def test_encrypted_parameters(mode, little_memory):
    pytest.importorskip("cryptography")
    save_checkpoint(values(), "whole", enc_key=KEY, enc_mode=mode)
    data = Path("whole.ckpt").read_bytes()
    count = refusals = 0
    for made in mutated(data, seed=12):
        put("x.ckpt", made)
        count += 1
        refusals += attempt(lambda: load_checkpoint("x.ckpt", dec_key=KEY, dec_mode=mode))
    if mode == "AES-GCM-STREAM":
        assert refusals == count
    assert refusals > count // 2


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_training_files(format, little_memory):
    net = ms.nn.Dense(3, 2)
    save_training("whole", net, step=3, format=format)
    data = Path(f"whole.{format}").read_bytes()
    weight = net.weight.asnumpy().copy()
    for made in mutated(data, seed=13):
        name = put(f"x.{format}", made)
        net.weight.set_data(Tensor(weight + 1))
        if attempt(lambda name=name: load_training(name, net)):
            assert (net.weight.asnumpy() == weight + 1).all()
        else:  # bytes that no tensor has: padding of the header
            assert (net.weight.asnumpy() == weight).all()


def state_with(**changes) -> dict:
    """A training file whose checksum is right and whose state is not what was saved."""
    net = ms.nn.Dense(3, 2)
    found = resume.training_state_entries(None, 3, 1)
    about = json.loads(found[resume._ABOUT].asnumpy().tobytes())
    for name, value in changes.items():
        if value is KeyError:
            about.pop(name)
        else:
            about[name] = value
    found[resume._ABOUT] = Tensor(np.frombuffer(json.dumps(about).encode(), np.uint8).copy())
    values = {**{p.name: p for _, p in net.parameters_and_names()}, **found}
    return {name: value if isinstance(value, Tensor) else Tensor(value) for name, value in values.items()}


STATES = [
    *(
        {name: KeyError}
        for name in ("version", "step", "epoch", "step_in_epoch", "data", "seed", "globals", "extra")
    ),
    *({"version": value} for value in (0, 3, "2", None, True, 10**40, [], {})),
    *({"step": value} for value in (None, "3", 1.5, [], True)),
    *({"seed": value} for value in ("1", -1, 1.5, [], 1 << 80)),
    *(
        {"globals": value}
        for value in (None, [], {}, {"python": [3, "zz", None]}, {"python": [3, "00", None], "numpy": []})
    ),
    {"run": 3},
]


@pytest.mark.parametrize("changes", STATES, ids=lambda changes: str(changes)[:40])
def test_a_state_of_other_fields(changes):
    save_checkpoint(state_with(**changes), "x", crc_check=True)
    net = ms.nn.Dense(3, 2)
    before, seed, numbers = net.weight.asnumpy().copy(), ms.get_seed(), np.random.get_state()[1].copy()
    with pytest.raises(CheckpointError, match=r"x\.ckpt"):
        load_training("x.ckpt", net)
    assert (net.weight.asnumpy() == before).all()
    assert ms.get_seed() == seed
    assert (np.random.get_state()[1] == numbers).all()


@pytest.mark.parametrize(
    "text",
    [b"[" * 100_000, b"{}", b"[]", b"3", b"\xff\xfe", b"9" * 5000, b'{"version": ' + b"9" * 5000 + b"}", b""],
)
def test_a_state_that_is_no_such_json(text):
    state = state_with()
    state[resume._ABOUT] = Tensor(np.frombuffer(text or b" ", np.uint8).copy())
    save_checkpoint(state, "x", crc_check=True)
    with pytest.raises(CheckpointError, match=r"x\.ckpt"):
        load_training("x.ckpt", ms.nn.Dense(3, 2))


def test_entries_of_other_types():
    for name in ("weight", "millrace.random.cpu", "millrace.training"):
        state = state_with()
        save_checkpoint({**state, name: "a text"}, "x", crc_check=True)
        with pytest.raises(CheckpointError, match=r"x\.ckpt"):
            load_training("x.ckpt", ms.nn.Dense(3, 2))
    state["millrace.random.cpu"] = Tensor(np.zeros(3, np.uint8))
    save_checkpoint(state, "x", crc_check=True)
    with pytest.raises(CheckpointError, match=r"x\.ckpt"):
        load_training("x.ckpt", ms.nn.Dense(3, 2))


# --- headers of safetensors ---------------------------------------------------------------------------------


def header(text: bytes, data: bytes = b"\0" * 8, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype="F32", shape=(2,), offsets=(0, 8), **more) -> dict:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


def described(**tensors) -> bytes:
    return header(json.dumps(tensors).encode())


HEADERS = {
    "empty": b"",
    "seven bytes": b"\0" * 7,
    "no header": b"\0" * 8,
    "length beyond the file": header(b"{}", b"", 1 << 20),
    "length of 2**63": header(b"{}", b"", 1 << 63),
    "length of 2**64-1": b"\xff" * 8,
    "deep array": header(b"[" * 200_000),
    "deep object": header(b'{"a":' * 100_000),
    "not UTF-8": header(b'{"\xff\xfe": 1}'),
    "array": header(b"[]"),
    "number": header(b"3"),
    "number of 5000 digits": header(
        b'{"w":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,8]}}'
    ),
    "name twice": header(
        b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}'
    ),
    "dtype twice": header(b'{"w":{"dtype":"F32","dtype":"I64","shape":[1],"data_offsets":[0,8]}}'),
    "nothing described": described(),
    "tensor is a number": described(w=3),
    "tensor is null": described(w=None),
    "no dtype": described(w={"shape": [2], "data_offsets": [0, 8]}),
    "no shape": described(w={"dtype": "F32", "data_offsets": [0, 8]}),
    "no offsets": described(w={"dtype": "F32", "shape": [2]}),
    "dtype of no library": described(w=tensor("F31")),
    "dtype is a list": described(w=tensor(["F32"])),
    "dtype of another width": described(w=tensor("F64")),
    "negative shape": described(w=tensor(shape=[-2])),
    "two negative dimensions": described(w=tensor(shape=[-2, -1])),
    "huge shape": described(w=tensor(shape=[1 << 40])),
    "shape that wraps around": described(w=tensor(shape=[1 << 62, 4, 2])),
    "shape of a float": described(w=tensor(shape=[2.0])),
    "shape of a bool": described(w=tensor(shape=[2, True])),
    "shape of texts": described(w=tensor(shape=["2"])),
    "too many dimensions": described(w=tensor(shape=[2] + [1] * 100)),
    "huge empty shape": described(w=tensor(shape=[0, 1 << 61, 1 << 61], offsets=[0, 0]), v=tensor()),
    "one offset": described(w=tensor(offsets=[0])),
    "three offsets": described(w=tensor(offsets=[0, 8, 16])),
    "offsets reversed": described(w=tensor(offsets=[8, 0])),
    "negative offset": described(w=tensor(offsets=[-8, 0])),
    "offsets beyond the file": described(w=tensor(offsets=[8, 16])),
    "huge offsets": described(w=tensor(offsets=[1 << 60, (1 << 60) + 8])),
    "overlap": described(a=tensor(), b=tensor()),
    "half an overlap": described(a=tensor(shape=[2]), b=tensor(shape=[1], offsets=[4, 8])),
    "gap": described(a=tensor(shape=[1], offsets=[4, 8])),
    "bytes that no tensor has": described(a=tensor(shape=[1], offsets=[0, 4])),
    "metadata is a list": described(__metadata__=[], w=tensor()),
    "metadata of numbers": described(__metadata__={"format": 3}, w=tensor()),
    "metadata is a tensor": described(__metadata__=tensor()),
}


@pytest.mark.parametrize("case", HEADERS)
def test_hostile_headers_of_safetensors(case, little_memory):
    put("x.safetensors", HEADERS[case])
    for load in (
        lambda: load_checkpoint("x.safetensors", format="safetensors"),
        lambda: load_checkpoint("x.safetensors", format="safetensors", crc_check=True),
        lambda: load_checkpoint("x.safetensors", format="safetensors", choice_func=lambda name: False),
        lambda: contents_of("x.safetensors"),
        lambda: load_training("x.safetensors", ms.nn.Dense(3, 2)),
    ):
        with pytest.raises(CheckpointError, match=r"x\.safetensors"):
            load()


def test_dtypes_that_can_be_listed_and_not_loaded():
    put("x.safetensors", described(w=tensor("F8_E4M3", [8])))
    assert contents_of("x.safetensors").items[0].element_type == "F8_E4M3"
    with pytest.raises(CheckpointError, match="F8_E4M3"):
        load_checkpoint("x.safetensors", format="safetensors")


# --- tables of a .ckpt --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["O", "V8", "U2", "S8", "datetime64", "i4,i4", "(2,3)i4", "{'a':1}", "float31", ">f4"]
)
def test_a_table_whose_type_is_no_type_of_numbers(kind):
    part = b"\x08\x01\x12" + bytes([len(kind)]) + kind.encode() + b"\x1a\x08" + bytes(8)
    table = (b"\x0a" + bytes([len(part)]) + part) * 3
    value = b"\x0a\x01m\x1a" + bytes([len(table)]) + table
    put("x.ckpt", b"\x0a" + bytes([len(value)]) + value)
    with pytest.raises(CheckpointError, match="element type"):
        load_checkpoint("x.ckpt")


def test_a_shape_without_elements_that_no_memory_could_hold():
    put("x.ckpt", wire.head("w", "Float32", (0, 1 << 61, 1 << 61), 0))
    with pytest.raises(CheckpointError, match="shape"):
        load_checkpoint("x.ckpt")
