"""A recommender's loader: TFRecord with a schema made in code, batches flattened by a function."""

import mindspore.common.dtype as mstype
import mindspore.dataset as ds
import numpy as np
from report import report, rows
from tfrecords import write_tfrecord

LINES, FIELDS = 2, 3


def write(folder):
    data = {
        "ids": np.arange(8 * LINES * FIELDS, dtype=np.int64).reshape(8, -1),
        "values": (np.arange(8 * LINES * FIELDS, dtype=np.float32) / 8).reshape(8, -1),
        "label": (np.arange(8 * LINES) % 2).astype(np.float32).reshape(8, -1),
    }
    examples = [{name: values[k] for name, values in data.items()} for k in range(8)]
    write_tfrecord(folder / "train.tfrecord", examples)


def flat(batch):
    def work(ids, values, label):
        return (
            np.array(ids).flatten().reshape(batch, FIELDS),
            np.array(values).flatten().reshape(batch, FIELDS),
            np.array(label).flatten().reshape(batch, 1),
        )

    return work


def create(folder, batch, ranks=None, rank=None):
    schema = ds.Schema()
    schema.add_column("ids", de_type=mstype.int32)
    schema.add_column("values", de_type=mstype.float32)
    schema.add_column("label", de_type=mstype.float32)
    shards = {} if ranks is None else {"num_shards": ranks, "shard_id": rank, "shard_equal_rows": True}
    data = ds.TFRecordDataset(
        dataset_files=[str(folder / "train.tfrecord")], shuffle=False, schema=schema, num_parallel_workers=2,
        **shards,
    )  # fmt: skip
    data = data.batch(batch // LINES, drop_remainder=True)
    return data.map(operations=flat(batch), input_columns=["ids", "values", "label"], num_parallel_workers=2)


def main(folder):
    write(folder)
    data = create(folder, 4)
    chosen = ds.TFRecordDataset(str(folder / "train.tfrecord"), columns_list=["label", "ids"], shuffle=False)
    return {
        "rows": rows(data),
        "size": data.get_dataset_size(),
        "names": data.get_col_names(),
        "shards": [rows(create(folder, 4, 2, rank)) for rank in range(2)],
        "chosen": rows(chosen.take(2)),
        "chosen types": [str(kind) for kind in chosen.output_types()],
        "samples": rows(ds.TFRecordDataset(str(folder / "train.tfrecord"), num_samples=3, shuffle=False)),
    }


if __name__ == "__main__":
    report(main)
