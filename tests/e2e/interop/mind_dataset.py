"""Millrace beside MindSpore, through MindDataset, dataset.save and the converters: each reads the other's files.

    python tests/e2e/interop/mind_dataset.py /path/to/python-with-mindspore

Not a test of its own: `make interop` runs it where MindSpore is to be had. The peer runs this same file. Single
files must also be the same, byte for byte, where both write the same rows in the same calls.
"""

from __future__ import annotations

import filecmp
import gzip
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TIMEOUT = 280
SCHEMA = {
    "id": {"type": "int64"},
    "label": {"type": "int32"},
    "name": {"type": "string"},
    "share": {"type": "float32"},
    "image": {"type": "bytes"},
    "boxes": {"type": "float32", "shape": [-1, 4]},
    "codes": {"type": "int64", "shape": [2, 2]},
}


def rows(count=90):
    draw = np.random.default_rng(3)
    return [
        {
            "id": k,
            "label": k % 7,
            "name": f"näme {k}",
            "share": k / 4 + 0.125,
            "image": draw.bytes(200 + k) + b"x",
            "boxes": draw.random((k % 3 + 1, 4), dtype=np.float32),
            "codes": draw.integers(-(2**40), 2**40, (2, 2)),
        }
        for k in range(count)
    ]


def columns():
    draw = np.random.default_rng(4)
    return {
        "a": np.arange(50, dtype=np.int32),
        "b": draw.random((50, 3), dtype=np.float32),
        "c": draw.integers(0, 255, (50, 2, 2)).astype(np.uint8),
        "d": draw.random(50),
    }


def python2_batch(images, **labels):
    """Return a CIFAR batch file as Python 2 pickled it, which is how the real ones are."""

    def text(value):
        return b"U" + bytes([len(value)]) + value

    def number(value):
        return b"J" + value.to_bytes(4, "little", signed=True)

    kind = b"cnumpy\ndtype\n" + text(b"u1") + number(0) + number(1) + b"\x87R(" + number(3) + text(b"|")
    kind += b"NNN" + number(-1) + number(-1) + number(0) + b"tb"
    data = images.tobytes()
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
        + number(0)
        + b"\x85"
        + text(b"b")
        + b"\x87R("
    )
    array += number(1) + number(len(images)) + number(images.shape[1]) + b"\x86" + kind + b"\x89T"
    array += len(data).to_bytes(4, "little") + data + b"tb"
    made = b"\x80\x02}(" + text(b"data") + array
    for name, values in labels.items():
        made += text(name.encode()) + b"](" + b"".join(map(number, values)) + b"e"
    return made + b"u."


def sources(folder):
    """Make small sets in the formats that converters take."""
    draw = np.random.default_rng(5)
    for part, count in (("train", 20), ("t10k", 8)):
        images = draw.integers(0, 256, (count, 28, 28)).astype(np.uint8)
        labels = draw.integers(0, 10, count).astype(np.uint8)
        head = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4, "big") for n in images.shape)
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + images.tobytes()))
        head = bytes([0, 0, 8, 1]) + count.to_bytes(4, "big")
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(head + labels.tobytes()))
    (folder / "cifar10").mkdir()
    for name in ("data_batch_1", "test_batch"):
        images = draw.integers(0, 256, (6, 3072)).astype(np.uint8)
        (folder / "cifar10" / name).write_bytes(python2_batch(images, labels=[1, 2, 3, 4, 5, 6]))
    (folder / "cifar100").mkdir()
    for name in ("train", "test"):
        images = draw.integers(0, 256, (6, 3072)).astype(np.uint8)
        batch = python2_batch(images, fine_labels=[1, 2, 3, 4, 5, 6], coarse_labels=[6, 5, 4, 3, 2, 1])
        (folder / "cifar100" / name).write_bytes(batch)
    (folder / "net" / "n01").mkdir(parents=True)
    (folder / "net" / "n01" / "a.JPEG").write_bytes(b"not really a picture")
    (folder / "map.txt").write_text("n01 5\n")
    (folder / "t.csv").write_text("name,count,share,good\nann,1,0.5,True\nbob,-2,1e300,False\n")


def convert(records, source, target):
    """Run every converter; those whose library the peer does not have are left out."""
    jobs = {
        "MnistToMR": lambda kind: kind(str(source), f"{target}/mnist").transform(),
        "Cifar10ToMR": lambda kind: kind(str(source / "cifar10"), f"{target}/cifar10").transform(),
        "Cifar100ToMR": lambda kind: kind(str(source / "cifar100"), f"{target}/cifar100").transform(
            ["fine_label"]
        ),
        "ImageNetToMR": lambda kind: kind(
            str(source / "map.txt"), str(source / "net"), f"{target}/net"
        ).transform(),
        "CsvToMR": lambda kind: kind(str(source / "t.csv"), f"{target}/csv").transform(),
    }
    for name, job in jobs.items():
        try:
            job(getattr(records, name))
        except ImportError as error:
            print(f"{name} is left out, the peer has no {error.name}", flush=True)


def make(ds, mind_dataset, records, source, target):
    """Write sets in every way there is."""
    writer = records.FileWriter(f"{target}/plain")
    writer.add_schema(SCHEMA, "interop")
    writer.add_index(["label", "id"])
    for start in range(0, 90, 30):
        writer.write_raw_data(rows()[start : start + 30])
    writer.commit()
    writer = records.FileWriter(f"{target}/sharded", 3)
    writer.add_schema(SCHEMA, "interop")
    writer.write_raw_data(rows())
    writer.commit()
    ds.NumpySlicesDataset(columns(), shuffle=False).save(f"{target}/saved")
    mind_dataset(f"{target}/plain", shuffle=False).map(lambda n: n * 2, "label").save(f"{target}/mapped")
    convert(records, source, target)


SETS = ["plain", "sharded0", "saved", "mapped", "mnist_train.mindrecord", "mnist_test.mindrecord", "cifar10"]
SETS += ["cifar10_test", "cifar100", "cifar100_test", "net", "csv"]


def read(mind_dataset, folder):
    """Return the rows of every set as MindDataset gives them."""
    found = {}
    for name in SETS:
        if (folder / name).exists():
            data = mind_dataset(str(folder / name), shuffle=False)
            iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
            found[name] = [
                {key: (v.dtype, v.shape, v.tobytes()) for key, v in row.items()} for row in iterator
            ]
    # every second file, every third row, some columns
    data = mind_dataset([str(folder / "sharded2"), str(folder / "sharded0")], ["codes", "id"], shuffle=False)
    found["files"] = [int(row["id"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    for shard in range(4):
        data = mind_dataset(str(folder / "plain"), ["id"], shuffle=False, num_shards=4, shard_id=shard)
        ids = [int(row["id"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
        found[f"shard {shard}"] = ids
    sample = {"id": -1, "name": "pad"}
    data = mind_dataset(
        str(folder / "plain"), ["id", "name"], shuffle=False, padded_sample=sample, num_padded=2,
        num_shards=4, shard_id=3,
    )  # fmt: skip
    found["padded"] = [
        (int(row["id"]), str(row["name"]))
        for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)
    ]
    return found


def main(peer):
    import millrace.dataset as ds
    import millrace.mindrecord as records
    from millrace._src.data.sources.mindrecord import MindDataset

    with tempfile.TemporaryDirectory() as root:
        folders = {name: Path(root) / name for name in ("source", "ours", "theirs")}
        for folder in folders.values():
            folder.mkdir()
        sources(folders["source"])
        make(ds, MindDataset, records, folders["source"], folders["ours"])
        ds.NumpySlicesDataset({"n": np.arange(9), "t": list("abcdefghi")}, shuffle=False).save(
            f"{folders['ours']}/tf", 1, "tfrecord"
        )
        done = subprocess.run(
            [peer, __file__, "--peer", root], timeout=TIMEOUT, stderr=subprocess.PIPE, text=True
        )
        if done.returncode:
            raise SystemExit(f"the peer failed:\n{done.stderr[-2000:]}")
        answer = pickle.loads((Path(root) / "answer").read_bytes())
        assert answer["tf"] == [(k, "abcdefghi"[k]) for k in range(9)], answer["tf"]
        total = 0
        for who in ("ours", "theirs"):
            mine = read(MindDataset, folders[who])
            assert mine.keys() == answer[who].keys(), (mine.keys(), answer[who].keys())
            for name, found in mine.items():
                assert found == answer[who][name], f"{name} written by {who} reads differently"
                total += len(found)
        same = []
        for path in sorted(folders["theirs"].iterdir()):
            ours = folders["ours"] / path.name
            if path.suffix != ".db" and ours.exists() and filecmp.cmp(path, ours, shallow=False):
                same.append(path.name)
        print(f"{total} rows read alike by both; the same bytes: {', '.join(same)}")
        for name in ("plain", "sharded1", "saved", "mnist_train.mindrecord", "cifar10", "cifar100_test"):
            if (folders["theirs"] / name).exists():
                assert name in same, f"{name} is not the same file"


def be_the_peer(root):
    import mindspore.dataset as ds
    import mindspore.mindrecord as records

    folder = Path(root)
    make(ds, ds.MindDataset, records, folder / "source", folder / "theirs")
    answer = {who: read(ds.MindDataset, folder / who) for who in ("ours", "theirs")}
    data = ds.TFRecordDataset(str(folder / "ours" / "tf"), shuffle=False)
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    answer["tf"] = [(int(row["n"][0]), row["t"].tobytes().decode()) for row in iterator]
    (folder / "answer").write_bytes(pickle.dumps(answer))


if __name__ == "__main__":
    if sys.argv[1] == "--peer":
        be_the_peer(sys.argv[2])
    else:
        main(sys.argv[1])
