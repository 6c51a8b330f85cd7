"""Pipelines that are written down: saved as records, as JSON, split, shown and put together again."""

import mindspore.dataset as ds
import numpy as np
from report import attempt, report, rows


def data():
    columns = {
        "id": np.arange(6),
        "v": np.arange(12, dtype=np.float32).reshape(6, 2),
        "t": [f"t{k}" for k in range(6)],
    }
    return ds.NumpySlicesDataset(columns, shuffle=False)


def half(part):
    return data().split([0.5, 0.5], randomize=False)[part]


def main(folder):
    data().save(str(folder / "kept.mindrecord"))
    back = ds.MindDataset(str(folder / "kept.mindrecord"), shuffle=False)
    image = ds.Schema()
    image.add_column("a", "uint8", [2])
    image.add_column("b", "float32")
    uneven = data().split([4, 2], randomize=False)
    (folder / "lines.txt").write_text("one\ntwo\nthree\n")
    pipeline = ds.TextFileDataset(str(folder / "lines.txt"), shuffle=False).batch(2, drop_remainder=False)
    ds.serialize(pipeline, str(folder / "p.json"))
    again = ds.deserialize(json_filepath=str(folder / "p.json"))
    return {
        "back": rows(back),
        "back names": back.get_col_names(),
        "train": rows(half(0).project("id")),
        "test": rows(half(1).batch(2).project("id")),
        "uneven": [[int(row["id"]) for row in rows(part)] for part in uneven],
        "uneven sizes": [part.get_dataset_size() for part in uneven],
        "again": rows(again),
        "compare": ds.compare(pipeline, again),
        "schema": image.to_json(),
        "bad split": attempt(lambda: data().split([0.9, 0.9])),
        "concat": [int(row["id"]) for row in rows(half(0).concat(half(1)))],
        "zip": rows(ds.zip((half(0).project("id"), half(1).project("id").rename("id", "other")))),
        "exists": attempt(lambda: data().save(str(folder / "kept.mindrecord"))),
    }


if __name__ == "__main__":
    report(main)
