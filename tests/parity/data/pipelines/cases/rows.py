"""Ops that work row by row, or choose rows."""

import numpy as np

from tests.parity.case import Case, each, table

TREE = {"better": "Q21: one dataset may feed two pipelines"}

CASES = [
    *each(
        "map",
        "columns(abc().map({}))",
        """
        lambda x: x + 100
        lambda x: x + 100, ['b']
        lambda x: x + 100, 'b'
        lambda x: x + 1, ['b'], ['z']
        lambda x: (x, x + 1), ['b'], ['z', 'w']
        lambda c, a: c - a, ['c', 'a'], ['z']
        lambda x, y: (x, y), ['a', 'c'], ['c', 'a']
        lambda c, a: (c, a * 2), ['c', 'a']
        lambda x, y: (x, y), ['c', 'a'], ['p', 'q']
        lambda c, b: c, ['c', 'b'], ['b']
        lambda x: (x, x), output_columns=['p', 'q']
        lambda x: x, ['a'], ['c']
        lambda x: x, ['b'], ['a']
        lambda *x: x
        lambda a, b, c: (c, b, a), ['a', 'b', 'c'], ['x', 'y', 'z']
        [lambda x: x + 1, lambda x: x * 2], ['a']
        [lambda x: (x, x + 1), lambda x, y: x + y], ['a']
        [lambda x: x + 1, lambda x: (x, x)], ['a'], ['p', 'q']
        lambda x: (1, 'a'), ['a'], ['p', 'q']
        lambda x: ((1, 2), 3), ['a'], ['p', 'q']
        lambda x: [(1, 2), (3, 4)], ['a']
        lambda x: [np.ones(2), np.zeros(2)], ['a']
        lambda x: x + 1, num_parallel_workers=2
        lambda x: x + 1, python_multiprocessing=True, num_parallel_workers=2
        np.sqrt, ['b']
        type('F', (), {'__call__': lambda self, x: x + 7})()
    """,
    ),
    *table(
        "map",
        """
        too many values | rows(abc().map(lambda x: (x, x), ['a'], ['z'])) => output_columns, 2, 1
        too few values | rows(abc().map(lambda x: x, ['a'], ['z', 'w'])) => output_columns, 1, 2
        no values | rows(abc().map(lambda x: (), ['a'])) => output_columns, 0, 1
        unknown column | rows(abc().map(abs, ['q'])) => q
        takes more | rows(abc().map(lambda x, y: x, ['a'])) => y
        gives None | rows(abc().map(lambda x: None, ['a'])) => None
        gives ragged | rows(abc().map(lambda x: [[1], [2, 3]], ['a'])) => different shapes
        raises | rows(abc().map(lambda x: 1 / 0, ['a'])) => ZeroDivisionError, division by zero
        raises in a process | rows(abc().map(lambda x: 1 / 0, ['a'], python_multiprocessing=True)) => \
            ZeroDivisionError, division by zero
        raises in the second | rows(abc().map([lambda x: x, lambda x: {}['nokey']], ['a'])) => KeyError, nokey
        names of an unknown column | abc().map(abs, ['q']).get_col_names() => q
    """,
    ),
    *each(
        "filter",
        "rows(abc(4).filter({}))",
        """
        lambda a, b, c: a > 1
        lambda b: b > 10, ['b']
        lambda b: b > 10, 'b'
        lambda c, a: c + a > 8, ['c', 'a']
        lambda a, b, c: None
        lambda a, b, c: 'x'
        lambda a, b, c: 0
        lambda a: np.array([a > 1]), ['a']
        lambda a: False, 'a'
        lambda a: a % 2 == 0, ['a'], 2
    """,
    ),
    *table(
        "filter",
        """
        unknown column | rows(abc().filter(lambda q: True, ['q'])) => q
        takes fewer | rows(abc().filter(lambda a: True)) => argument
        raises | rows(abc().filter(lambda a, b, c: 1 / 0)) => division by zero
        ambiguous | rows(abc().filter(lambda a: np.array([True, False]), ['a'])) => ambiguous
    """,
    ),
    Case(
        "map.output named like another column",
        "columns(abc(1).map(lambda x: (x, x + 7), ['a'], ['a', 'b']))",
        better="MindSpore loses the new column b and keeps the old one under its place",
        want=[["a", "b", "c"], [{"a": np.array(0), "b": np.array(7), "c": np.array(5)}]],
    ),
    Case(
        "map.gives an object",
        "col(abc().map(lambda x: object(), ['a']).map(lambda x: type(x) is object, ['a']))",
        better="any Python object may travel from one map to the next",
        want=[True, True],
    ),
    Case(
        "map.gives complex",
        "rows(abc().map(lambda x: 2j, ['a']))[0]['a'].item().imag",
        better="numpy has the type, so a pipeline can carry it",
        want=2.0,
    ),
    *table(
        "flat_map",
        """
        uneven | col(num(3).flat_map(lambda x: num(int(x) + 1)))
        two columns | rows(abc(2).project(['a', 'c']).flat_map(lambda a, c: \
            ds.NumpySlicesDataset([a.tolist(), c.tolist()], ['z'], shuffle=False)))
        size | len(num(3).flat_map(lambda x: num(2)))
    """,
    ),
    *each("project", "columns(abc().project({}))", "['c', 'a']; 'b'; ['a', 'b', 'c']"),
    Case("project.unknown column", "rows(abc().project(['q']))", ("q",)),
    Case("project.names of an unknown column", "abc().project(['q']).get_col_names()", ("q",)),
    *each(
        "rename",
        "columns(abc().rename({}))",
        """
        ['a', 'c'], ['x', 'y']
        'a', 'z'
        ['a', 'b'], ['b', 'a']
        ['a'], ['a']
        ['c'], 'z'
    """,
    ),
    Case("rename.unknown column", "rows(abc().rename(['q'], ['z']))", ("column",)),
    Case("rename.taken", "rows(abc().rename(['a'], ['b']))", ("b",)),
    *each(
        "choose",
        "sized(num(5){})",
        """
        .take(2)
        .take(9)
        .take(-1)
        .take()
        .skip(1)
        .skip(0)
        .skip(5)
        .skip(9)
        .skip(2).take(1)
        .take(3).skip(1)
        .repeat(2)
        .repeat(1)
        .repeat(2).repeat(2)
        .take(2).repeat(2)
        .repeat(2).take(7)
        .repeat(2).skip(4)
        .skip(4).repeat(3)
        .take(3).repeat(2).skip(1).take(4)
    """,
    ),
    Case(
        "repeat.forever",
        "it = iter(num(2).repeat()); result = [int(next(it)[0].asnumpy()) for _ in range(5)]",
    ),
    Case(
        "repeat.forever then take",
        "col(num(2).repeat().take(5))",
        better="MindSpore never ends",
        want=[0, 1, 0, 1, 0],
    ),
    Case(
        "repeat.forever then zip",
        "col(num(2).repeat().zip(num(3).rename('a', 'b')))",
        better="MindSpore never ends",
        want=[0, 1, 0],
    ),
    *each("shuffle", "sorted(col(num(7).shuffle({})))", "2; 7; 100"),
    Case(
        "shuffle.seed",
        "def once(): ds.config.set_seed(3); return col(num(20).shuffle(20))\nresult = once() == once()",
    ),
    Case(
        "shuffle.epochs",
        "ds.config.set_seed(3); a, b = over(num(50).shuffle(50), 2); result = a == b, sorted(a) == sorted(b)",
    ),
    *table(
        "concat",
        """
        add | sized(num(2) + num(1))
        list | sized(num(2).concat([num(1), num(3)]))
        names | (num(2) + num(1)).get_col_names()
        repeat | sized((num(2) + num(1)).repeat(2))
        epochs | over(num(2) + num(1), 2)
        shapes may differ | rows(long(1) + long(2))
        of streams | sized(gen(Stream([1, 2])) + num(2))
        of ops | sized(num(4).batch(2) + num(6).batch(3))
        nested | sized((num(1) + num(2)) + (num(3) + num(1)))
        empty part | num(2).skip(2) + num(1)
    """,
    ),
    Case(
        "concat.empty second part",
        "col(num(1) + num(2).filter(lambda a: False))",
        better="nothing runs before the first row is asked for, and no rows are no mistake",
        want=[0],
    ),
    *table(
        "concat",
        """
        names differ | rows(num(2) + num(2).rename('a', 'z')) => column
        order differs | rows(abc().project(['a', 'b']) + abc().project(['b', 'a'])) => column
        types differ | rows(num(1) + ds.NumpySlicesDataset([1.5], ['a'])) => int64, float64
        ranks differ | rows(num(1) + ds.NumpySlicesDataset([[1, 2]], ['a'])) => rank
        number of columns differs | rows(num(2) + abc()) => column
        nothing | rows(num(2).concat([])) => concat
    """,
    ),
    Case("concat.with itself", "d = num(2); result = col(d + d)", **TREE, want=[0, 1, 0, 1]),
    *table(
        "zip",
        """
        function | rows(ds.zip((num(3), num(2).rename('a', 'b'))))
        method | rows(num(2).zip(num(3).rename('a', 'b')))
        three | rows(num(2).zip((num(2).rename('a', 'b'), abc(2).project(['c']))))
        size | len(num(5).zip(num(3).rename('a', 'b')))
        names | ds.zip((abc().project(['c', 'a']), num().rename('a', 'z'))).get_col_names()
        epochs | over(num(3).zip(num(2).rename('a', 'b')), 2)
    """,
    ),
    Case("zip.same names", "rows(num(2).zip(num(2)))", ("a",)),
    Case("zip.nothing", "rows(num(2).zip(()))", ("zip",)),
    Case(
        "tree.two consumers",
        "d = num(3); result = [col(d.take(1)), col(d.take(2))]",
        **TREE,
        want=[[0], [0, 1]],
    ),
    Case(
        "tree.zip of one",
        "d = num(2); result = [bool(r['a'] == r['b']) for r in rows(d.zip(d.rename('a', 'b')))]",
        **TREE,
        want=[True, True],
    ),
    *each(
        "split",
        "[sized(d) for d in num(10).split({}, False)]",
        "[4, 6]; [.55, .45]; [.33, .33, .34]; [1.0]; [10]; [.25, .25, .5]",
    ),
    *each("split.rows", "[len(d) for d in num({}).split([.5, .5], False)]", "2; 3; 5; 7; 9; 11"),
    *each("split.thirds", "[len(d) for d in num({}).split([1 / 3, 1 / 3, 1 / 3], False)]", "4; 5; 10; 11"),
    *table(
        "split",
        """
        of an op | [sized(d) for d in num(10).batch(2).split([.5, .5], False)]
        of a stream | [sized(d) for d in gen(Stream(range(5))).split([2, 3], False)]
        then shard | sized(after(num(10).split([6, 4], False)[0], ('use_sampler', ds.DistributedSampler(2, \
            1, False))))
        then batch | [sized(d.batch(2)) for d in num(5).split([2, 3], False)]
        seeded | ds.config.set_seed(3); result = sorted(sum((col(d) for d in num(10).split([4, 6])), []))
        seeded epochs | ds.config.set_seed(3); a, b = over(num(10).split([4, 6])[0], 2); result = a == b
        seeded op | ds.config.set_seed(3); result = sorted(sum((col(d) for d in num(10).map(abs).split([4, \
            6])), []))
    """,
    ),
    Case(
        "split.unseeded",
        "sorted(sum((col(d) for d in num(10).split([4, 6])), []))",
        better="without a seed MindSpore's parts overlap",
        want=list(range(10)),
    ),
    Case("apply", "col(num(5).apply(lambda d: d.skip(1).take(2)))"),
]
