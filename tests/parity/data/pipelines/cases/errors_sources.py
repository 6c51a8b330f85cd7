"""What user-defined sources say about wrong arguments."""

from tests.parity.case import Case, each, table
from tests.parity.data.pipelines.cases.errors_dataset import COLUMNS, FEW, WORKERS

GENERATOR = "ds.GeneratorDataset([1, 2], ['a'], {})"

NUMPY = "ds.NumpySlicesDataset([1, 2], ['a'], {})"

RANDOM = "ds.RandomDataset(3, {})"

SHARED = [
    "num_samples='1'",
    "num_samples=1.5",
    "num_samples=True",
    "num_samples=-1",
    "num_samples=2**63",
    "shuffle=1",
    "shuffle='x'",
    "sampler=3",
    "sampler='ab'",
    "sampler=[1.5]",
    "sampler=['x']",
    "num_shards=2",
    "shard_id=0",
    "num_shards=2, shard_id=2",
    "num_shards=0, shard_id=0",
    "num_shards=-1, shard_id=0",
    "num_shards='2', shard_id=0",
    "num_shards=2, shard_id='0'",
    "num_shards=2.0, shard_id=0",
    "num_shards=2**31, shard_id=0",
    "num_shards=True, shard_id=0",
    "sampler=ds.SequentialSampler(), shuffle=False",
    "sampler=ds.SequentialSampler(), num_samples=1",
    "sampler=ds.SequentialSampler(), num_shards=1, shard_id=0",
    "num_parallel_workers='1'",
    "num_parallel_workers=1.5",
    "num_parallel_workers=True",
]


def shared(name: str, template: str) -> list[Case]:
    return [
        *each(name, template, SHARED),
        *each(name, template, ["num_parallel_workers=0", "num_parallel_workers=-1"], **WORKERS),
        Case(
            f"{name}.negative shard", f"rows({template.format('num_shards=2, shard_id=-1')})", ("shard_id",)
        ),
        Case(f"{name}.unknown", template.format("foo=1"), ("foo",)),
        Case(
            f"{name}.sampler and shuffle",
            template.format("sampler=ds.SequentialSampler(), shuffle=True"),
            ("Conflicting arguments", "fixes the order"),
            better="Q04: the error says why",
            raises=ValueError,
        ),
        Case(
            f"{name}.list sampler and shuffle",
            template.format("sampler=[1, 0], shuffle=True"),
        ),
    ]


CASES = [
    *shared("generator", GENERATOR),
    *each("generator.source", "ds.GeneratorDataset({}, ['a'])", "3; None; 1.5; object()"),
    Case("generator.no source", "ds.GeneratorDataset()", ("source",)),
    *each("generator.column_names", "ds.GeneratorDataset([1, 2], {})", COLUMNS + "; None"),
    *each("generator.column_types", "ds.GeneratorDataset([1, 2], ['a'], {})", "3; 'int32'; ('int32',)"),
    *each(
        "generator",
        GENERATOR,
        """
        python_multiprocessing=1
        python_multiprocessing='x'
        max_rowsize='1'
        max_rowsize=-2
        max_rowsize=2**31
        max_rowsize=1.5
        schema=3
        schema=[1]
        batch_sampler=3
        batch_sampler=[[0]], shuffle=True
        batch_sampler=[[0]], shuffle=False
        batch_sampler=[[0]], num_samples=1
        batch_sampler=[[0]], sampler=[1]
        batch_sampler=[[0]], num_shards=1, shard_id=0
        collate_fn=1
        collate_fn=max
        batch_sampler=[[0]], collate_fn=1
    """,
    ),
    Case("generator.schema file", "ds.GeneratorDataset([1], schema='/no/such/file')"),
    *each(
        "generator.one pass",
        "ds.GeneratorDataset(Stream([1, 2]), ['a'], {})",
        """
        sampler=[1]
        sampler=ds.SequentialSampler()
        batch_sampler=[[1]]
    """,
    ),
    Case(
        "generator.one pass=num_shards=2, shard_id=1",
        "col(ds.GeneratorDataset(Stream([1, 2, 3, 4]), ['a'], num_shards=2, shard_id=1))",
        better="Q15: every source can be sharded; a stream is dealt out row by row",
        want=[2, 4],
    ),
    Case(
        "generator.column type",
        "ds.GeneratorDataset([1, 2], ['a'], [3])",
        ("type",),
        better="MindSpore raises a NotImplementedError without a text",
        raises=(TypeError, ValueError, NotImplementedError),
    ),
    *table(
        "generator",
        """
        no length | rows(gen(type('X', (), {'__getitem__': lambda s, i: i})())) => __len__
        empty | rows(gen([]))
        too many values | rows(gen([(1, 2)])) => column_names
        too few values | rows(gen([(1,)], ['a', 'b'])) => column_names
        None | rows(gen([None])) => None
        None in a row | rows(gen([(None,)])) => None
        object array | rows(gen([np.array([1, None], object)])) => object
        ragged | rows(one([[1], [2, 3]])) => different shapes
        huge | rows(one(2**70)) => object
        raises | rows(gen(Indexed({0: 1, 2: 3}))) => KeyError
        index error | rows(gen(Short())) => IndexError
        column type differs | rows(one(1, column_types=[ms.int32])) => int32
        batch sampler built in | rows(ds.GeneratorDataset([1, 2], ['a'], \
            batch_sampler=ds.SequentialSampler())) => sampler
        item too big | num()[7] => 7
        item negative | num()[-1] => -1
        item of a batch sampler | ds.GeneratorDataset([1], ['a'], batch_sampler=[[0]])[0] => batch_sampler
    """,
    ),
    *[
        Case(f"generator.{name}", code, better="numpy has the type, so a pipeline can carry it", want=want)
        for name, code, want in [
            ("complex", "rows(one(2j))[0]['a'].item().imag", 2.0),
            ("datetime", "str(rows(one(np.datetime64('2020-01-01')))[0]['a'])", "2020-01-01"),
        ]
    ],
    *each("generator.item", "num()[{}]", "'a'; 1.5; None"),
    Case("generator.item of one pass", "ds.GeneratorDataset(Stream([1]), ['a'])[0]"),
    *shared("numpy", NUMPY),
    *each(
        "numpy.data",
        "ds.NumpySlicesDataset({})",
        """
        3
        None
        'ab'
        []
        ()
        {}
        np.array([])
        (1, 2)
        ('ab',)
        ([1, 2], [3])
    """,
    ),
    *each("numpy.column_names", "ds.NumpySlicesDataset([1, 2], {})", COLUMNS),
    *each(
        "numpy.columns",
        "ds.NumpySlicesDataset({})",
        """
        [1], ['q', 'r']
        ([1], [2]), ['q']
        {'x': [1]}, ['q', 'r']
        ([1], [2]), ['q', 'r', 's']
        np.ones((2, 2)), ['q', 'r']
    """,
    ),
    *each("padded.samples", "ds.PaddedDataset({})", "[]; None; [1]; ({'a': 1},); 3; {'a': 1}; 'x'"),
    Case("padded.missing column", "rows(ds.PaddedDataset([{'a': 1}, {'b': 1}]))", ("a",)),
    *each("random.total_rows", "ds.RandomDataset({})", "'1'; 1.5; True"),
    *each(
        "random",
        RANDOM,
        """
        num_shards=2
        shard_id=1
        num_shards=2, shard_id=2
        num_shards=2, shard_id=-1
        num_shards=0, shard_id=0
        num_shards='2', shard_id=0
        shuffle=1
        columns_list='a'
        columns_list=3
        num_samples=-1
        num_samples='1'
        schema=3
    """,
    ),
    *each("random.workers", "ds.RandomDataset(3, num_parallel_workers={})", FEW),
    *each("random.workers", "ds.RandomDataset(3, num_parallel_workers={})", "0", **WORKERS),
    Case("random.negative", "len(ds.RandomDataset(-1))", ("total_rows",)),
    *each("generator.shuffle", "ds.GeneratorDataset(Stream([1]), ['a'], shuffle={})", "1; 'x'; [True]"),
]
