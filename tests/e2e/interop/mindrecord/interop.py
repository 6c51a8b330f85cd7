"""Millrace beside MindSpore: random sets written by both have the same bytes, and each reads the other's.

    python tests/e2e/interop/mindrecord/interop.py /path/to/python-with-mindspore [sets]

Not a test of its own: `make interop` runs it where MindSpore is to be had. The peer runs this same file.
"""

from __future__ import annotations

import filecmp
import os
import pickle
import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def random_set(seed):
    """Return schema, batches, number of shards and index; batches divide evenly over the shards."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    schema = {}
    for number in range(draw.randint(1, 6 if seed % 9 else 20)):
        name = f"{draw.choice('abzAZ_')}{number}" + "".join(draw.choices("abzAZ_09", k=draw.randint(0, 9)))
        kind = draw.choice(["int32", "int64", "float32", "float64", "string", "bytes"])
        schema[name] = {"type": kind}
        if kind[0] in "if" and draw.random() < 0.5:
            schema[name]["shape"] = draw.choice([[-1], [3], [2, 2], [-1, 2], [1, -1]])

    def value(entry):
        kind = entry["type"]
        if kind == "string":
            return "".join(draw.choices('aé日"\\\n', k=draw.choice([0, 3, 31, 32, 300])))
        if kind == "bytes":
            return numbers.bytes(draw.choice([1, 10, 300, 5000]))
        if "shape" in entry:
            shape = [draw.randint(1, 9) if size == -1 else size for size in entry["shape"]]
            if kind[0] == "i":
                return (numbers.integers(-(2**31), 2**31, shape) >> draw.randint(0, 31)).astype(kind)
            return numbers.standard_normal(shape).astype(kind)
        if kind[0] == "i":
            bits = int(kind[3:])
            return draw.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1)) >> draw.randrange(bits)
        return draw.choice([float(draw.randint(-5, 5)), draw.random(), 1e300 if kind == "float64" else 1e30])

    shards = draw.choice([1, 1, 1, 2, 3])
    batches = [
        [{name: value(entry) for name, entry in schema.items()} for _ in range(shards * draw.randint(1, 40))]
        for _ in range(draw.randint(1, 6))
    ]
    scalars = [name for name, e in schema.items() if e["type"] != "bytes" and "shape" not in e]
    index = draw.sample(scalars, draw.randint(1, len(scalars))) if scalars and draw.random() < 0.5 else None
    return schema, batches, shards, index


def write_all(records, sets, folder):
    for number, (schema, batches, shards, index) in enumerate(sets):
        writer = records.FileWriter(f"{folder}/set{number}_", shards)
        writer.set_header_size(1 << 14)
        writer.set_page_size(1 << 15)
        writer.add_schema(schema, "interop")
        if index:
            writer.add_index(index)
        for batch in batches:
            writer.write_raw_data([dict(row) for row in batch])
        writer.commit()


def read_all(records, sets, folder):
    total = 0
    for number, (schema, batches, shards, _) in enumerate(sets):
        wanted = []
        for shard in range(shards):
            for batch in batches:
                share = len(batch) // shards
                wanted += batch[shard * share : (shard + 1) * share]
        reader = records.FileReader(f"{folder}/set{number}_" + ("0" if shards > 1 else ""))
        found = list(reader.get_next())
        reader.close()
        assert len(found) == len(wanted), number
        for a, b in zip(found, wanted):
            assert all(same(a[name], b[name]) for name in schema), (number, a, b)
        total += len(found)
    return total


def same(found, wanted):
    if isinstance(wanted, np.ndarray):
        return found.dtype == wanted.dtype and found.ravel().tolist() == wanted.ravel().tolist()
    if isinstance(wanted, float):  # MindSpore returns whole floats as ints, and big ones as another number
        return abs(wanted) > 2**62 or abs(found - wanted) <= 1e-6 * max(1, abs(wanted))
    return found == wanted


def index_of(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    tables = ("INDEXES ORDER BY ROW_ID", "SHARD_NAME")
    found = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
    connection.close()
    return found


def main(peer, count):
    sets = [random_set(seed) for seed in range(count)]
    with tempfile.TemporaryDirectory() as root:
        folders = Path(root) / "peer", Path(root) / "ours"
        for folder in folders:
            folder.mkdir()
        (Path(root) / "sets").write_bytes(pickle.dumps(sets))
        import millrace.mindrecord as ours

        write_all(ours, sets, folders[1])
        subprocess.run([peer, __file__, "--peer", root], check=True, timeout=600, stderr=subprocess.DEVNULL)
        names = sorted(os.listdir(folders[0]))
        assert names == sorted(os.listdir(folders[1]))
        for name in names:
            a, b = folders[0] / name, folders[1] / name
            assert index_of(a) == index_of(b) if a.suffix == ".db" else filecmp.cmp(a, b, shallow=False), name
        total = read_all(ours, sets, folders[0])
        print(
            f"{len(sets)} sets, {len(names)} files: the same bytes and index rows; Millrace read {total} rows"
        )


def be_the_peer(root):
    import mindspore.mindrecord as theirs

    sets = pickle.loads((Path(root) / "sets").read_bytes())
    write_all(theirs, sets, f"{root}/peer")
    print(f"MindSpore read {read_all(theirs, sets, f'{root}/ours')} rows that Millrace wrote", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--peer":
        be_the_peer(sys.argv[2])
    else:
        main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 120)
