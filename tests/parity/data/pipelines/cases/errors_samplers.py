"""What samplers say about wrong arguments, when made and when used."""

from tests.parity.case import Case, each, table

COUNTS = "'1'; 1.5; [1]; -1; 2**63"

CASES = [
    *each("distributed.num_shards", "ds.DistributedSampler({}, 0)", "'3'; 3.0; None; [3]"),
    *each("distributed.shard_id", "ds.DistributedSampler(3, {})", "'0'; 0.0; None"),
    *each(
        "distributed.shuffle",
        "ds.DistributedSampler(3, 0, {})",
        "1; 'x'; None; ds.Shuffle.GLOBAL; ds.Shuffle.FALSE",
    ),
    *each("distributed.num_samples", "ds.DistributedSampler(3, 0, num_samples={})", COUNTS),
    *each("distributed.offset", "ds.DistributedSampler(3, 0, offset={})", "'1'; 1.5; None"),
    *table(
        "distributed",
        """
        no shards | sampled(ds.DistributedSampler(0, 0, False)) => num_shards
        shard too big | sampled(ds.DistributedSampler(3, 3, False)) => shard_id, 3
        shard negative | sampled(ds.DistributedSampler(3, -1, False)) => shard_id, -1
        offset too big | sampled(ds.DistributedSampler(3, 0, False, offset=4)) => offset, 4
        partial | sampled(ds.DistributedSampler(3, 0, ds.Shuffle.PARTIAL)) => shuffle
    """,
    ),
    *each("pk.num_val", "ds.PKSampler({})", "'2'; 2.0; None; [2]"),
    *each("pk.num_class", "ds.PKSampler(2, {})", "3; 'x'"),
    *each("pk.shuffle", "ds.PKSampler(2, shuffle={})", "1; 'x'; None"),
    *each("pk.class_column", "ds.PKSampler(2, class_column={})", "1; None; ['a']"),
    *each("pk.num_samples", "ds.PKSampler(2, num_samples={})", COUNTS),
    *each("random.replacement", "ds.RandomSampler({})", "1; 'x'; None"),
    *each("random.num_samples", "ds.RandomSampler(num_samples={})", COUNTS),
    *each("random.shuffle", "ds.RandomSampler(shuffle={})", "True; False; None; 'x'; 3; ds.Shuffle.FALSE"),
    Case("random.partial", "sampled(ds.RandomSampler(shuffle=ds.Shuffle.PARTIAL))"),
    *each("sequential.start_index", "ds.SequentialSampler({})", "'1'; 1.5; [1]"),
    *each("sequential.num_samples", "ds.SequentialSampler(0, {})", COUNTS),
    *table(
        "sequential",
        """
        start past the end | sampled(ds.SequentialSampler(5)) => start_index, 5
        start negative | sampled(ds.SequentialSampler(-1)) => start_index, -1
    """,
    ),
    *[
        case
        for kind in ("SubsetSampler", "SubsetRandomSampler")
        for case in (
            *each(
                f"{kind}.indices", f"ds.{kind}({{}})", ["'12'", "None", "1.5", "[1.5]", "['a']", "[1, None]"]
            ),
            *each(f"{kind}.num_samples", f"ds.{kind}([1, 2], {{}})", COUNTS),
            Case(f"{kind}.past the end", f"sampled(ds.{kind}([5]))", ("5",)),
            Case(f"{kind}.negative", f"sampled(ds.{kind}([-1]))", ("-1",)),
        )
    ],
    Case(
        "subset.empty",
        "sampled(ds.SubsetSampler([]))",
        better="MindSpore crashes",
        raises=(ValueError, RuntimeError),
    ),
    *each("weighted.weights", "ds.WeightedRandomSampler({})", "['a']; 'a'; (1, 2); None; [1, None]; [[1]]"),
    *each("weighted.num_samples", "ds.WeightedRandomSampler([1], {})", COUNTS),
    *each("weighted.replacement", "ds.WeightedRandomSampler([1], 1, {})", "1; 'x'; None"),
    *table(
        "weighted",
        """
        all zero | sampled(ds.WeightedRandomSampler([0, 0, 0], 2)) => zero
        negative | sampled(ds.WeightedRandomSampler([-1, 0, 0], 2)) => negative, -1
        empty | sampled(ds.WeightedRandomSampler([], 2)) => empty
        too many | sampled(ds.WeightedRandomSampler([1] * 7, 2)) => 7, 5
    """,
    ),
    Case(
        "child twice",
        "chain(ds.SequentialSampler(), ds.SequentialSampler()).add_child(ds.SequentialSampler())",
    ),
    Case("base is_shuffled", "ds.SequentialSampler.__base__().is_shuffled()"),
    Case("base is_sharded", "ds.SequentialSampler.__base__().is_sharded()"),
    Case(
        "own.fractions",
        """
class Half(ds.Sampler):
    def __iter__(self):
        yield 1.5
result = sampled(Half())
""",
        ("integer",),
    ),
    Case(
        "own.past the end",
        """
class Far(ds.Sampler):
    def __iter__(self):
        yield 99
result = sampled(Far())
""",
        ("99",),
    ),
    Case(
        "own.no __iter__",
        """
class Blank(ds.Sampler):
    pass
result = sampled(Blank())
""",
        ("NotImplementedError",),
    ),
    Case("chain past the end", "sampled(chain(ds.SubsetSampler([3]), ds.SequentialSampler(0, 2)))", ("3",)),
    Case(
        "add not a sampler",
        "num().add_sampler(3)",
        ("int",),
        better="MindSpore raises an AttributeError about its inside",
        raises=(TypeError,),
    ),
]
