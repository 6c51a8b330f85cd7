"""Values on their way through: what a source may give, what a function sees, what comes out."""

from typing import Any

import numpy as np

from tests.parity.case import Case, each, table

VALUES = {
    "int": "3",
    "float": "1.5",
    "bool": "True",
    "str": "'héy'",
    "bytes": "b'ab\\0c'",
    "empty str": "''",
    "empty bytes": "b''",
    "int8": "np.int8(3)",
    "uint64": "np.uint64(2**63)",
    "float16": "np.float16(1.5)",
    "float32": "np.float32(1.5)",
    "nan": "float('nan')",
    "uint8 array": "np.arange(3, dtype=np.uint8)",
    "bool array": "np.array([True, False])",
    "strings": "['a', 'bcd']",
    "bytes array": "np.array([b'ab', b'c'])",
    "nested list": "[[1, 2], [3, 4]]",
    "mixed list": "[1, 2.5]",
    "tuple": "(1, 2)",
    "empty list": "[]",
    "no rows": "np.zeros((0, 3), np.float32)",
    "fortran": "np.asfortranarray(np.arange(6).reshape(2, 3))",
    "strided": "np.arange(10)[::3]",
    "0-d": "np.array(5)",
    "unicode array": "np.array([['ä', 'bcd'], ['', '日本']])",
    "dict": "{'x': 1, 'y': np.arange(2), 'z': 's', 'b': b'q', 'l': [1, 'a'], 't': (1, 2.5), 'd': {'k': 0}}",
}

SCHEMA = "s = ds.Schema(); s.add_column('q', 'int32', [2]); s.add_column('r', 'float32', [])"

BATCHED: dict[str, dict[str, Any]] = {
    "dict": {
        "better": "a dict inside a dict is batched like the one around it",
        "want": [
            {
                "a": {
                    "x": np.array([1, 1]),
                    "y": np.array([[0, 1], [0, 1]]),
                    "z": np.array(["s", "s"]),
                    "b": np.array([b"q", b"q"]),
                    "l": np.array([[1, "a"], [1, "a"]]),
                    "t": np.array([[1, 2.5], [1, 2.5]]),
                    "d": {"k": np.array([0, 0])},
                }
            }
        ],
    }
}

CASES = [
    *[
        case
        for name, value in VALUES.items()
        for case in (
            Case(f"numpy.{name}", f"rows(one({value}))"),
            Case(f"tensor.{name}", f"rows(one({value}), False)"),
            Case(f"in map.{name}", f"seen({value})"),
            Case(f"batch.{name}", f"rows(gen([({value},), ({value},)]).batch(2))", **BATCHED.get(name, {})),
            Case(f"shape and type.{name}", f"[one({value}).output_shapes(), one({value}).output_types()]"),
        )
    ],
    *[
        Case(f"out of map.{name}", f"rows(num(1).map(lambda x: ({value},), ['a']))")
        for name, value in VALUES.items()
    ],
    Case("out of map.bare", "rows(num(1).map(lambda x: [1, 2], ['a']))"),
    Case(
        "out of map.bare empty list",
        "rows(num(1).map(lambda x: [], ['a']))",
        better="MindSpore looks at its first element and fails",
        want=[{"a": np.empty(0)}],
    ),
    *table(
        "row",
        """
        number | rows(gen([1, 2]))
        text | rows(gen(Indexed(['ab', 'c'])))
        bytes | rows(gen(Indexed([b'ab', b'c'])))
        array | rows(gen(Indexed([np.arange(3)])))
        list is columns | rows(gen(Indexed([[1, 2]]), ['a', 'b']))
        set is columns | rows(gen(Indexed([{1, 2}]), ['a', 'b']))
        generator is columns | rows(gen(Indexed([(x for x in (1, 2))]), ['a', 'b']))
        dict is one column | rows(gen(Indexed([{'k': 1}])))
        numpy scalar | rows(gen(Indexed([np.float32(1)])))
    """,
    ),
    *table(
        "source",
        """
        list | sized(gen([(1,), (2,)]))
        str | rows(gen('abc'))
        range | sized(gen(range(3)))
        dict of rows | rows(gen({0: 1, 1: 2}))
        array | rows(gen(np.arange(4).reshape(2, 2)))
        zip | rows(gen(zip([1, 2], [3, 4]), ['a', 'b']))
        indexed | sized(gen(Indexed([1, 2, 3])))
        stream | sized(gen(Stream([(1,), (2,)])))
        generator function | sized(gen(lambda: ((i,) for i in range(3))))
        generator | sized(gen((i,) for i in range(3)))
        generator again | d = gen((i,) for i in range(3)); result = [col(d), col(d), over(d, 2)]
        iterator | sized(gen(iter([1, 2, 3])))
        one name | rows(ds.GeneratorDataset([1], 'q'))
        types | rows(one(1, column_types=[ms.int64]))
        num_samples | sized(gen(Indexed([1, 2, 3]), num_samples=2))
        num_samples 0 | sized(gen(Indexed([1, 2, 3]), num_samples=0))
        num_samples too many | sized(gen(Indexed([1, 2, 3]), num_samples=9))
        num_samples of a stream | sized(gen(Stream([1, 2, 3]), num_samples=2))
        num_samples too many of a stream | sized(gen(Stream([1, 2, 3]), num_samples=9))
        workers | sized(gen(Indexed(list(range(20))), num_parallel_workers=2, python_multiprocessing=False))
        processes | sized(gen(Indexed(list(range(20))), num_parallel_workers=2))
        shuffled rows | sorted(col(ds.GeneratorDataset(Indexed([1, 2, 3]), ['a'])))
        shuffled stream | sorted(col(ds.GeneratorDataset(Stream([1, 2, 3]), ['a'], shuffle=True)))
        batch sampler | sized(ds.GeneratorDataset([1, 2, 3], ['a'], batch_sampler=[[0, 1], [2]]))
        batch sampler repeats | sized(ds.GeneratorDataset([1, 2, 3], ['a'], batch_sampler=[[2, 2, 0]]))
        collate | sized(ds.GeneratorDataset([1, 2, 3], ['a'], batch_sampler=[[0, 1], [2]], \
            collate_fn=lambda x: [v * 2 for v in x]))
        item | [num()[2], num(num_shards=2, shard_id=1)[1], gen([(1, 2), (3, 4)], ['a', 'b'])[1]]
        schema | s = ds.Schema(); s.add_column('q', 'int64', []); result = rows(ds.GeneratorDataset([1], \
            schema=s))
        schema wins | s = ds.Schema(); s.add_column('q', 'int64', [3]); result = \
            rows(ds.GeneratorDataset([1], ['z'], schema=s))
    """,
    ),
    *table(
        "numpy slices",
        """
        list | rows(ds.NumpySlicesDataset([1, 2], shuffle=False))
        lists | rows(ds.NumpySlicesDataset([[1, 2], [3, 4]], shuffle=False))
        ragged | rows(ds.NumpySlicesDataset([[1], [2, 3]], shuffle=False))
        tuple | rows(ds.NumpySlicesDataset(([1, 2], [3, 4]), shuffle=False))
        tuple named | rows(ds.NumpySlicesDataset(([1, 2], [3, 4]), ['x', 'y'], shuffle=False))
        dict | rows(ds.NumpySlicesDataset({'x': [1, 2], 'y': ['p', 'q']}, shuffle=False))
        dict renamed | rows(ds.NumpySlicesDataset({'x': [1, 2]}, ['q'], shuffle=False))
        array | rows(ds.NumpySlicesDataset(np.arange(6, dtype=np.float32).reshape(2, 3), shuffle=False))
        text | rows(ds.NumpySlicesDataset(['a', 'bc'], shuffle=False))
        one name | rows(ds.NumpySlicesDataset([1], 'q', shuffle=False))
        is shuffled | [ds.NumpySlicesDataset([1]).is_shuffled(), num().is_shuffled()]
    """,
    ),
    *table(
        "padded",
        """
        rows | rows(ds.PaddedDataset([{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}]))
        size | d = ds.PaddedDataset([{'a': 1}]); result = [len(d), d.get_col_names(), d.is_shuffled()]
        concat | d = num(3) + ds.PaddedDataset([{'a': np.int64(9)}]); \
            d.use_sampler(ds.DistributedSampler(2, 1, False)); result = sized(d)
    """,
    ),
    *each(
        "shards",
        "[sized(num(5, num_shards=3, shard_id=k{})) for k in range(3)]",
        ["", ", num_samples=1", ", num_samples=9"],
    ),
    Case("shards.more than rows", "[sized(num(2, num_shards=3, shard_id=k)) for k in range(3)]"),
    Case(
        "random.size",
        f"{SCHEMA}; d = ds.RandomDataset(5, s); result = [len(d), len(rows(d))]",
    ),
    Case(
        "random.types",
        f"{SCHEMA}; d = ds.RandomDataset(5, s); "
        "result = d.get_col_names(), d.output_types(), d.output_shapes()",
    ),
    Case(
        "random.columns",
        f"{SCHEMA}; result = ds.RandomDataset(5, s, ['r']).get_col_names()",
    ),
    Case("random.nothing given", "len(ds.RandomDataset()) > 0", better="MindSpore crashes", want=True),
]
