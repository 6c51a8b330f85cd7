"""Targets of the data pipeline: files of every source, images, sound, JSON, the cache's messages."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import millrace.dataset as ds
from millrace._src.core.errors import MillraceError
from millrace._src.core.io.framing import write_record
from millrace._src.data.cache import protocol
from millrace._src.data.engine.cursor import Cursor
from millrace._src.data.formats.audio_files import read_audio
from millrace._src.data.formats.cifar_pickle import read_batch
from millrace._src.data.formats.idx import read_idx
from millrace._src.data.formats.mat import read_mat, write_mat
from millrace._src.data.formats.tar import iter_members
from millrace._src.data.formats.tfrecord.record_file import read_records
from millrace._src.data.kernels.vision.image_header import image_size
from millrace._src.data.transforms.serialization import transform_from_json
from millrace._src.observe.live.event_log import EventLogReader, EventLogWriter
from millrace._src.observe.live.run_state import RunState
from millrace.dataset import vision
from tests.contracts.sources.fake_data import everything, find

from .target import Target, file_target, json_target

__all__ = ["targets"]

# The rows that are read of a damaged file.
ROWS = 5


def targets() -> list[Target]:
    return [*_json_targets(), *_file_targets(), *_image_targets(), _cache(), *_source_targets()]


# --- JSON -------------------------------------------------------------------------------------------------------------


def _transforms(folder: Path) -> list[Any]:
    saved = json.loads(
        (Path(__file__).parents[1] / "fixtures" / "json" / "transforms_0.2.0.json").read_text(
            encoding="utf-8"
        )
    )
    return list(saved.values())


def _pipelines(folder: Path) -> list[Any]:
    data = ds.RandomDataset(total_rows=4).rename(["c0"], ["a"])
    mapped = data.map(vision.Rescale(2.0, 0.0), "c1").batch(2).repeat(2)
    zipped = ds.zip((data.project("a").skip(1).take(2), data.shuffle(3).project("c1")))
    return [json.loads(json.dumps(ds.serialize(one))) for one in (mapped, zipped, data.concat(data))]


def _read_pipeline(data: bytes, folder: Path) -> None:
    (folder / "plan.json").write_bytes(data)
    ds.deserialize(json_filepath=str(folder / "plan.json"))


def _cursors(folder: Path) -> list[Any]:
    iterator = _resumable().create_tuple_iterator(num_epochs=1)
    next(iterator)
    state = iterator.state()
    return [json.loads(json.dumps(state))]


def _resumable() -> ds.Dataset:
    return ds.NumpySlicesDataset(np.arange(20), shuffle=False).shuffle(4).batch(3)


def _read_cursor(data: bytes, folder: Path) -> None:
    saved = _loaded(data)
    Cursor.from_json(saved)
    for _ in _resumable().create_tuple_iterator(num_epochs=1, output_numpy=True, state=saved):
        pass


def _loaded(data: bytes) -> Any:
    """JSON as a program parses it, before it hands a value over."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MillraceError("not JSON") from error


def _json_targets() -> list[Target]:
    schemas = [
        {"datasetType": "TF", "numRows": 3, "columns": {"a": {"type": "int8", "rank": 1, "shape": [2]}}}
    ]
    return [
        json_target("transform_json", _transforms, lambda data, _: transform_from_json(_loaded(data))),
        json_target("pipeline_json", _pipelines, _read_pipeline),
        json_target("cursor_json", _cursors, _read_cursor),
        json_target("schema_json", lambda _: schemas, lambda data, _: ds.Schema().from_json(_loaded(data))),
    ]


# --- files ------------------------------------------------------------------------------------------------------------


def _written(write: Callable[[Path], Any]) -> Callable[[Path], list[bytes]]:
    def seeds(folder: Path) -> list[bytes]:
        path = folder / "seed"
        write(path)
        return [path.read_bytes()]

    return seeds


def _tfrecord(folder: Path) -> list[bytes]:
    file = io.BytesIO()
    for number in range(4):
        write_record(file, bytes([number]) * 40)
    return [file.getvalue()]


def _idx(folder: Path) -> list[bytes]:
    return [b"\0\0\x08\x03" + np.array([3, 4, 5], ">i4").tobytes() + bytes(range(60))]


def _wave(folder: Path) -> list[bytes]:
    sound = np.arange(200, dtype="<i2").tobytes()
    form = (
        np.array([1, 1], "<u2").tobytes()
        + np.array([8000, 16000], "<u4").tobytes()
        + np.array([2, 16], "<u2").tobytes()
    )
    body = (
        b"WAVEfmt " + (16).to_bytes(4, "little") + form + b"data" + len(sound).to_bytes(4, "little") + sound
    )
    return [b"RIFF" + len(body).to_bytes(4, "little") + body]


def _batch_of_cifar(folder: Path) -> list[bytes]:
    import pickle

    batch = {b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 2], b"batch_label": b"x"}
    return [pickle.dumps(batch, 2)]


def _tarball(folder: Path) -> list[bytes]:
    import tarfile

    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name in ("a.jpg", "deep/" * 30 + "b.cls"):
            member = tarfile.TarInfo(name)
            member.size = 5
            archive.addfile(member, io.BytesIO(b"12345"))
    return [file.getvalue()]


def _history(folder: Path) -> list[bytes]:
    path = folder / "seed.jsonl"
    path.unlink(missing_ok=True)
    head = {"program": "p", "pid": 1, "host": "h", "rank": None, "started": 1.0}
    book = EventLogWriter(path, head)
    book.add({"is": "over", "t": 2.0, "why": "done"})
    book.flush()
    return [path.read_bytes()]


def _read_history(path: str) -> None:
    state = RunState()
    for line in EventLogReader(path).all():
        state.apply(line)


def _mindrecord(folder: Path) -> list[bytes]:
    from millrace.mindrecord import FileWriter

    path = folder / "seed.mindrecord"
    for file in (path, Path(f"{path}.db")):
        file.unlink(missing_ok=True)
    writer = FileWriter(str(path))
    writer.add_schema(
        {"label": {"type": "int32"}, "data": {"type": "bytes"}, "v": {"type": "float32", "shape": [3]}}
    )
    writer.add_index(["label"])
    rows = [{"label": n, "data": bytes([n]) * 20, "v": np.ones(3, np.float32)} for n in range(6)]
    writer.write_raw_data(rows)
    writer.commit()
    return [path.read_bytes()]


def _read_mindrecord(path: str) -> None:
    from millrace.mindrecord import FileReader

    reader = FileReader(path)
    try:
        for _, _row in zip(range(ROWS), reader.get_next()):
            pass
    finally:
        reader.close()


def _file_targets() -> list[Target]:
    values = {"a": np.arange(6.0).reshape(2, 3), "b": {"c": np.arange(4, dtype=np.int16)}}
    return [
        file_target("mat", _written(lambda path: write_mat(path, values)), read_mat),
        file_target("idx", _idx, read_idx),
        file_target("wav", _wave, read_audio, ending=".wav"),
        file_target("cifar", _batch_of_cifar, read_batch),
        file_target("tar", _tarball, lambda path: list(iter_members(path))),
        file_target("tfrecord", _tfrecord, lambda path: list(read_records(path))),
        file_target("mindrecord", _mindrecord, _read_mindrecord, ending=".mindrecord"),
        file_target("history", _history, _read_history, ending=".jsonl"),
    ]


# --- images -----------------------------------------------------------------------------------------------------------


def _images(folder: Path) -> list[bytes]:
    pixels = np.random.default_rng(1).integers(0, 255, (24, 32, 3), np.uint8)
    seeds = []
    for form in ("JPEG", "PNG", "BMP", "TIFF", "GIF", "WEBP"):
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, form)
        seeds.append(file.getvalue())
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", progressive=True)
    return [*seeds, file.getvalue()]


def _decode(data: bytes, folder: Path) -> None:
    array = np.frombuffer(data, np.uint8)
    for decode in (vision.Decode(), vision.Decode(to_pil=True), vision.RandomCropDecodeResize(8)):
        try:
            decode(array)
        except MillraceError:
            pass
    image_size(data)


def _image_targets() -> list[Target]:
    return [Target("images", _images, _decode)]


# --- the cache ----------------------------------------------------------------------------------------------------


def _packet(data: bytes, folder: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        theirs.sendmsg([data[: protocol.MAX_PACKET_BYTES]])
        packet, _ = protocol.receive(ours)
        if packet is not None:
            protocol.raise_error_response(packet)


def _cache() -> Target:
    packets = [
        {"op": "hello", "version": 1, "pid": 7},
        {"kind": "session", "ok": True},
        {"rows": [1, 2], "key": "k"},
    ]
    return json_target("cache_packet", lambda _: packets, _packet)


# --- sources ----------------------------------------------------------------------------------------------------------

# An object in memory, a network, or a library of its own parses the files.
NO_FILES = ("Hugging", "Web", "Parquet", "OBS", "Video", "UCF", "HMDB", "Kinetics")


def _source_targets() -> list[Target]:
    """One target for each source: one of its files is damaged, and its rows are read."""
    return [
        _source(name, fake)
        for name, fake in sorted(everything().items())
        if not name.startswith(NO_FILES) and ":" not in name
    ]


def _source(name: str, fake: Any) -> Target:
    def seeds(folder: Path) -> list[bytes]:
        # the first byte chooses the file that is damaged, the second how
        return [bytes([number]) + bytes(64) for number in range(8)]

    def parse(data: bytes, folder: Path) -> None:
        import random
        import tempfile

        from tests.support.mutations import mutated_bytes

        with tempfile.TemporaryDirectory(dir=folder) as inside:
            arguments = fake.write(Path(inside))
            files = sorted(
                path for path in Path(inside).rglob("*") if path.is_file() and not path.is_symlink()
            )
            if any(data[1:]):
                rng = random.Random(data)
                file = files[data[0] % len(files)]
                file.write_bytes(mutated_bytes(file.read_bytes(), rng))
            rows = find(name)(**arguments, shuffle=False).take(ROWS)
            for _ in rows.create_tuple_iterator(num_epochs=1, output_numpy=True):
                pass

    return Target(f"source_{name}", seeds, parse)
