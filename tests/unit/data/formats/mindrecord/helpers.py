"""What the MindRecord tests share: fixtures as Python values, small sets, comparing rows."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import numpy as np

from millrace._src.data.formats.mindrecord import FileWriter, MindRecordReader

FIXTURES = Path(__file__).parents[4] / "fixtures" / "mindrecord"
OLD = FIXTURES.with_name("mindrecord_v2")
NAMES = sorted(path.name.removesuffix(".expected.json") for path in FIXTURES.glob("*.expected.json"))


def value_of(entry):
    if isinstance(entry, dict) and "ndarray" in entry:
        array = entry["ndarray"]
        return np.array(array["data"], array["dtype"]).reshape(array["shape"])
    return base64.b64decode(entry["bytes_b64"]) if isinstance(entry, dict) else entry


def expected(name, folder=FIXTURES):
    """Return the schema, the rows and the whole document of a fixture."""
    document = json.loads((folder / f"{name}.expected.json").read_text())
    rows = [{key: value_of(entry) for key, entry in row.items()} for row in document["rows"]]
    if "rule" in document:
        rows = [page_row(k) for k in range(24)]
    return document["schema"], rows, document


def page_row(k):
    blob = bytes((k * 31 + j * 7 + j // 251) % 256 for j in range(3900))
    return {"id": k, "s": f"{k:02d}" + "k" * 1390, "b": blob}


def data_files(folder, name):
    return sorted(p for p in folder.glob(name + "*") if p.suffix not in (".db", ".json"))


def copied(name, target, folder=FIXTURES):
    """Copy a fixture and return its first data file."""
    for path in data_files(folder, name):
        shutil.copy(path, target)
        shutil.copy(f"{path}.db", target)
    return target / data_files(folder, name)[0].name


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert a.keys() == b.keys()
        for key in a:
            if isinstance(b[key], np.ndarray):
                assert (a[key].dtype, a[key].shape) == (b[key].dtype, b[key].shape), key
                np.testing.assert_array_equal(a[key], b[key])
            else:
                assert type(a[key]) is type(b[key]), key
                assert a[key] == b[key] or (a[key] != a[key] and b[key] != b[key]), key


def write(path, schema, batches, *, index=None, shards=1, overwrite=False, desc=None, parallel=False):
    """Write a set with the smallest sizes allowed."""
    writer = FileWriter(str(path), shards, overwrite)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(schema, desc)
    if index:
        writer.add_index(index)
    for batch in batches:
        writer.write_raw_data(batch, parallel)
    writer.commit()
    return path


def rows_of(files, **options):
    with MindRecordReader(files, **options) as reader:
        return list(reader.rows())
