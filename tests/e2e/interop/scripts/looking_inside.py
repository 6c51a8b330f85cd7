"""Scripts that walk through a pipeline and look at what it is made of."""

import copy

import mindspore.dataset as ds
import numpy as np
from mindspore.dataset.engine.datasets import BatchDataset, Dataset, MapDataset
from mindspore.dataset.engine.datasets_user_defined import GeneratorDataset
from report import attempt, report, rows


class Rows:
    def __init__(self):
        self.note = "mine"

    def __getitem__(self, index):
        return np.float32(index), np.arange(index + 1)

    def __len__(self):
        return 5


def walk(dataset):
    """Give the kinds of operations from the end to the source."""
    found = []
    while dataset is not None:
        found.append(type(dataset).__name__)
        dataset = dataset.children[0] if dataset.children else None
    return found


def source_of(dataset):
    while dataset.children:
        dataset = dataset.children[0]
    return dataset


def source():
    return ds.GeneratorDataset(Rows(), ["x", "list"], shuffle=False, num_parallel_workers=1, max_rowsize=4)


def mapped():
    return source().map(lambda x: x + np.float32(1), "x", num_parallel_workers=2)


def batched():
    return mapped().project(["x"]).batch(2, drop_remainder=True)


def both():
    return ds.zip((mapped().project("x"), ds.NumpySlicesDataset({"y": [1, 2, 3]}, shuffle=False)))


def main(folder):
    steps = (source(), mapped(), batched(), batched().repeat(2), both())
    whole = batched().repeat(2)
    return {
        "walk": walk(whole),
        "kinds": [isinstance(step, Dataset) for step in steps],
        "names": [
            isinstance(batched(), BatchDataset),
            isinstance(mapped(), MapDataset),
            isinstance(source(), GeneratorDataset),
        ],
        "source": [
            type(source_of(whole)).__name__,
            source_of(whole).source.note,
            source_of(whole).column_names,
        ],
        "children": [len(step.children) for step in steps],
        "sizes": [step.get_dataset_size() for step in steps],
        "batch sizes": [step.get_batch_size() for step in steps[:4]],
        "repeats": [step.get_repeat_count() for step in steps[:4]],
        "columns": [step.get_col_names() for step in steps],
        "shapes": [batched().output_shapes(), both().output_shapes()],
        "types": [[str(kind) for kind in step.output_types()] for step in (mapped(), batched())],
        "estimated": attempt(lambda: source().output_shapes(estimate=True)),
        "twin": rows(copy.deepcopy(batched())),
        "applied": rows(source().apply(lambda data: data.skip(3)).project("x")),
        "batch_size": [batched().batch_size, batched().drop_remainder],
        "workers": mapped().num_parallel_workers,
        "plus": rows((source() + source()).project("x").take(7)),
        "iter": [[type(v).__name__ for v in row] for row in batched()],
        "class indexing": source().get_class_indexing(),
        "classes": source().num_classes(),
    }


if __name__ == "__main__":
    report(main)
