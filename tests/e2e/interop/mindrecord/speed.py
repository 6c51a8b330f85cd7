"""How fast MindRecord sets are written, opened and read, beside MindSpore.

python tests/e2e/interop/mindrecord/speed.py [/path/to/python-with-mindspore]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

SCALARS = {f"f{i}": {"type": ["int32", "int64", "float32", "float64"][i % 4]} for i in range(10)}
IMAGES = {"data": {"type": "bytes"}, "label": {"type": "int32"}}


def scalar_rows(count):
    draw = np.random.default_rng(0)
    columns = {
        name: (draw.integers(-(2**20), 2**20, count) if e["type"][0] == "i" else draw.random(count)).tolist()
        for name, e in SCALARS.items()
    }
    return [{name: column[n] for name, column in columns.items()} for n in range(count)]


def write(records, path, schema, rows, step):
    start = time.perf_counter()
    writer = records.FileWriter(path, 1, True)
    writer.add_schema(schema)
    for begin in range(0, len(rows), step):
        writer.write_raw_data(rows[begin : begin + step])
    writer.commit()
    return len(rows) / (time.perf_counter() - start)


def image_rows(count):
    noise = np.random.default_rng(0).bytes(200_000)
    return [{"data": noise[k % 90000 : k % 90000 + 100_000], "label": k} for k in range(count)]


def read_ours(path, batch, epochs=4):
    from millrace._src.data.formats.mindrecord import MindRecordReader

    best = 0.0
    with MindRecordReader(path) as reader:
        for epoch in range(epochs):
            order = np.random.default_rng(epoch).permutation(len(reader))
            start = time.perf_counter()
            for begin in range(0, len(order), batch):
                reader.read(order[begin : begin + batch])
            best = max(best, len(order) / (time.perf_counter() - start))
    return best


def read_theirs(path, batch):
    import mindspore.dataset as ds

    best = 0.0
    for _ in range(3):
        data = ds.MindDataset(path, shuffle=True, num_parallel_workers=2)
        data = data.batch(batch) if batch else data
        start = time.perf_counter()
        rows = sum(
            len(row[1]) if batch else 1 for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        )
        best = max(best, rows / (time.perf_counter() - start))
    return best


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(who, what, rate):
    print(f"{who:7}{what:30}{rate:12,.0f} rows/s", flush=True)


def main(root, peer):
    import millrace.mindrecord as ours

    show("ours", "write 50,000 x 10 scalars", write(ours, f"{root}/s", SCALARS, scalar_rows(50_000), 1000))
    show("ours", "write 4,000 x 100 KB", write(ours, f"{root}/i", IMAGES, image_rows(4000), 100))
    show("ours", "read scalars, 256 a batch", read_ours(f"{root}/s", 256))
    show("ours", "read images, 64 a batch", read_ours(f"{root}/i", 64))
    write(ours, f"{root}/m", SCALARS, scalar_rows(1_000_000), 10_000)
    subprocess.run([sys.executable, __file__, "--open", f"{root}/m"], check=True)
    if peer:
        subprocess.run([peer, __file__, "--peer", root], check=True, stderr=subprocess.DEVNULL)


def opened(path):
    from millrace._src.data.formats.mindrecord import MindRecordReader

    before, start = peak(), time.perf_counter()
    reader = MindRecordReader(path)
    took, memory = time.perf_counter() - start, peak() - before
    reader.read(np.arange(256) * 3000)
    first = time.perf_counter() - start
    print(f"ours   open {len(reader):,} rows: {took * 1e3:.1f} ms, +{memory:.0f} MB", end="; ")
    print(f"first shuffled batch after {first * 1e3:.0f} ms", flush=True)


def be_the_peer(root):
    import mindspore.mindrecord as theirs

    show(
        "theirs", "write 50,000 x 10 scalars", write(theirs, f"{root}/t", SCALARS, scalar_rows(50_000), 1000)
    )
    show("theirs", "read scalars, 256 a batch", read_theirs(f"{root}/s", 256))
    show("theirs", "read images, row by row", read_theirs(f"{root}/i", 0))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        be_the_peer(sys.argv[2])
    elif sys.argv[1:2] == ["--open"]:
        opened(sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(folder, sys.argv[1] if len(sys.argv) > 1 else None)
