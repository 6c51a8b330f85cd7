"""Samplers that scripts write themselves, those of the library, and both below each other."""

from functools import partial

import mindspore.dataset as ds
import numpy as np
from report import attempt, report, rows


class Rows:
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        return (np.int64(index * 10),)

    def __len__(self):
        return self.count


class Reversed(ds.Sampler):
    def __iter__(self):
        yield from range(self.dataset_size - 1, -1, -1)


class Halves(ds.Sampler):
    def __init__(self, part):
        super().__init__(num_samples=3)
        self.part = part

    def __iter__(self):
        half = self.dataset_size // 2
        return iter(range(self.part * half, self.part * half + 3))


class Repeated:
    """Every row several times, then this rank's share, as for repeated augmentation."""

    def __init__(self, size, ranks, rank, times):
        self.size, self.ranks, self.rank, self.times = size, ranks, rank, times

    def __iter__(self):
        order = [k for k in range(self.size) for _ in range(self.times)]
        return iter(order[self.rank : len(order) : self.ranks][: len(self)])

    def __len__(self):
        return self.size // self.ranks


class Epochs:
    """Another order in each epoch."""

    def __init__(self, size):
        self.size, self.epoch = size, 0

    def __iter__(self):
        self.epoch += 1
        return iter([(k * 3 + self.epoch) % self.size for k in range(self.size)])

    def __len__(self):
        return self.size


def read(sampler, count=8, epochs=1):
    data = ds.GeneratorDataset(Rows(count), ["n"], sampler=sampler)
    got = rows(data, epochs)
    values = [[int(row["n"]) // 10 for row in part] for part in (got if epochs > 1 else [got])]
    return [values, data.get_dataset_size()]


def chained():
    upper = ds.SequentialSampler(1, 3)
    upper.add_child(ds.DistributedSampler(2, 1, shuffle=False))
    return upper


def main(folder):
    return {
        "reversed": attempt(lambda: read(Reversed())),
        "reversed again": attempt(lambda: read(Reversed(), epochs=2)),
        "halves": [attempt(partial(read, Halves(part))) for part in (0, 1)],
        "repeated": read(Repeated(8, 2, 1, 3)),
        "epochs": read(Epochs(5), 5, 3),
        "sequential": read(ds.SequentialSampler(start_index=2, num_samples=3)),
        "subset": read(ds.SubsetSampler([5, 0, 5])),
        "subset range": read(ds.SubsetSampler(range(1, 7, 2))),
        "list": attempt(lambda: read([4, 1, 1])),
        "distributed": [read(ds.DistributedSampler(3, k, shuffle=False)) for k in range(3)],
        "offset": read(ds.DistributedSampler(2, 0, shuffle=False, num_samples=2, offset=1)),
        "chained": read(chained()),
        "random": sorted(read(ds.RandomSampler(num_samples=8))[0][0]),
        "too far": attempt(lambda: read(ds.SubsetSampler([9]))),
        "with shuffle": attempt(lambda: ds.GeneratorDataset(Rows(3), ["n"], shuffle=True, sampler=Epochs(3))),
        "iter": [type(ds.SequentialSampler()).__name__, ds.SequentialSampler(0, 2).get_num_samples()],
    }


if __name__ == "__main__":
    report(main)
