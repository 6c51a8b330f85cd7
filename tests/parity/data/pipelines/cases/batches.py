"""batch, padded_batch and bucket_batch_by_length."""

import numpy as np

from tests.parity.case import Case, each, table

RAGGED = "gen([(np.ones((i + 1, 2)),) for i in range(3)])"

TEXTS = "gen([(np.array(['a', 'bb']),), (np.array(['c']),)])"

BYTES = "gen([(np.array([b'a', b'bb']),), (np.array([b'c']),)])"

WHOLE = "gen([(np.ones(1, int),), (np.ones(2, int),)])"

PAIR = "gen([(np.ones(1), np.ones(2)), (np.ones(2), np.ones(1))], ['a', 'b'])"


def bucketed(lengths: str, arguments: str) -> str:
    return f"rows(long({lengths}).bucket_batch_by_length(['a'], {arguments}))"


CASES = [
    *each(
        "batch",
        "sized(num(5).batch({}))",
        """
        2
        2, True
        1
        5
        9
        9, True
        2, num_parallel_workers=2
        lambda i: i.get_batch_num() + 1
        lambda i: i.get_batch_num() + 2, True
        lambda i: 9
        2, python_multiprocessing=True
    """,
    ),
    *table(
        "batch",
        """
        matrix | rows(gen([(np.full((2, 3), i, np.float32),) for i in range(3)]).batch(2))
        all columns | rows(abc(3).batch(2))
        batch of batches | rows(num(8).batch(2).batch(2))
        texts | rows(gen([('a',), ('bcd',)]).batch(2))
        epochs | over(num(3).batch(2), 2)
        before repeat | sized(num(3).batch(2).repeat(2))
        after repeat | sized(num(3).repeat(2).batch(2))
        nothing left | sized(num(3).filter(lambda a: False).batch(2))
    """,
    ),
    Case(
        "batch.batch numbers",
        """
seen = []
def look(a, info):
    seen.append((info.get_epoch_num(), info.get_batch_num(), len(a)))
    return (a,)
over(num(5).batch(2, per_batch_map=look), 2)
result = sorted(seen)
""",
    ),
    Case(
        "batch.batch numbers in repeat",
        """
seen = []
def look(a, info):
    seen.append((info.get_epoch_num(), info.get_batch_num()))
    return (a,)
over(num(3).batch(2, per_batch_map=look).repeat(2), 1)
result = sorted(seen)
""",
    ),
    Case(
        "batch.size numbers",
        """
seen = []
def size(info):
    seen.append((info.get_epoch_num(), info.get_batch_num()))
    return 2
it = num(4).batch(size).create_dict_iterator(num_epochs=2, output_numpy=True)
for _ in range(2):
    list(it)
result = sorted(set(seen))[:4]
""",
    ),
    Case(
        "batch.what the map gets",
        """
seen = []
def look(a, b, info):
    seen.append([a, b])
    return a, b
rows(abc(3).project(['a', 'b']).batch(3, per_batch_map=look))
result = seen
""",
    ),
    *each(
        "per_batch_map",
        "rows(num(3).batch(2, per_batch_map=lambda a, i: {}))",
        """
        [x + 1 for x in a]
        ([x + 1 for x in a],)
        np.array(a) * 2
        (np.array(a) * 2,)
        a
        [float(x) for x in a]
        (['s'] * len(a),)
        [np.zeros((2, 2))] * len(a)
        np.zeros((len(a), 3))
    """,
    ),
    *each(
        "per_batch_map",
        "columns(abc(3).batch(2, per_batch_map={}))",
        """
        lambda b, i: ([x + 1 for x in b],), input_columns=['b']
        lambda b, i: ([x + 1 for x in b],), input_columns='b'
        lambda a, b, c, i: (a, b, c)
        lambda a, b, i: (a,), input_columns=['a', 'b'], output_columns=['z']
        lambda c, i: (c,), input_columns=['c'], output_columns=['z']
        lambda c, a, i: (c, a), input_columns=['c', 'a']
        lambda c, a, i: (c, a), input_columns=['c', 'a'], output_columns=['p', 'q']
        lambda a, c, i: (a, c), input_columns=['a', 'c'], output_columns=['c', 'a']
        lambda a, b, c, i: (a,), output_columns=['z']
    """,
    ),
    Case(
        "per_batch_map.more columns",
        """
twice = lambda c, i: (c, [x * 2 for x in c])
d = abc(2).batch(2, per_batch_map=twice, input_columns=['c'], output_columns=['c', 'z'])
result = [d.get_col_names(), list(rows(d)[0]), rows(d)[0]['z'].tolist()]
""",
        better="MindSpore puts the columns that are left in no order",
        want=[["c", "z", "a", "b"], ["c", "z", "a", "b"], [10, 12]],
    ),
    *table(
        "batch",
        """
        ranks differ | rows(gen([(1,), (np.ones(2, int),)]).batch(2)) => batch, shape
        types differ | rows(gen([(np.int32(1),), (np.int64(2),)]).batch(2)) => type, int32, int64
        keys differ | rows(gen([({'x': 1},), ({'y': 2},)]).batch(2)) => key
        size 0 | rows(num().batch(lambda i: 0)) => batch_size, 0
        size text | rows(num().batch(lambda i: 'a')) => batch_size
        size raises | rows(num().batch(lambda i: 1 / 0)) => division by zero
        map gives a number | rows(num().batch(2, per_batch_map=lambda a, i: 3)) => int
        map gives None | rows(num().batch(2, per_batch_map=lambda a, i: None)) => None
        map raises | rows(num().batch(2, per_batch_map=lambda a, i: 1 / 0)) => ZeroDivisionError, division \
            by zero
        map takes fewer | rows(num().batch(2, per_batch_map=lambda a: a)) => argument
        map drops rows | rows(num(4).batch(2, per_batch_map=lambda a, i: ([a[0]],))) => per_batch_map, 2, 1
        map gives fewer columns | rows(abc().batch(2, per_batch_map=lambda a, b, i: (a,), \
            input_columns=['a', 'b'], output_columns=['z', 'w'])) => per_batch_map, 2, 1
        unknown column | rows(abc().batch(2, per_batch_map=lambda q, i: q, input_columns=['q'])) => q
        output name taken | rows(abc().batch(2, per_batch_map=lambda a, i: (a,), input_columns=['a'], \
            output_columns=['b'])) => output_columns, b
        map gives shapes that differ | rows(num().batch(2, per_batch_map=lambda a, i: ([np.ones(1), \
            np.ones(2)],))) => shape
    """,
    ),
    Case(
        "batch.shapes differ",
        f"rows({RAGGED}.batch(2))",
        (
            "batch",
            "shape",
        ),
    ),
    Case("batch.map not callable", "rows(num().batch(2, per_batch_map=3))"),
    *each(
        "padded_batch",
        f"rows({RAGGED}.padded_batch({{}}))",
        """
        3, pad_info={}
        3, pad_info={'a': ([4, 2], 7)}
        2, pad_info={'a': ([None, 3], -1)}
        3, pad_info={'a': (None, None)}
        3, pad_info={'a': None}
        2, True, pad_info={'a': ([3, 2], 0)}
        3, pad_info={'a': ([1, 2], 0)}
        3, pad_info={'a': (None, 1.5)}
        lambda i: i.get_batch_num() + 1, pad_info={}
        1
        2, num_parallel_workers=2, pad_info={}
    """,
    ),
    *table(
        "padded_batch",
        """
        scalars | rows(num(2).padded_batch(2, pad_info={'a': None}))
        plain | sized(num(5).padded_batch(2))
        drop | sized(num(5).padded_batch(2, True))
    """,
    ),
    Case("padded_batch.texts", f"rows({TEXTS}.padded_batch(2, pad_info={{'a': ([3], '<p>')}}))"),
    Case("padded_batch.bytes", f"rows({BYTES}.padded_batch(2, pad_info={{'a': ([3], b'zz')}}))"),
    Case("padded_batch.value is cast", f"rows({WHOLE}.padded_batch(2, pad_info={{'a': (None, 1.9)}}))"),
    Case("padded_batch.two columns", f"rows({PAIR}.padded_batch(2, pad_info={{'a': None, 'b': ([3], 5)}}))"),
    Case("padded_batch.all columns", f"rows({PAIR}.padded_batch(2, pad_info={{}}))"),
    *table(
        "padded_batch",
        """
        rank of scalars | rows(num(2).padded_batch(2, pad_info={'a': ([2], 1)})) => pad_info, rank
    """,
    ),
    Case(
        "padded_batch.no pad_info",
        f"rows({RAGGED}.padded_batch(3))",
        better="a batch that is called padded is padded",
        want=[{"a": np.array([[[float(i >= j)] * 2 for j in range(3)] for i in range(3)])}],
    ),
    Case(
        "padded_batch.unknown column",
        f"rows({RAGGED}.padded_batch(3, pad_info={{'q': None}}))",
        (
            "pad_info",
            "q",
        ),
    ),
    Case(
        "padded_batch.rank",
        f"rows({RAGGED}.padded_batch(3, pad_info={{'a': ([4], 0)}}))",
        (
            "pad_info",
            "rank",
        ),
    ),
    Case(
        "padded_batch.number into text",
        f"rows({TEXTS}.padded_batch(2, pad_info={{'a': ([3], 0)}}))",
        (
            "pad",
            "string",
        ),
    ),
    Case(
        "padded_batch.text into numbers",
        f"rows({RAGGED}.padded_batch(2, pad_info={{'a': ([3, 2], 'x')}}))",
        (
            "pad",
            "string",
        ),
    ),
    Case(
        "padded_batch.no value for text",
        f"rows({TEXTS}.padded_batch(2, pad_info={{'a': ([3], None)}}))",
        (
            "pad",
            "string",
        ),
    ),
    Case("padded_batch.column left out", f"rows({PAIR}.padded_batch(2, pad_info={{'a': None}}))", ("shape",)),
    *table(
        "bucket",
        """
        size | len(long(1, 5, 2, 6, 3).bucket_batch_by_length(['a'], [3], [2, 2]))
        epochs | over(long(1, 5, 2).bucket_batch_by_length(['a'], [3], [2, 2]), 2)
    """,
    ),
    Case("bucket.basic", bucketed("1, 5, 2, 6, 3, 9, 1, 4", "[3, 6], [2, 2, 2], pad_info={}")),
    Case("bucket.no pad_info", bucketed("1, 5, 2, 6", "[3, 6], [2, 2, 2]")),
    Case("bucket.same lengths", bucketed("1, 1, 5, 5", "[3], [2, 2]")),
    Case(
        "bucket.to the boundary",
        bucketed("1, 2, 3, 3, 4", "[3, 5], [2, 2, 1], None, {'a': ([None], 9)}, True"),
    ),
    Case("bucket.to the boundary without shape", bucketed("1, 2, 2", "[3, 5], [3, 1, 1], None, None, True")),
    Case("bucket.to the boundary with empty pad_info", bucketed("1, 1", "[4], [2, 2], None, {}, True")),
    Case("bucket.to the boundary with None", bucketed("1, 1", "[4], [2, 2], None, {'a': None}, True")),
    Case("bucket.given shape wins", bucketed("1, 2", "[4], [2, 2], None, {'a': ([3], 0)}, True")),
    Case("bucket.drop", bucketed("1, 5, 2, 6, 3, 9, 1, 4", "[3, 6], [2, 2, 2], None, {}, False, True")),
    Case("bucket.function", bucketed("1, 5, 2", "[3], [2, 2], lambda x: len(x), {}")),
    Case("bucket.function gives int32", bucketed("1, 5, 2", "[3], [2, 2], lambda x: np.int32(len(x)), {}")),
    Case(
        "bucket.function gives an array", bucketed("1, 5, 2", "[3], [2, 2], lambda x: np.array(len(x)), {}")
    ),
    Case("bucket.on the boundary", bucketed("2, 3, 2, 3", "[3], [2, 2], None, {}")),
    Case("bucket.rest in order", bucketed("9, 4, 1", "[3, 6], [5, 5, 5], None, {}")),
    Case("bucket.shape", bucketed("1, 2", "[3], [2, 2], None, {'a': ([5], 0)}")),
    Case(
        "bucket.two columns",
        f"rows({PAIR}.bucket_batch_by_length(['a', 'b'], [3], [2, 2], lambda a, b: len(a) + len(b), {{}}))",
    ),
    Case("bucket.other columns too", f"rows({PAIR}.bucket_batch_by_length(['b'], [2], [1, 1]))"),
    *table(
        "bucket",
        """
        unknown column | rows(num().bucket_batch_by_length(['q'], [3], [2, 2])) => q
    """,
    ),
    Case(
        "bucket.past the last boundary",
        bucketed("1, 2, 7", "[3], [2, 1], None, {'a': ([None], 9)}, True"),
        ("boundary",),
    ),
    Case(
        "bucket.negative length",
        bucketed("1, 2", "[3], [2, 2], lambda x: -1, {}"),
        (
            "element_length_function",
            "-1",
        ),
    ),
    Case(
        "bucket.function raises", bucketed("1, 2", "[3], [2, 2], lambda x: 1 / 0, {}"), ("division by zero",)
    ),
    Case(
        "bucket.scalars",
        "rows(num().bucket_batch_by_length(['a'], [3], [2, 2]))",
        ("a",),
        better="MindSpore crashes",
        raises=(ValueError, RuntimeError),
    ),
]
