"""A language model's loader: record files, casts column by column, shards, repeats and sizes."""

import mindspore.common.dtype as mstype
import mindspore.dataset as ds
import mindspore.dataset.transforms as C
import numpy as np
from mindspore.mindrecord import FileWriter
from report import report, rows

LENGTH = 6


def write_records(path, count, files=1):
    writer = FileWriter(file_name=str(path), shard_num=files)
    writer.add_schema(
        {
            "input_ids": {"type": "int32", "shape": [-1]},
            "input_mask": {"type": "int32", "shape": [-1]},
            "label": {"type": "int64"},
            "note": {"type": "string"},
        },
        "a language model",
    )
    for k in range(count):
        ids = np.arange(k, k + LENGTH, dtype=np.int32)
        row = {"input_ids": ids, "input_mask": (ids % 2).astype(np.int32), "label": k, "note": f"row {k}"}
        writer.write_raw_data([row])
    writer.commit()


def create(path, batch, ranks=1, rank=0, drop=True):
    names = ["input_ids", "input_mask", "label"]
    data = ds.MindDataset([str(path)], columns_list=names, shuffle=False, num_shards=ranks, shard_id=rank)
    cast = C.TypeCast(mstype.int32)
    for name in ("label", "input_mask", "input_ids"):
        data = data.map(operations=cast, input_columns=name)
    return data.batch(batch, drop_remainder=drop)


def attention(ids, mask, label):
    """Give a batch a mask for each pair of places, as causal models want it."""
    lower = np.tril(np.ones((ids.shape[1], ids.shape[1]), np.float16))
    return ids[:, :-1], ids[:, 1:], mask[:, :, None] * lower[None], label


def main(folder):
    write_records(folder / "one.mindrecord", 9)
    plain = create(folder / "one.mindrecord", 4)
    causal = create(folder / "one.mindrecord", 3).map(
        operations=attention,
        input_columns=["input_ids", "input_mask", "label"],
        output_columns=["source", "target", "attention", "label"],
    )
    shards = [create(folder / "one.mindrecord", 2, 4, rank, False) for rank in range(4)]
    repeated = create(folder / "one.mindrecord", 4).repeat(3)
    padded = ds.MindDataset(
        str(folder / "one.mindrecord"), ["label", "note"], shuffle=False, num_padded=3,
        padded_sample={"label": -1, "note": "none"}, num_shards=4, shard_id=3,
    )  # fmt: skip
    return {
        "plain": rows(plain, 2),
        "shapes": plain.output_shapes(),
        "types": [str(kind) for kind in plain.output_types()],
        "causal": rows(causal),
        "causal names": causal.get_col_names(),
        "shards": [rows(shard) for shard in shards],
        "sizes": [shard.get_dataset_size() for shard in shards],
        "repeated": [repeated.get_dataset_size(), repeated.get_repeat_count(), repeated.get_batch_size()],
        "padded": rows(padded),
        "all": rows(ds.MindDataset(str(folder / "one.mindrecord"), shuffle=False).take(2)),
    }


if __name__ == "__main__":
    report(main)
