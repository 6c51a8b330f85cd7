"""Write a file of every kind that version 0.2.0 keeps, into tests/fixtures/v0_2_0.

    python -m tests.contracts.stored_files.write_0_2_0

It runs under version 0.2.0 only: the files show what later versions have to read.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import millrace
import millrace.dataset as ds
from millrace import Tensor, nn, train
from millrace.dataset import text, transforms, vision
from millrace.mindrecord import FileWriter, set_enc_key, set_enc_mode
from millrace.serve import ArgMax, Servable

from .pickled import OBJECTS
from .pipelines import PIPELINES, SAVED_TRANSFORMS, TUNED_SETTINGS, cached, training_data, transformed, tuned
from .training import KEY, STREAM, Regression, model, step_cell, trained

FOLDER = Path(__file__).parents[2] / "fixtures" / "v0_2_0"
READ_BEFORE = 1  # batches before the position of a cursor


def png(values: np.ndarray) -> bytes:
    """An image file that depends on no library's compression."""
    height, width, _ = values.shape
    raw = b"".join(b"\0" + row.tobytes() for row in values)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    made = b"\x89PNG\r\n\x1a\n"
    for name, body in ((b"IHDR", head), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b"")):
        made += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return made


def write_data() -> None:
    """The rows that the pipelines read."""
    mnist = Path("data/mnist")
    mnist.mkdir(parents=True)
    pixels = np.arange(8 * 784).astype(np.uint8).tobytes()
    (mnist / "train-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, 8, 28, 28) + pixels)
    (mnist / "train-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, 8) + bytes([0, 1] * 4))
    for number in range(6):
        folder = Path("data/images", "ab"[number % 2])
        folder.mkdir(parents=True, exist_ok=True)
        values = (np.arange(8 * 8 * 3) * (number + 3)).astype(np.uint8).reshape(8, 8, 3)
        (folder / f"{number}.png").write_bytes(png(values))
    Path("data/lines.txt").write_text("to be\nor not to be\nnot to\nbe or be\nto or\n")
    Path("data/rows.csv").write_text("".join(f"{n},name {n},{n / 4}\n" for n in range(9)))
    columns = {"id": {"type": "int32", "rank": 1, "shape": [2]}}
    Path("data/schema.json").write_text(
        json.dumps({"datasetType": "Random", "numRows": 12, "columns": columns})
    )
    lines = [
        json.dumps({"source": f"data/images/{'ab'[n % 2]}/{n}.png", "usage": "TRAIN",
                    "annotation": [{"name": "ab"[n % 2], "type": "x"}]})
        for n in range(4)
    ]  # fmt: skip
    Path("data/rows.manifest").write_text("\n".join(lines) + "\n")
    write_records("data/rows.mindrecord")


def write_records(path: str) -> None:
    writer = FileWriter(path, 1)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema({"id": {"type": "int64"}, "name": {"type": "string"}, "data": {"type": "bytes"},
                       "values": {"type": "float32", "shape": [-1]}})  # fmt: skip
    writer.add_index(["id"])
    writer.write_raw_data(
        [{"id": n, "name": f"row {n}", "data": bytes([n] * 3), "values": np.arange(n + 1, dtype=np.float32)}
         for n in range(6)]
    )  # fmt: skip
    writer.commit()


def plain(value: Any) -> Any:
    """A batch as JSON keeps it."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    array = np.asarray(value)
    if array.dtype.kind in "iub":
        return {"dtype": array.dtype.str, "shape": list(array.shape), "crc": zlib.crc32(array.tobytes())}
    if array.dtype.kind in "SU":
        return array.tolist()
    return {"dtype": array.dtype.str, "mean": float(array.mean()), "shape": list(array.shape)}


def write_cursors() -> None:
    """Positions after two batches with the rows that follow, and positions before the first row of each transform."""
    made = {}
    for name, build in PIPELINES.items():
        millrace.set_seed(5)
        iterator = build().create_dict_iterator(num_epochs=2, output_numpy=True)
        for _ in range(READ_BEFORE):
            next(iterator)
        state = iterator.state()
        made[name] = {"state": state, "next": plain(next(iterator))}
        iterator.close()
    Path("cursors.json").write_text(json.dumps(made, indent=1) + "\n")
    states = {}
    for name in json.loads(SAVED_TRANSFORMS.read_text(encoding="utf-8")):
        millrace.set_seed(5)
        iterator = transformed(name).create_dict_iterator(num_epochs=1, output_numpy=True)
        states[name] = iterator.state()
        iterator.close()
    Path("cursors_of_transforms.json").write_text(json.dumps(states) + "\n")


def write_pipelines() -> None:
    """What serialize() gives: of pipelines that deserialize() builds again, and of others."""
    made = {name: ds.serialize(build()) for name, build in PIPELINES.items()}
    Path("pipelines.json").write_text(json.dumps(made, indent=1) + "\n")


def write_checkpoints() -> None:
    folder = Path("checkpoints")
    folder.mkdir()
    millrace.set_seed(11)
    net = Regression()
    millrace.save_checkpoint(net, str(folder / "plain.ckpt"))
    millrace.save_checkpoint(net, str(folder / "checked.ckpt"), crc_check=True)
    millrace.save_checkpoint(net, str(folder / "plain"), format="safetensors")
    millrace.save_checkpoint(net, str(folder / "gcm.ckpt"), enc_key=KEY, enc_mode="AES-GCM")
    millrace.save_checkpoint(net, str(folder / "stream.ckpt"), enc_key=KEY, enc_mode=STREAM)
    cell = step_cell()
    iterator = training_data().epochs(3)
    with iterator as epochs:
        for rows in epochs:
            for step, (x, y) in enumerate(rows):
                cell(x, y)
                if step == 1:
                    position = {"data": epochs, "step": 2, "extra": {"best": 0.5}}
                    train.save_training(str(folder / "own.ckpt"), cell, **position)
                    train.save_training(str(folder / "own"), cell, **position, format="safetensors")
                    train.save_training(str(folder / "secret.ckpt"), cell, **position, enc_key=KEY)
                    break
            break
    config = train.CheckpointConfig(save_checkpoint_steps=4, keep_checkpoint_max=9)
    saver = train.ModelCheckpoint("run", str(folder / "run"), config)
    trained(1, callbacks=[saver], resume=str(folder / "run"))
    for path in (folder / "run").iterdir():
        if path.name.startswith(".") and path.name.endswith(".json"):
            kept = json.loads(path.read_text())
            kept.update({"pid": 1, "host": "writer"} if "pid" in kept else {})
            path.write_text(json.dumps(kept))
    np.savez(folder / "after_two_epochs.npz", **trained(2))


def write_archives() -> None:
    folder = Path("archives")
    folder.mkdir()
    net = Regression().set_train(False)
    rows = Tensor(shape=[None, 3], dtype=millrace.float32)
    millrace.export(net, rows, file_name=str(folder / "rows"), file_format="MINDIR")
    millrace.export(
        net, Tensor(np.zeros((2, 3), np.float32)), file_name=str(folder / "fixed"), file_format="MINDIR"
    )
    flat = nn.SequentialCell(nn.Flatten(), nn.Dense(12, 2, weight_init="ones"))
    Servable(
        flat,
        inputs=[Tensor(shape=[None, 3, 2, 2], dtype=millrace.float32)],
        pre=[vision.Resize((2, 2), vision.Inter.AREA), vision.Rescale(1 / 255, 0.0), vision.HWC2CHW()],
        post=[ArgMax()],
        takes=("UINT8", (4, 4, 3)),
    ).save(str(folder / "images.mindir"))
    vocab = text.Vocab.from_list(["a", "b"], special_tokens=["<unk>"])
    steps = [text.WhitespaceTokenizer(), text.Lookup(vocab, "<unk>"), transforms.PadEnd([3], 0)]
    Servable(
        nn.Embedding(3, 2, embedding_table="ones"),
        inputs=[Tensor(shape=[None, 3], dtype=millrace.int32)],
        pre=steps,
    ).save(str(folder / "words.mindir"))


def write_records_of_all_kinds() -> None:
    Path("records").mkdir()
    write_records("records/plain.mindrecord")
    for name, mode in (("gcm", "AES-GCM"), ("stream", STREAM)):
        set_enc_key(KEY.decode())
        set_enc_mode(mode)
        try:
            write_records(f"records/{name}.mindrecord")
        finally:
            set_enc_key(None)
            set_enc_mode("AES-GCM")
    ds.NumpySlicesDataset({"n": np.arange(4)}, shuffle=False).save(
        "records/saved.tfrecord", file_type="tfrecord"
    )


def write_cache() -> None:
    for _ in cached("cache").create_tuple_iterator(num_epochs=1, output_numpy=True):
        pass


def write_notes_of_runs() -> None:
    """The history of a run, and summaries."""
    millrace.set_seed(5)
    with contextlib.redirect_stderr(open(os.devnull, "w")), ds.monitor(history="run.history"):
        for _ in PIPELINES["mnist"]().create_dict_iterator(num_epochs=1, output_numpy=True):
            pass
    learner = model()
    collected = {"collect_landscape": {"intervals": [[1, 2, 3]], "unit": "step"}}
    summaries = train.SummaryCollector("summaries", collect_specified_data=collected)
    learner.train(1, training_data(), callbacks=[summaries], dataset_sink_mode=False)


def write_tuned() -> None:
    """The numbers of a run in which autotune has chosen five workers."""
    from millrace._src.core import settings

    settings.update(**TUNED_SETTINGS)
    ds.config.set_enable_autotune(True, "tuned")
    iterator = tuned().create_dict_iterator(num_epochs=1, output_numpy=True)
    tuner = iterator._run.tuner
    for number, _ in enumerate(iterator):
        if number == 1:
            tuner._search = tuner._first(100.0)
            chosen = {**tuner.knobs.values, "0/workers": 5, "0/ahead": 9}
            tuner._search.values = tuner._search._kept = chosen
            tuner.knobs.apply(chosen)


def write_pickles() -> None:
    made = {name: pickle.dumps(build(), protocol=4).hex() for name, build in OBJECTS.items()}
    Path("pickles.json").write_text(json.dumps(made, indent=0) + "\n")


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def hide_paths() -> None:
    """Notes name the files of the program that wrote them: they keep no path of this machine."""
    for path in (Path("tuned_0.json"), Path("summaries/ckpt_dir/train_metadata.json")):
        text = path.read_text().replace(f"{FOLDER}/", "").replace(f"{FOLDER.parents[2]}/", "")
        path.write_text(text + "\n" * (not text.endswith("\n")))
    for path in Path.cwd().rglob("lock"):
        path.unlink()


def main() -> None:
    if millrace.__version__ != "0.2.0":
        sys.exit(
            f"write_0_2_0: expected version 0.2.0, got {millrace.__version__}. Check out the tag v0.2.0."
        )
    for entry in FOLDER.iterdir() if FOLDER.is_dir() else ():
        if entry.name != "README.md":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with inside(FOLDER):
        write_data()
        write_pipelines()
        write_cursors()
        write_checkpoints()
        write_archives()
        write_records_of_all_kinds()
        write_cache()
        write_notes_of_runs()
        write_pickles()
        write_tuned()
        hide_paths()


if __name__ == "__main__":
    main()
