"""Which rows samplers choose, and in what order."""

from tests.parity.case import Case, each, table

REVERSED = """
class Back(ds.Sampler):
    def __iter__(self):
        yield from range(self.dataset_size - 1, -1, -2)
"""

CASES = [
    *each(
        "distributed",
        "[sampled(ds.DistributedSampler(3, k, False{}), 7) for k in range(3)]",
        [
            "",
            ", num_samples=0",
            ", num_samples=1",
            ", num_samples=2",
            ", num_samples=10",
            ", offset=0",
            ", offset=1",
            ", offset=2",
            ", offset=3",
            ", num_samples=2, offset=1",
        ],
    ),
    *each(
        "distributed.rows",
        "[sampled(ds.DistributedSampler(3, k, False), {}) for k in range(3)]",
        "1; 2; 3; 5; 6",
    ),
    Case("distributed.one shard", "sampled(ds.DistributedSampler(1, 0, False))"),
    Case(
        "distributed.shuffled covers",
        "sorted(sum((sampled(ds.DistributedSampler(3, k), 6)[0] for k in range(3)), []))",
    ),
    Case("distributed.set_offset", "sampled(ds.DistributedSampler(2, 0, False).set_offset(1))"),
    *each(
        "sequential",
        "sampled(ds.SequentialSampler({}))",
        ["", "2", "2, 2", "2, 9", "0, 0", "None, 3", "4, 1"],
    ),
    *each(
        "subset",
        "sampled(ds.SubsetSampler({}))",
        """
        [3, 1, 1]
        [3, 1, 1], 2
        [3, 1], 9
        2
        np.array([1, 2])
        (4, 0)
        range(2)
        iter([2, 1])
        [np.int32(3)]
    """,
    ),
    Case(
        "subset.num_samples 0",
        "sampled(ds.SubsetSampler([1, 2], 0))",
        better="MindSpore crashes; 0 is all, as in the others",
        want=[[1, 2], 2],
    ),
    *each(
        "subset random",
        "d = sampled(ds.SubsetRandomSampler({})); result = [sorted(d[0]), d[1]]",
        "[3, 1, 0]; 2; [4, 4]",
    ),
    *each(
        "subset random.size",
        "len(ds.NumpySlicesDataset([1, 2, 3], sampler=ds.SubsetRandomSampler({})))",
        "[0, 1], 1; [0, 1], 9",
    ),
    *each(
        "random.size",
        "d = sampled(ds.RandomSampler({})); result = [len(d[0]), d[1]]",
        ["", "num_samples=3", "num_samples=9", "True", "True, 3", "True, 9", "num_samples=0"],
    ),
    Case("random.all", "sorted(sampled(ds.RandomSampler())[0])"),
    *each(
        "weighted.size",
        "d = sampled(ds.WeightedRandomSampler({})); result = [len(d[0]), d[1]]",
        """
        [1] * 5
        [1] * 5, 2
        [1] * 5, 9
        [1] * 5, 2, False
        [1, 1, 1]
        [1, 2], 4
        [.1, .2], 0
    """,
    ),
    *table(
        "weighted",
        """
        one | sampled(ds.WeightedRandomSampler([0, 0, 1, 0, 0], 4))
        short | sampled(ds.WeightedRandomSampler([1, 0], 3))
        no replacement | sorted(sampled(ds.WeightedRandomSampler([1] * 5, 5, False))[0])
        zeros come last | sorted(sampled(ds.WeightedRandomSampler([1, 0, 0, 0, 1], 3, False))[0][:2])
    """,
    ),
    *table(
        "given",
        """
        list | sampled([3, 1])
        tuple | sampled((3, 1))
        array | sampled(np.array([3, 1]))
        iterator | sampled(iter([3, 1]))
        range | sampled(range(1, 4))
        list and num_samples | sized(ds.NumpySlicesDataset([7, 8, 9], ['a'], sampler=[2, 1], num_samples=1))
        nothing | sorted(col(ds.NumpySlicesDataset([1, 2, 3], ['a'])))
        num_samples shuffled | d = ds.NumpySlicesDataset([1] * 9, ['a'], num_samples=4); result = sized(d)
    """,
    ),
    Case(
        "own.too many",
        f"{REVERSED}result = sampled(Back(99))",
    ),
    *[
        Case(f"own.{name}", f"{REVERSED}result = {code}")
        for name, code in {
            "all": "sampled(Back())",
            "some": "sampled(Back(2))",
            "two epochs": "over(ds.NumpySlicesDataset(np.arange(5), ['a'], sampler=Back()), 2)",
            "over sequential": "sampled(chain(Back(), ds.SequentialSampler(1, 4)), 8)",
            "under sequential": "sampled(chain(ds.SequentialSampler(1), Back()), 8)",
            "asked": "asked(Back(3))",
        }.items()
    ],
    *each(
        "chain",
        "sampled(chain({}), 8)",
        """
        ds.SequentialSampler(1, 2), ds.SubsetSampler([4, 3, 2, 1])
        ds.SubsetSampler([0, 2]), ds.SequentialSampler(1, 3)
        ds.SequentialSampler(1, 2), ds.DistributedSampler(2, 0, False)
        ds.DistributedSampler(2, 0, False), ds.SequentialSampler(1, 3)
        ds.DistributedSampler(2, 1, False), ds.SequentialSampler(1, 3)
        ds.SequentialSampler(0, 9), ds.SequentialSampler(2, 3)
        ds.SubsetSampler([1]), ds.SequentialSampler(1), ds.SubsetSampler([7, 5, 3])
    """,
    ),
    Case(
        "chain.shards of a shard",
        "sampled(chain(ds.DistributedSampler(2, 1, False), ds.DistributedSampler(2, 1, False)), 8)",
        better="MindSpore indexes past the end",
        want=[[3, 7], 2],
    ),
    *table(
        "on a dataset",
        """
        add | sized(after(num(6), ('add_sampler', ds.SequentialSampler(2, 3))))
        add twice | sized(after(num(6), ('add_sampler', ds.SequentialSampler(2, 3)), ('add_sampler', \
            ds.SubsetSampler([2, 0]))))
        use | sized(after(num(6), ('use_sampler', ds.SequentialSampler(2, 3))))
        use twice | sized(after(num(6), ('use_sampler', ds.SequentialSampler(2, 3)), ('use_sampler', \
            ds.SubsetSampler([2, 0]))))
        add then use | sized(after(num(6), ('add_sampler', ds.SequentialSampler(2, 3)), ('use_sampler', \
            ds.SubsetSampler([2, 0]))))
        use after size | d = num(6); n = len(d); d.use_sampler(ds.SequentialSampler(2, 3)); result = [n, \
            len(d)]
        item | after(num(6), ('use_sampler', ds.SubsetSampler([4, 2])))[1]
        asked | [num().is_sharded(), num(num_shards=2, shard_id=0).is_sharded(), num(num_shards=1, \
            shard_id=0).is_sharded()]
        asked above | [num().batch(2).is_shuffled(), num().shuffle(2).batch(2).is_shuffled(), \
            num(num_shards=2, shard_id=0).take(1).is_sharded()]
    """,
    ),
    *each(
        "asked",
        "asked(ds.{})",
        """
        SequentialSampler()
        SequentialSampler(0, 3)
        RandomSampler()
        RandomSampler(num_samples=2)
        SubsetSampler([1, 2])
        SubsetSampler([1, 2], 1)
        SubsetSampler([1, 2], 5)
        SubsetRandomSampler([1, 2])
        DistributedSampler(2, 0)
        DistributedSampler(2, 0, False)
        DistributedSampler(1, 0, False, 4)
        PKSampler(2)
        PKSampler(2, shuffle=True)
        WeightedRandomSampler([1])
        WeightedRandomSampler([1], 3)
    """,
    ),
    Case("asked.child", "chain(ds.SequentialSampler(0, 5), ds.SubsetSampler([1, 2])).get_num_samples()"),
    *each(
        "shuffle",
        "ds.Shuffle.{0}, ds.Shuffle.{0}.value, ds.Shuffle.{0} == ds.Shuffle.{0}.value",
        "FALSE; ADAPTIVE; GLOBAL; PARTIAL; FILES; INFILE",
    ),
    Case(
        "pk",
        "col(ds.NumpySlicesDataset({'label': [0, 1, 0, 1, 1]}, sampler=ds.PKSampler(2)), 'label')",
        better="Q06: MindSpore refuses PKSampler on a user-defined dataset",
        want=[0, 0, 1, 1],
    ),
    Case(
        "pk.no label",
        "rows(num(sampler=ds.PKSampler(2), shuffle=None))",
        ("label",),
        better="Q06: the error says that a label column or get_label(index) is needed",
        raises=(ValueError, RuntimeError),
    ),
    *table(
        "concat",
        """
        two shards | [sized(after(num(3) + num(4), ('use_sampler', ds.DistributedSampler(2, k, False)))) \
            for k in range(2)]
        three shards | [sized(after(num(3) + num(4), ('use_sampler', ds.DistributedSampler(3, k, False)))) \
            for k in range(3)]
        three parts | [sized(after(num(3) + num(4) + num(2), ('use_sampler', ds.DistributedSampler(2, k, \
            False)))) for k in range(2)]
        list of parts | [sized(after(num(3).concat([num(4), num(2)]), ('use_sampler', \
            ds.DistributedSampler(2, k, False)))) for k in range(2)]
        random | sorted(col(after(num(3) + num(4), ('use_sampler', ds.RandomSampler()))))
        mapped parts | [sized(after(num(3).map(lambda x: x + 10) + num(4), ('use_sampler', \
            ds.DistributedSampler(2, k, False)))) for k in range(2)]
    """,
    ),
]
