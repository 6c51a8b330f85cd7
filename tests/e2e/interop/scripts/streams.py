"""Generators in every form that scripts hand over: objects, functions, iterators, with batches made inside."""

import mindspore.dataset as ds
import numpy as np
from report import attempt, report, rows


def numbers(count):
    for k in range(count):
        yield np.array([k, k + 1], np.int32), np.float32(k / 2)


class Batches:
    """An iterator that makes its own batches and starts again when it is asked to."""

    def __init__(self, count, size):
        self.count, self.size, self.at = count, size, 0

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at >= self.count:
            raise StopIteration
        self.at += 1
        return (np.full((self.size, 2), self.at, np.int64),)

    def __len__(self):
        return self.count


class Sized:
    def __init__(self):
        self.items = [3, 1, 2]

    def __getitem__(self, index):
        return self.items[index], [float(index)] * 2, f"item {index}"

    def __len__(self):
        return len(self.items)


def main(folder):
    names = ["pair", "half"]
    single = ds.GeneratorDataset(numbers(4), names)
    endless = ds.GeneratorDataset(lambda: numbers(3), names).repeat(3).batch(2).take(4)
    made = ds.GeneratorDataset(Batches(3, 2), ["x"])
    data = ds.GeneratorDataset(Sized(), ["n", "list", "text"], shuffle=False)
    typed = ds.GeneratorDataset(
        Sized(), ["n", "list", "text"], column_types=[ds_type("int64"), ds_type("float64"), ds_type("string")],
        shuffle=False,
    )  # fmt: skip
    return {
        "single": rows(single),
        "endless": rows(endless),
        "made": rows(made, 2),
        "made size": made.get_dataset_size(),
        "data": rows(data),
        "source": type(data.source).__name__,
        "length": len(data.source),
        "dir": [hasattr(data, name) for name in ("children", "source", "sampler", "column_names")],
        "typed": attempt(lambda: rows(typed)),
        "list": rows(ds.GeneratorDataset([1, 2, 3], ["a"], shuffle=False)),
        "tuples": rows(ds.GeneratorDataset([(1, "x"), (2, "yy")], ["a", "b"], shuffle=False)),
        "bad names": attempt(lambda: rows(ds.GeneratorDataset(Sized(), ["n"], shuffle=False))),
        "shards": [
            [
                row["n"]
                for row in rows(
                    ds.GeneratorDataset(Sized(), ["n", "l", "t"], shuffle=False, num_shards=2, shard_id=k)
                )
            ]
            for k in range(2)
        ],
        "samples": rows(ds.GeneratorDataset(Sized(), ["n", "l", "t"], shuffle=False, num_samples=2)),
    }


def ds_type(name):
    import mindspore.common.dtype as types

    return getattr(types, name)


if __name__ == "__main__":
    report(main)
