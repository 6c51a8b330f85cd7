"""Pipelines as people write them: several ops, several columns, one result."""

import numpy as np

from tests.parity.case import Case, each, table

PAIRS = "ds.GeneratorDataset(Indexed([(np.full((i + 1,), i), i % 2, f'r{i}') for i in range(6)]), \
['x', 'y', 'name'], shuffle=False)"
DICTS = "gen(Indexed([({'k': np.arange(2) + i, 'n': i}, i) for i in range(4)]), ['d', 'i'])"

CASES = [
    *table(
        "map",
        f"""
        two into one | rows(abc(3).map(lambda a, b: a + b, ['a', 'b'], ['sum']))
        one into three | columns(abc(2).map(lambda a: (a, a * 2, a * 3), ['a'], ['p', 'q', 'r']))
        list of ops | col(num(3).map([lambda x: x + 1, lambda x: x * 2, lambda x: x - 3]))
        ops widen and narrow | rows(num(3).map([lambda x: (x, x + 1), lambda x, y: x * y], ['a'], ['p']))
        tuple of ops | col(num(3).map((lambda x: x + 1, lambda x: x * 2)))
        keyword arguments | col(num(3).map(operations=lambda x: x + 1, input_columns='a', \
            num_parallel_workers=2, python_multiprocessing=False))
        method of an object | col(num(3).map(np.float32(2).__mul__))
        partial | import functools; result = col(num(3).map(functools.partial(pow, 2)))
        ufunc | col(num(3).map(np.square))
        callable object | col(num(3).map(type('Add', (), {{'__call__': lambda s, x: x + 5}})()))
        text | rows(gen(Indexed(['a b', 'c'])).map(lambda t: np.array(str(t).split(' '))))
        text to number | rows({PAIRS}.map(lambda t: int(str(t)[1:]), ['name']))
        text back | rows({PAIRS}.map(lambda t: str(t).upper(), ['name']).project(['name']))
        bytes to array | rows(gen(Indexed([b'abc', b'de'])).map(lambda b: np.frombuffer(b.item(), np.uint8)))
        dict column | rows({DICTS}.map(lambda d: d['k'] * 2, ['d'], ['k']))
        dict in and out | rows({DICTS}.map(lambda d: {{'k': d['k'] + 1, 'new': d['n']}}, ['d']))
        dict and number | rows({DICTS}.map(lambda d, i: d['k'] + i, ['d', 'i'], ['z']))
        float32 stays | rows(gen(Indexed([np.float32(1.5)])).map(lambda x: x * np.float32(2)))
        list of lists | rows(num(2).map(lambda x: [[int(x), 1], [2, 3]]))
        changes its input | d = abc(2).map(lambda a: a.__iadd__(100), ['a'], ['z']); result = [rows(d), \
            rows(d)]
        boolean | rows(num(3).map(lambda x: x > 1))
        python int | rows(num(2).map(lambda x: 7))
        zero-d array | rows(num(2).map(lambda x: np.array(7, np.int16)))
    """,
    ),
    *table(
        "batch",
        f"""
        then map | rows(num(5).batch(2).map(lambda x: x.sum()))
        map then batch | rows({PAIRS}.project(['y', 'name']).batch(4))
        text | rows({PAIRS}.project(['name']).batch(2, drop_remainder=True))
        bytes | rows(gen(Indexed([b'a', b'bcd', b''])).batch(3))
        twice | rows(num(7).batch(2).batch(2, drop_remainder=True))
        dict | rows({DICTS}.batch(2))
        dict with text | rows(gen(Indexed([{{'t': 'ab'}}, {{'t': 'c'}}])).batch(2))
        strided map | rows({PAIRS}.batch(2, per_batch_map=lambda x, y, n, i: \
            ([np.resize(v, 3) for v in x], y, n)))
        info | rows(num(5).batch(2, per_batch_map=lambda a, i: \
            ([v * 100 + i.get_batch_num() * 10 + i.get_epoch_num() for v in a],)))
        info in epochs | over(num(3).batch(2, per_batch_map=lambda a, i: \
            ([v * 100 + i.get_batch_num() * 10 + i.get_epoch_num() for v in a],)), 2)
        size by function | rows(num(6).batch(lambda info: info.get_batch_num() + 1))
        size by function drops | rows(num(5).batch(lambda info: info.get_batch_num() + 1, \
            drop_remainder=True))
        new columns | columns(abc(3).batch(3, per_batch_map=lambda a, b, i: (a, b, [x + y for x, y in \
            zip(a, b)]), \
            input_columns=['a', 'b'], output_columns=['a', 'b', 's']))
        fewer columns | columns(abc(2).batch(2, per_batch_map=lambda a, b, i: [x + y for x, y in zip(a, b)], \
            input_columns=['a', 'b'], output_columns=['s']).project(['s', 'c']))
        returns an array | rows(num(4).batch(2, per_batch_map=lambda a, i: np.stack(a) * 2))
        returns a tuple of arrays | rows(abc(2).batch(2, per_batch_map=lambda a, b, c, i: \
            (np.stack(a), np.stack(b), np.stack(c))))
        workers | rows(num(9).batch(2, num_parallel_workers=2, per_batch_map=lambda a, i: [x + 1 for x in a]))
        uint8 images | rows(gen(Indexed([np.full((2, 2, 3), i, np.uint8) for i in range(3)])).batch(2))
    """,
    ),
    *table(
        "pad",
        f"""
        to the largest | rows({PAIRS}.project(['x', 'y']).padded_batch(4, pad_info={{'x': ([None], -1)}}))
        to a shape | rows(long(1, 3, 2).padded_batch(2, pad_info={{'a': ([4], 9)}}))
        cut | rows(long(1, 3, 2).padded_batch(3, pad_info={{'a': ([2], 0)}}))
        everything | rows({PAIRS}.project(['x', 'y']).padded_batch(3, pad_info={{}}))
        drops | rows(long(1, 3, 2).padded_batch(2, drop_remainder=True, pad_info={{'a': ([None], 0)}}))
        texts | rows(gen(Indexed([np.array(['a']), np.array(['bb', 'c'])])).padded_batch(2, \
            pad_info={{'a': ([3], '<pad>')}}))
        floats | rows(gen(Indexed([np.ones((i + 1, 2), np.float32) for i in range(2)])).padded_batch(2, \
            pad_info={{'a': ([None, 3], 0.5)}}))
        buckets | rows(long(1, 5, 2, 6, 3, 7).bucket_batch_by_length(['a'], [3, 6], [2, 2, 2]))
        buckets by function | rows({PAIRS}.project(['x', 'y']).bucket_batch_by_length(['y'], [1], [2, 2], \
            lambda y: int(y), {{'x': ([6], 0)}}))
        buckets by two | rows({PAIRS}.project(['x', 'y']).bucket_batch_by_length(['x', 'y'], [3, 6], \
            [2, 2, 2], lambda x, y: len(x) + int(y), {{'x': ([None], 7)}}))
        buckets drop | rows(long(1, 5, 2, 6, 3).bucket_batch_by_length(['a'], [3, 6], [2, 2, 2], \
            drop_remainder=True))
        bucket to boundary | rows(long(1, 2, 4).bucket_batch_by_length(['a'], [3, 5], [2, 1, 1], None, \
            {{'a': ([None], 0)}}, True))
    """,
    ),
    *table(
        "chain",
        """
        all of them | sized(num(20).filter(lambda a: a % 2 == 0).map(lambda x: x + \
            1).skip(1).take(8).repeat(2) \
            .batch(3))
        rename and project | columns(abc(2).rename(['a', 'c'], ['x', 'z']).project(['z', 'x']))
        rename in place | abc().rename('b', 'q').get_col_names()
        swap | columns(abc(1).rename(['a', 'b'], ['b', 'a']))
        zip | columns(ds.zip((abc(3), num(5).rename('a', 'z'), num(4).rename('a', 'y'))))
        zip method | columns(num(2).zip(abc(3).project('b')))
        zip of batches | rows(num(4).batch(2).zip(num(6).rename('a', 'z').batch(3)))
        concat of maps | sized(num(2).map(lambda x: x + 10) + num(2) + num(1))
        concat then batch | sized((num(3) + num(4)).batch(2))
        concat then repeat | sized((num(1) + num(2)).repeat(2))
        concat text | rows(gen(Indexed(['a'])) + gen(Indexed(['bcd'])))
        repeat then batch | sized(num(3).repeat(3).batch(2))
        batch then repeat | sized(num(3).batch(2).repeat(2))
        repeat twice | sized(num(2).repeat(2).repeat(2))
        take of repeat | sized(num(3).repeat(2).take(4))
        skip of batch | sized(num(7).batch(2).skip(1))
        skip all | sized(num(3).skip(3))
        filter two columns | rows(abc(4).filter(lambda a, c: a + c > 7, ['a', 'c']))
        filter text | rows(gen(Indexed(['ab', 'c'])).filter(lambda t: len(str(t)) == 1))
        filter everything | sized(num(3).filter(lambda a: False))
        filter then count | len(num(10).filter(lambda a: a > 3).batch(4))
        apply | sized(num(6).apply(lambda d: d.batch(2).repeat(2)))
        split and go on | [sized(d.map(lambda x: x * 2).batch(2)) for d in num(7).split([4, 3], False)]
        shuffle keeps rows | sorted(col(num(30).shuffle(7)))
        shuffle after batch | sorted(map(tuple, col(num(6).batch(2).shuffle(3))))
        seeded shuffle twice | ds.config.set_seed(5); result = col(num(30).shuffle(30)) == \
            col(num(30).shuffle(30))
        epochs differ | ds.config.set_seed(5); a, b = over(num(30).shuffle(30), 2); result = a != b
        two iterators | d = num(3); a, b = d.create_dict_iterator(1, True), d.create_dict_iterator(1, True); \
            result = [next(a), next(b), next(a), next(b)]
        half an epoch | i = num(4).create_dict_iterator(2, True); next(i); result = [[r['a'].item() for r \
            in i], \
            [r['a'].item() for r in i]]
        infinite | import itertools; i = num(2).create_dict_iterator(output_numpy=True); \
            result = [[r['a'].item() for r in i] for _ in range(3)]
        shapes | d = abc(5).batch(2); result = [d.output_shapes(), d.output_types(), d.get_batch_size(), \
            len(d)]
        shapes of text | d = gen(Indexed(['a', 'bc'])).batch(2); result = [d.output_shapes(), \
            d.output_types()]
        shapes of map | d = num(4).map(lambda x: np.zeros((2, 3), np.float32)); \
            result = [d.output_shapes(), d.output_types(), d.get_col_names()]
        estimate | long(1, 2, 3).output_shapes(True)
    """,
    ),
    *table(
        "source",
        """
        list of tuples | rows(gen([(1, 'a'), (2, 'b')], ['n', 't']))
        list of arrays | rows(gen([np.zeros(2), np.ones(2)]))
        list of lists | rows(gen([[1, 2], [3, 4]], ['a', 'b']))
        generator function | rows(ds.GeneratorDataset(lambda: ((i, i * i) for i in range(3)), ['a', 'b']))
        yield function | rows(ds.GeneratorDataset(lambda: iter([(np.arange(2),)]), ['a']))
        iterable | rows(ds.GeneratorDataset(Stream([1, 2, 3]), ['a']))
        iterable twice | d = ds.GeneratorDataset(Stream([1, 2, 3]), ['a']); result = [col(d), col(d)]
        iterable epochs | over(ds.GeneratorDataset(Stream([1, 2, 3]), ['a']), 2)
        iterable samples | sized(ds.GeneratorDataset(Stream([1, 2, 3]), ['a'], num_samples=2))
        iterator | col(ds.GeneratorDataset(iter([1, 2, 3]), ['a']))
        iterable batched | sized(ds.GeneratorDataset(Stream(range(5)), ['a']).batch(2))
        one column by name | rows(ds.GeneratorDataset([1, 2], 'a', shuffle=False))
        column types | rows(ds.GeneratorDataset([np.int32(1)], ['a'], [ms.int32]))
        sampler list | sized(gen([10, 11, 12, 13], shuffle=None, sampler=[3, 1]))
        sampler range | sized(gen([10, 11, 12, 13], shuffle=None, sampler=range(3, 0, -1)))
        sampler array | sized(gen([10, 11, 12, 13], shuffle=None, sampler=np.array([2, 2])))
        sampler subset | sized(gen([10, 11, 12, 13], shuffle=None, sampler=ds.SubsetSampler([0, 3])))
        workers | sized(gen(list(range(20)), num_parallel_workers=2, python_multiprocessing=False))
        processes | sized(gen(Indexed(list(range(20))), num_parallel_workers=2))
        shards | [sized(gen(list(range(5)), num_shards=2, shard_id=k)) for k in range(2)]
        indexing | [gen([5, 6, 7])[1], gen([(5, 'x')], ['a', 'b'])[0], len(gen([5, 6, 7]))]
        batch sampler | rows(ds.GeneratorDataset([1, 2, 3, 4, 5], ['a'], batch_sampler=[[0, 2], [4], [1, 3]]))
        batch sampler size | d = ds.GeneratorDataset([1, 2, 3], ['a'], batch_sampler=[[0, 2], [1]]); \
            result = [len(d), d.get_batch_size(), d.output_shapes(), d.get_col_names()]
        batch sampler columns | rows(ds.GeneratorDataset([(1, 10), (2, 20)], ['a', 'b'], \
            batch_sampler=[[1, 0]]))
        collate | rows(ds.GeneratorDataset([1, 2, 3], ['a'], batch_sampler=[[0, 2], [1]], \
            collate_fn=lambda a: np.stack(a) * 2))
        collate columns | rows(ds.GeneratorDataset([(1, 10), (2, 20)], ['a', 'b'], batch_sampler=[[1, 0]], \
            collate_fn=lambda a, b: (np.stack(a), np.stack(b) + 1)))
        collate pads | rows(ds.GeneratorDataset([np.ones(1), np.ones(3)], ['a'], batch_sampler=[[0, 1]], \
            collate_fn=lambda a: [np.pad(v, (0, 3 - len(v))) for v in a]))
        numpy dict | columns(ds.NumpySlicesDataset({'x': np.eye(2), 'y': [0, 1]}, shuffle=False))
        numpy tuple | columns(ds.NumpySlicesDataset((np.eye(2), [0, 1]), ['p', 'q'], shuffle=False))
        numpy text | columns(ds.NumpySlicesDataset({'t': ['a', 'bcd']}, shuffle=False))
        numpy texts | columns(ds.NumpySlicesDataset([['a', 'bcd'], ['e', 'f']], shuffle=False))
        numpy bytes | columns(ds.NumpySlicesDataset([b'a', b'bcd'], shuffle=False))
        numpy bools | columns(ds.NumpySlicesDataset([True, False], shuffle=False))
        numpy dicts | rows(ds.NumpySlicesDataset([{'k': 1}, {'k': 2}], shuffle=False))
        numpy shard | sized(ds.NumpySlicesDataset(np.arange(7), ['a'], shuffle=False, num_shards=3, \
            shard_id=2))
        numpy item | list(map(int, ds.NumpySlicesDataset({'x': [1, 2], 'y': [3, 4]}, shuffle=False)[1]))
        padded | sized(num(3) + ds.PaddedDataset([{'a': np.int64(7)}, {'a': np.int64(8)}]))
        padded dicts | columns(ds.PaddedDataset([{'a': np.zeros(1), 'b': 'x'}, {'a': np.ones(2), 'b': 'yy'}]))
    """,
    ),
    Case(
        "source.iterator epochs",
        "over(ds.GeneratorDataset(iter([1, 2, 3]), ['a']), 2)",
        better="MindSpore gives rows in the first epoch only, and says nothing",
        want=[[1, 2, 3], [1, 2, 3]],
    ),
    Case(
        "source.numpy mixed",
        "rows(ds.NumpySlicesDataset([1, 2.5], shuffle=False))",
        better="a column has one type, or batching it would fail",
        want=[{"column_0": np.array(1.0)}, {"column_0": np.array(2.5)}],
    ),
    Case(
        "sync.updates",
        """
class Scale:
    by = 1
    def update(self, data): self.by = data
    def work(self, x): return x * self.by
s = Scale()
d = num(4).sync_wait('step', 1, s.update).map(s.work, num_parallel_workers=1)
seen = []
for k, row in enumerate(d.create_dict_iterator(num_epochs=1, output_numpy=True)):
    seen.append(row['a'].item())
    d.sync_update('step', data=k + 10)
result = seen
""",
    ),
    Case(
        "torch.dataset",
        """
class Data:
    def __init__(self): self.x = np.arange(12).reshape(6, 2).astype(np.float32)
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i], i % 3
d = ds.GeneratorDataset(Data(), ['x', 'y'], shuffle=False).batch(4, drop_remainder=True)
result = columns(d)
""",
    ),
    *each(
        "types",
        "rows(gen(Indexed([np.array([1, 2], np.{})])))",
        "int8; int16; int32; uint8; uint16; uint32; uint64; float16; float32; float64; bool_",
    ),
]
