"""What MindSpore wrote is read here, and written again it is the same bytes."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from millrace import Parameter
from millrace._src.core.values.dtype import bfloat16
from millrace._src.runtime.tensor.storage import wrap
from millrace._src.train.checkpoint import ckpt_format as ckpt
from millrace._src.train.checkpoint.atomic_file import atomic_write
from millrace._src.train.checkpoint.state_entries import append_dict_entries, entries_of, on_host
from millrace.train import check_checkpoint, load_checkpoint, save_checkpoint

from .recorded_files import CKPT, FILES, FOLDER, PLAIN, SAFE, arrays


def load(name: str) -> dict:
    about = FILES[name]
    key = about.get("enc_key")
    options = {"dec_key": key.encode(), "dec_mode": about["enc_mode"]} if key else {}
    return load_checkpoint(str(FOLDER / name), format=name.rpartition(".")[2], **options)


@pytest.mark.parametrize("name", CKPT + SAFE)
def test_values_are_those_that_mindspore_saved(name):
    found, about, wanted = load(name), FILES[name], arrays(name)
    assert list(found) == (sorted(about["order"]) if name in SAFE else about["order"])
    for key, text in about["strings"].items():
        assert found[key] == text
    for key, kind in about["types"].items():
        value = found[key]
        assert isinstance(value, Parameter)
        assert value.name == key
        assert str(value.dtype) == kind
        array = value.asnumpy().view(np.uint16) if value.dtype is bfloat16 else value.asnumpy()
        assert array.shape == wanted[key].shape == tuple(about["shapes"][key])
        assert array.tobytes() == wanted[key].tobytes()


@pytest.mark.parametrize("name", PLAIN)
def test_written_again_it_is_the_same_bytes(name, tmp_path):
    about = FILES[name]
    target = tmp_path / name
    if "chunks" in about:
        entries = [e._replace(data=on_host(e.data)) for e in entries_of(load(name))]
        with atomic_write(target) as draft:
            ckpt.write(draft, entries, by_rows="async" in name, chunk=1024)
    else:
        save_checkpoint(load(name), str(target), crc_check=about.get("crc", False))
    assert target.read_bytes() == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", SAFE)
def test_a_safetensors_file_written_again_is_the_same_bytes(name, tmp_path):
    target = tmp_path / name
    save_checkpoint(load(name), str(target), crc_check=FILES[name].get("crc", False), format="safetensors")
    assert parts(target) == parts(FOLDER / name)


def parts(path):
    """The head as JSON, since the library writes its own two words in any order; and the bytes behind it."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return size, json.loads(data[8 : 8 + size]), data[8 + size :]


def test_a_safetensors_file_is_what_the_library_writes(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    generator = torch.Generator().manual_seed(1)
    names = (
        "bool uint8 int8 int16 uint16 float16 bfloat16 int32 uint32 float32 complex64 float64 int64 uint64"
    )
    dtypes = [getattr(torch, name) for name in names.split()]
    tensors = {}
    for number, dtype in enumerate(dtypes):
        for shape in ((), (3,), (2, 0), (5, 2)):
            values = torch.randint(0, 2, shape, generator=generator).to(dtype)
            tensors[f'{"zyx"[number % 3]}.{number}.\u00e9"{len(shape)}.{sum(shape)}'] = values
    target = tmp_path / "x.safetensors"
    save_checkpoint({name: wrap(value) for name, value in tensors.items()}, str(target), format="safetensors")
    assert target.read_bytes() == library.save(tensors, metadata={"format": "ms"})
    for name, value in load_checkpoint(str(target), format="safetensors").items():
        assert value._torch.dtype is tensors[name].dtype
        assert value._torch.shape == tensors[name].shape
        assert bool((value._torch == tensors[name]).all())


def test_append_dict_is_written_as_mindspore_writes_it(tmp_path):
    w = Parameter(torch.arange(6, dtype=torch.float32).reshape(2, 3), name="w")
    more = {
        "epoch_num": 3,
        "lr": 0.1,
        "flag": True,
        "note": "h\u00e9llo \U0001f600",
        "empty": "",
        "big": 2**40,
    }
    more |= {"neg": -1, "t": Parameter(torch.tensor([1, 2], dtype=torch.int16))}
    save_checkpoint([w], str(tmp_path / "x"), append_dict=more)
    assert (tmp_path / "x.ckpt").read_bytes() == (FOLDER / "append.ckpt").read_bytes()
    assert [entry.element_type for entry in append_dict_entries(more)][:4] == [
        "Int64",
        "Float32",
        "Bool",
        "str",
    ]


@pytest.mark.parametrize("name", [n for n in CKPT if n.startswith("enc_")])
def test_encrypted_files_go_both_ways(name, tmp_path):
    about = FILES[name]
    key, mode = about["enc_key"].encode(), about["enc_mode"]
    save_checkpoint(load(name), str(tmp_path / "x.ckpt"), enc_key=key, enc_mode=mode)
    assert (tmp_path / "x.ckpt").stat().st_size == (FOLDER / name).stat().st_size
    again = load_checkpoint(str(tmp_path / "x.ckpt"), dec_key=key, dec_mode=mode)
    assert again["w"].asnumpy().tolist() == arrays(name)["w"].tolist()


@pytest.mark.parametrize("name", PLAIN)
def test_every_fixture_is_whole(name):
    assert check_checkpoint(str(FOLDER / name))
