"""Archives from anywhere: hostile programs run nothing, hostile files take no memory, damaged ones give one error."""

import json
import os
import stat
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Tensor, export, load, nn  # noqa: E402
from millrace._src.core import limits  # noqa: E402
from millrace._src.core.errors import FormatError  # noqa: E402
from millrace._src.serve.servable import load_model_file  # noqa: E402

PROGRAM, WEIGHTS = "program.json", "weights.safetensors"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "net.mindir"
    net = nn.SequentialCell([nn.Dense(3, 4), nn.ReLU(), nn.BatchNorm1d(4)])
    export(net, Tensor(shape=[None, 3], dtype=Tensor([1.0]).dtype), file_name=str(path), file_format="MINDIR")
    return path


@pytest.fixture(scope="module")
def members(archive):
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def write(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as opened:
        for name, data in members.items() if isinstance(members, dict) else members:
            opened.writestr(name, data)
    return str(path)


def changed(members, **fields):
    return {**members, PROGRAM: json.dumps({**json.loads(members[PROGRAM]), **fields}).encode()}


def refused(path, words=""):
    """Both readers raise the one class."""
    for reader in (load, load_model_file):
        with pytest.raises(FormatError) as failed:
            reader(str(path))
        assert type(failed.value).__mro__[0] in (FormatError, *FormatError.__subclasses__())
        assert words in str(failed.value)


# programs that attack ----------------------------------------------------------------------------------


def slot(*place):
    return {"slot": list(place)}


def op(name, args, result, form="one", kwargs=None):
    return [f"aten::{name}", args, {"dict": kwargs or {}}, [slot("temp", result)], form]


def command_chain(marker):
    """From the overload's own methods to ``os.system``: what a resolution by attributes would reach."""
    return [
        op("add.__init__", ["__globals__"], 0),
        op("__init__.__getattribute__", ["__globals__"], 1),
        op("__class__.__call__", [f"touch {marker}"], 2),
        op("__getattr__.__call__", ["__builtins__"], 3),
        op("add.__getattribute__", ["__init__"], 4),
        op("__reduce_ex__.__call__", [f"touch {marker}"], 5),
    ]


def file_writer(marker):
    return [
        op("from_file", [str(marker), True, 64], 0, kwargs={"dtype": {"dtype": "torch.uint8"}}),
        op("fill_.Scalar", [slot("temp", 0), 65], 0),
    ]


ATTACKS = {
    "commands": command_chain,
    "a file is written": file_writer,
    "a file is read": lambda _: [op("from_file", ["/etc/passwd", False, 64], 0)],
    "strides": lambda _: [op("as_strided", [slot("in", 0), [1 << 30], [1 << 20]], 0), op("sum", [slot("temp", 0)], 1)],
    "alias": lambda _: [
        op("_reshape_alias", [slot("in", 0), [1 << 30], [1 << 20]], 0),
        op("sum", [slot("temp", 0)], 1),
    ],
    "resize": lambda _: [op("resize_", [slot("in", 0), [1 << 30]], 0), op("sum", [slot("temp", 0)], 1)],
    "set": lambda _: [
        op("set_.source_Tensor_storage_offset", [slot("in", 0), slot("in", 0), 1 << 40, [64], [1]], 0),
        op("sum", [slot("temp", 0)], 1),
    ],
    "uninitialised": lambda _: [op("empty.memory_format", [[1 << 16]], 0), op("abs", [slot("temp", 0)], 1)],
    "strided and uninitialised": lambda _: [op("empty_strided", [[1 << 16], [1]], 0)],
    "unchecked index": lambda _: [op("_unsafe_index.Tensor", [slot("in", 0), [slot("in", 0)]], 0)],
    "storage": lambda _: [op("set_.source_Storage", [slot("in", 0), slot("in", 0)], 0)],
    "memory": lambda _: [op("zeros", [[1 << 36]], 0)],
    "attention": lambda _: [
        ["aten::view", [slot("in", 0), [{"rows": [1, 0]}, 1, 1, 3]], {"dict": {}}, [slot("temp", 0)], "one"],
        op("repeat", [slot("temp", 0), [1, 2, 1, 1]], 1),
        [
            "aten::_scaled_dot_product_flash_attention_for_cpu",
            [slot("temp", 0), slot("temp", 1), slot("temp", 1)], {"dict": {}},
            [slot("temp", 2), slot("temp", 3)], "many",
        ],
    ],
}  # fmt: skip

RUN = """
import sys
from millrace import load, nn
from millrace._src.core.errors import FormatError
import numpy as np
from millrace import Tensor
try:
    graph = load(sys.argv[1])
    nn.GraphCell(graph)(Tensor(np.ones((2, 3), np.float32)))
except FormatError as error:
    print("refused", error)
except BaseException as error:
    print("other", type(error), error)
"""


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_in_a_program_is_refused_and_runs_nothing(tmp_path, members, name):
    marker = tmp_path / "marker"
    calls = ATTACKS[name](marker)
    last = calls[-1][3][0]["slot"]
    for count in range(
        1, len(calls) + 1
    ):  # every call alone is one, too, unless it is an operator of the table
        described = changed(members, calls=calls[-count:], results=[last], single=True)
        path = write(tmp_path / f"{count}.mindir", described)
        refused(path)
    assert not marker.exists()


def test_attacks_are_refused_in_a_process_of_its_own(tmp_path, members):
    """What would end the process, or run a command, does neither."""
    marker = tmp_path / "marker"
    for name in ("commands", "a file is written", "attention", "strides"):
        calls = ATTACKS[name](marker)
        path = write(
            tmp_path / "attack.mindir",
            changed(members, calls=calls, results=[calls[-1][3][0]["slot"]], single=True),
        )
        done = subprocess.run([sys.executable, "-c", RUN, path], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr[-500:])
        assert done.stdout.startswith("refused"), (name, done.stdout)
    assert not marker.exists()


# JSON --------------------------------------------------------------------------------------------------

DOCUMENTS = {
    "deep lists": b"[" * 10_000 + b"]" * 10_000,
    "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deep, not closed": b"[" * 100_000,
    "integer of 5,000 digits": b'{"version": ' + b"1" * 5000 + b"}",
    "integer of 30 digits": b'{"version": ' + b"1" * 30 + b"}",
    "NaN": b'{"version": NaN}',
    "duplicate keys": b'{"format": "millrace", "format": "millrace"}',
    "not UTF-8": b'{"format": "\xff"}',
    "lone surrogate": b'{"format": "millrace", "version": 1, "calls": [["\\ud800"]]}',
    "empty": b"",
    "text": b'"millrace"',
    "gzip": b"\x1f\x8b\x08\x00" + b"\0" * 30,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_json_is_refused(tmp_path, members, name):
    refused(write(tmp_path / "a.mindir", {**members, PROGRAM: DOCUMENTS[name]}))
    with pytest.raises(FormatError):
        load_model_file(write(tmp_path / "b.mindir", {**members, "servable.json": DOCUMENTS[name]}))


def test_deep_arguments_inside_a_program_are_refused(tmp_path, members):
    deep = slot("in", 0)
    for _ in range(40):
        deep = [deep]
    refused(write(tmp_path / "a.mindir", changed(members, calls=[op("cat", [deep], 0)])))


# zip files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members_are_refused_unread(tmp_path, members, method):
    bomb = {**members, WEIGHTS: b"\0" * (64 << 20)}
    refused(write(tmp_path / "a.mindir", bomb, method), "only stored members")


def test_members_beyond_their_limits_are_refused_unread(tmp_path, members, monkeypatch):
    monkeypatch.setattr(limits, "ARCHIVE", limits.ArchiveLimits(weights_bytes=100, onnx_bytes=100))
    refused(write(tmp_path / "a.mindir", members), "more than 100")
    refused(write(tmp_path / "b.mindir", {"model.onnx": b"\0" * 101}), "more than 100")


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/cron.d/evil", "Program.json", "program.json/", "a/program.json", "model.onnx.data",
     "\uff50rogram.json", "weights.safetensors\n", ".", "x" * 1000],
)  # fmt: skip
def test_members_of_other_names_are_refused(tmp_path, members, name):
    refused(write(tmp_path / "a.mindir", {**members, name: b""}))


def test_many_small_members_are_refused(tmp_path, members):
    refused(write(tmp_path / "a.mindir", [*members.items(), *((f"m{n}", b"") for n in range(20_000))]))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_members_are_refused(tmp_path, members):
    refused(write(tmp_path / "a.mindir", [*members.items(), (PROGRAM, members[PROGRAM])]), "same name")


def test_symlinked_members_and_folders_are_refused(tmp_path, members):
    for kind in (stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO):
        entry = zipfile.ZipInfo(WEIGHTS)
        entry.external_attr = (kind | 0o777) << 16
        with zipfile.ZipFile(tmp_path / "a.mindir", "w") as opened:
            opened.writestr(PROGRAM, members[PROGRAM])
            opened.writestr(entry, b"/etc/passwd")
        refused(tmp_path / "a.mindir", "not a file")


def patched(data, signature, offset, form, value, occurrence=0):
    place = -1
    for _ in range(occurrence + 1):
        place = data.index(signature, place + 1)
    struct.pack_into(form, data, place + offset, value)


def test_members_that_overlap_or_lie_about_their_sizes_are_refused(tmp_path, archive):
    original = archive.read_bytes()
    changes = {
        "encrypted": [(b"PK\x01\x02", 8, "<H", 1), (b"PK\x03\x04", 6, "<H", 1)],
        "sizes behind": [(b"PK\x01\x02", 8, "<H", 8), (b"PK\x03\x04", 6, "<H", 8)],
        "second is the first": [(b"PK\x01\x02", 42, "<L", 0, 1)],
        "size": [(b"PK\x01\x02", 24, "<L", 1 << 31)],
        "both sizes": [(b"PK\x01\x02", 24, "<L", 1 << 31), (b"PK\x01\x02", 20, "<L", 1 << 31)],
        "64-bit size": [(b"PK\x01\x02", 24, "<L", 0xFFFFFFFF)],
        "offset": [(b"PK\x01\x02", 42, "<L", 7)],
        "checksum": [(b"PK\x01\x02", 16, "<L", 7)],
        "disk": [(b"PK\x01\x02", 34, "<H", 3)],
        "count": [(b"PK\x05\x06", 10, "<H", 1), (b"PK\x05\x06", 8, "<H", 1)],
        "many": [(b"PK\x05\x06", 10, "<H", 0xFFFE), (b"PK\x05\x06", 8, "<H", 0xFFFE)],
        "directory": [(b"PK\x05\x06", 16, "<L", 0)],
        "64-bit directory": [(b"PK\x05\x06", 16, "<L", 0xFFFFFFFF)],
    }
    for name, patches in changes.items():
        data = bytearray(original)
        for patch in patches:
            patched(data, *patch)
        (tmp_path / "a.mindir").write_bytes(data)
        with pytest.raises(FormatError):
            load(str(tmp_path / "a.mindir"))
        assert name


def test_bytes_before_between_and_after_the_archive_are_refused(tmp_path, archive, members):
    data = archive.read_bytes()
    other = write(tmp_path / "other.mindir", {PROGRAM: b"{}"})
    with open(other, "rb") as file:
        second = file.read()
    for hostile in (
        b"#!/bin/sh\n" + data,
        data + b"\0",
        data + second,
        second + data,
        data[:-22] + b"x" + data[-22:],
    ):
        (tmp_path / "a.mindir").write_bytes(hostile)
        refused(tmp_path / "a.mindir")
    with zipfile.ZipFile(tmp_path / "a.mindir", "w") as opened:
        for name, content in members.items():
            opened.writestr(name, content)
        opened.comment = b"PK\x05\x06" + b"\0" * 18
    refused(tmp_path / "a.mindir")


def test_pipes_devices_and_folders_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.mindir")
    os.symlink("/dev/zero", tmp_path / "zero.mindir")
    (tmp_path / "folder.mindir").mkdir()
    for name in ("pipe", "zero", "folder"):
        refused(tmp_path / f"{name}.mindir")


def test_an_archive_over_4_gib_has_64_bit_sizes_that_are_read(tmp_path):
    """Without writing so much: the entries say by their 64-bit fields what fits into 32 bits too."""
    from millrace._src.core.io.stored_zip import read_members

    with (
        zipfile.ZipFile(tmp_path / "a.zip", "w") as opened,
        opened.open("a", "w", force_zip64=True) as member,
    ):
        member.write(b"content")
    assert read_members(str(tmp_path / "a.zip"), {"a": 100}) == {"a": b"content"}


# damage ------------------------------------------------------------------------------------------------


def mutations(data, count):
    """Seeded damage: bytes flipped, ranges cut, repeated, zeroed; truncations."""
    random = np.random.default_rng(27)
    for number in range(count):
        damaged = bytearray(data)
        place = int(random.integers(len(data)))
        length = int(random.integers(1, 64))
        match number % 6:
            case 0:
                damaged[place] ^= 1 << int(random.integers(8))
            case 1:
                del damaged[place : place + length]
            case 2:
                damaged[place:place] = damaged[place : place + length]
            case 3:
                damaged[place : place + length] = bytes(min(length, len(data) - place))
            case 4:
                del damaged[place:]
            case 5:
                damaged[place] = int(random.integers(256))
        yield bytes(damaged)


def attempt(reader, path):
    """Damage that matters is one class of ours; damage that does not changes nothing."""
    try:
        reader(str(path))
    except FormatError:
        return 1
    return 0


def test_a_damaged_archive_gives_one_class_of_error(tmp_path, archive):
    path = tmp_path / "a.mindir"
    count = 0
    for damaged in mutations(archive.read_bytes(), 240):
        path.write_bytes(damaged)
        count += attempt(load, path)
    assert count > 200


def test_a_damaged_program_in_a_whole_archive_gives_one_class_of_error(tmp_path, members):
    """Checksums hide nothing here: the damage is inside of members whose checksums fit."""
    path = tmp_path / "a.mindir"
    for name in members:
        count = 0
        for damaged in mutations(members[name], 150):
            write(path, {**members, name: damaged})
            count += attempt(load, path)
        assert count > 20, name


def values_of(described, path=()):
    """Every place of a program."""
    yield path
    items = (
        described.items()
        if isinstance(described, dict)
        else enumerate(described)
        if isinstance(described, list)
        else ()
    )
    for key, value in items:
        yield from values_of(value, (*path, key))


STRANGE = [None, True, -1, 0, 1 << 62, -(1 << 63), 10**19, 1.5, "", "x", "aten::abs", [], [[]], {}, {"slot": ["in", 0]},
           {"rows": [1 << 39, 0]}, {"float": "nan"}, {"dtype": "torch.int64"}]  # fmt: skip


def test_every_value_of_a_program_replaced_gives_one_class_of_error_or_a_program_that_runs(tmp_path, members):
    from millrace._src.runtime.graph.program_serialization import SerializedProgram

    described = json.loads(members[PROGRAM])
    tensors = load(write(tmp_path / "a.mindir", members)).tensors
    random = np.random.default_rng(7)
    places = [path for path in values_of(described) if path]
    refusals = 0
    for number in range(600):
        changed_program = json.loads(members[PROGRAM])
        path = (
            places[number % len(places)]
            if number < len(places)
            else places[int(random.integers(len(places)))]
        )
        target = changed_program
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = STRANGE[int(random.integers(len(STRANGE)))]
        try:
            graph = SerializedProgram(changed_program, tensors)
            graph([torch.zeros(2, 3)])
        except FormatError:
            refusals += 1
        except (ValueError, RuntimeError, IndexError, TypeError):
            pass  # an error of the call itself: of kernels, or of inputs that do not fit
    assert refusals > 300


# ONNX --------------------------------------------------------------------------------------------------


def onnx_with_external_data(path, location):
    from onnx import TensorProto, helper

    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=location)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    return helper, weight, x, y


@pytest.mark.parametrize("nested", [False, True])
def test_an_onnx_model_that_names_another_file_is_refused(tmp_path, nested):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto

    (tmp_path / "secret.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    helper, weight, x, y = onnx_with_external_data(tmp_path, "secret.bin")
    add = helper.make_node("Add", ["x", "w"], ["y"])
    graph = helper.make_graph([add], "g", [x], [y], [weight])
    if nested:  # in a constant of a branch
        constant = helper.make_node("Constant", [], ["y"], value=weight)
        branch = helper.make_graph([constant], "b", [], [y])
        flag = helper.make_tensor("c", TensorProto.BOOL, [], [True])
        node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
        graph = helper.make_graph([node], "g", [x], [y], [flag])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    write(tmp_path / "a.mindir", {"model.onnx": model.SerializeToString()})
    for name in ("a.onnx", "a.mindir"):
        with pytest.raises(FormatError, match="external data"):
            load_model_file(str(tmp_path / name))


def test_an_onnx_model_that_is_too_large_or_damaged_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    export(
        nn.Dense(3, 2), Tensor(np.ones((1, 3), np.float32)), file_name=str(tmp_path / "a"), file_format="ONNX"
    )
    data = (tmp_path / "a.onnx").read_bytes()
    load_model_file(str(tmp_path / "a.onnx"))
    path = tmp_path / "b.onnx"
    for damaged in mutations(data, 120):
        path.write_bytes(damaged)
        attempt(load_model_file, path)
    monkeypatch.setattr(limits, "ARCHIVE", limits.ArchiveLimits(onnx_bytes=len(data) - 1))
    with pytest.raises(FormatError, match="more than"):
        load_model_file(str(tmp_path / "a.onnx"))
