"""What the methods of Dataset say about wrong arguments."""

from tests.parity.case import Case, each, table

NUMBERS = "'1'; 1.5; True; None; [1]"

FLAGS = "1; 'x'; None; [True]"

COLUMNS = "3; []; ''; ['']; [1]; ('a',); ['a', 'a']; {'a': 1}; ['a', '']; [['a']]; b'a'"

WORKERS = {
    "better": "Q27: more workers than cores are allowed, so the interval in MindSpore's text does not hold",
    "raises": (ValueError,),
    "words": ("num_parallel_workers",),
}

FEW = "'1'; 1.0; True; [2]"


def workers(name: str, template: str) -> list[Case]:
    return each(f"{name}.workers", template, FEW) + each(f"{name}.workers", template, ["0", "-1"], **WORKERS)


BATCH = [
    *each("batch.batch_size", "num().batch({})", "'2'; 2.0; None; 0; -2; 2**31; [2]; True; np.int64(2)"),
    *each("batch.callable", "num().batch({})", "lambda: 1; lambda a, b: 1"),
    *each("batch.drop_remainder", "num().batch(2, {})", FLAGS),
    *workers("batch", "num().batch(2, num_parallel_workers={})"),
    *each("batch.input_columns", "num().batch(2, per_batch_map=lambda a, i: a, input_columns={})", COLUMNS),
    *each("batch.output_columns", "num().batch(2, per_batch_map=lambda a, i: a, output_columns={})", COLUMNS),
    *each("batch.python_multiprocessing", "num().batch(2, python_multiprocessing={})", "1; 'x'"),
    *each(
        "batch.max_rowsize",
        "num().batch(2, max_rowsize={})",
        "'1'; -2; 2**31; [1]; [1, -2]; [1, '2']; 1.5; True; (1, 2); [1, 2, 3]",
    ),
    *table(
        "batch",
        """
        columns without map | num().batch(2, input_columns=['a'])
        output columns without map | num().batch(2, output_columns=['a'])
        map takes too few | num().batch(2, per_batch_map=lambda i: i, input_columns=['a'])
        map takes too many | num().batch(2, per_batch_map=lambda a, b, i: a, input_columns=['a'])
    """,
    ),
    *table(
        "batch",
        """
        no size | num().batch() => batch_size
        unknown | num().batch(2, foo=1) => foo
        minus one | rows(num().batch(-1)) => batch
    """,
    ),
    *each("padded_batch.batch_size", "num().padded_batch({})", "'2'; 2.0; None; 0; -1; 2**31"),
    *each("padded_batch.callable", "num().padded_batch({})", "lambda a, b: 1"),
    *each("padded_batch.drop_remainder", "num().padded_batch(2, {})", FLAGS),
    *workers("padded_batch", "num().padded_batch(2, num_parallel_workers={})"),
    *each(
        "padded_batch.pad_info",
        "num().padded_batch(2, pad_info={})",
        """
        [1]
        'a'
        {1: None}
        {'a': ([1], 2, 3)}
        {'a': [[1], 2]}
        {'a': ((1,), 2)}
        {'a': ([0], 2)}
        {'a': (['x'], 2)}
        {'a': ([1], [2])}
        {'a': ([True], 2)}
        {'a': ([2**31], 2)}
        {'a': ([1], True)}
        {'a': (1, 2)}
        {'a': 'xy'}
    """,
    ),
    Case("padded_batch.pad_info.number", "num().padded_batch(2, pad_info={'a': 3})", ("int",)),
]

BUCKET = [
    *each(
        "bucket",
        "num().bucket_batch_by_length({})",
        """
        'a', [3], [2, 2]
        ['a'], 3, [2, 2]
        ['a'], [3], 2
        ['a'], [], [2]
        ['a'], [3.0], [2, 2]
        ['a'], [0], [2, 2]
        ['a'], [-3], [2, 2]
        ['a'], [3, 3], [2, 2, 2]
        ['a'], [5, 3], [2, 2, 2]
        ['a'], [3], [2]
        ['a'], [3], [2, 2, 2]
        ['a'], [3], [2, 0]
        ['a'], [3], [2, '1']
        ['a', 'b'], [3], [2, 2]
        [], [3], [2, 2]
        [''], [3], [2, 2]
        [1], [3], [2, 2]
        ['a', 'a'], [3], [2, 2]
        None, [3], [2, 2]
        ['a'], None, [2, 2]
        ['a'], [3], None
        ['a'], [True], [2, 2]
    """,
    ),
    *each("bucket.function", "num().bucket_batch_by_length(['a'], [3], [2, 2], {})", "3; 'f'"),
    *each(
        "bucket.pad_info",
        "num().bucket_batch_by_length(['a'], [3], [2, 2], None, {})",
        "3; {1: None}; {'a': ([0], 1)}",
    ),
    *each(
        "bucket.boundary",
        "num().bucket_batch_by_length(['a'], [3], [2, 2], pad_to_bucket_boundary={})",
        FLAGS,
    ),
    *each(
        "bucket.drop_remainder", "num().bucket_batch_by_length(['a'], [3], [2, 2], drop_remainder={})", FLAGS
    ),
]

MAP = [
    *each("map.operations", "num().map({}, ['a'])", "int; 3; 'f'; [3]; [abs, int]"),
    *each("map.input_columns", "num().map(abs, {})", COLUMNS),
    *each("map.output_columns", "num().map(abs, ['a'], {})", COLUMNS),
    *each("map.python_multiprocessing", "num().map(abs, python_multiprocessing={})", FLAGS),
    *each("map.callbacks", "num().map(abs, callbacks={})", "1; [1]; (1,); 'x'; [ds.DSCallback(), 1]"),
    *each("map.offload", "num().map(abs, offload={})", "1; 'x'"),
    *each("map.max_rowsize", "num().map(abs, max_rowsize={})", "'1'; -2; [1]; [1, -2]; 2**31"),
    *workers("map", "num().map(abs, num_parallel_workers={})"),
    *table(
        "map",
        """
        unknown | num().map(abs, foo=1) => foo
        column_order | num().map(abs, ['a'], column_order=['a']) => column_order, project
        no operations | rows(num().map([], ['a'])) => operations
        nothing | rows(num().map(None, ['a'])) => operations
        missing | num().map() => operations
    """,
    ),
    Case("map.callback without methods", "rows(num().map(abs, callbacks=ds.DSCallback()))"),
    *each("filter.predicate", "num().filter({})", "3; None; 'x'"),
    *each("filter.input_columns", "num().filter(abs, {})", COLUMNS),
    *workers("filter", "num().filter(abs, num_parallel_workers={})"),
    *each("flat_map.func", "num().flat_map({})", "3; None"),
    # flat_map is lazy: a wrong result is found when it is iterated, and not before
    *each("flat_map.result", "rows(num().flat_map({}))", "lambda a: 3; lambda a: None"),
]

SIMPLE = [
    *each("repeat.count", "num().repeat({})", "'1'; 1.0; True; [1]; 0; -2; 2**31"),
    *each("take.count", "num().take({})", NUMBERS + "; 0; -2; 2**31"),
    *each("skip.count", "num().skip({})", NUMBERS + "; -1; 2**31"),
    *each("shuffle.buffer_size", "num().shuffle({})", NUMBERS + "; 1; 0; -1; 2**31"),
    *each("project.columns", "num().project({})", COLUMNS + "; None"),
    *each("rename.input_columns", "num().rename({}, ['z'])", COLUMNS + "; None"),
    *each("rename.output_columns", "num().rename(['a'], {})", COLUMNS + "; None"),
    *each("rename", "abc().rename({})", "['a'], ['x', 'y']; 'a', ['x', 'y']; ['a', 'b'], 'x'"),
    *each("concat.datasets", "num().concat({})", "3; None; [3]; 'x'; [num(), 3]"),
    Case("concat.tuple", "num().concat((num(),))", ("datasets", "is not of type [<class 'list'>, ")),
    Case("concat.add", "num() + 3"),
    *each("zip.datasets", "ds.zip({})", "3; None; (); (num(),); (num(), 3); (3, num())"),
    Case("zip.list", "ds.zip([num(), num()])", ("datasets", "is not of type [<class 'tuple'>]")),
    *each("zip.method", "num().zip({})", "3; None; 'x'"),
    *each("apply.apply_func", "num().apply({})", "3; None; lambda d: 3; lambda d: None"),
    *each(
        "split.sizes",
        "num().split({})",
        """
        []
        (2, 3)
        5
        None
        [2, 2]
        [2, 0.5]
        [6, -1]
        [0, 5]
        [1.5, -.5]
        [.5, .4]
        ['2', '3']
        [0.999, 0.001]
        [5, 5]
    """,
    ),
    *each("split.randomize", "num().split([2, 3], {})", FLAGS),
    *table(
        "split",
        """
        sharded | num(num_shards=2, shard_id=0).split([1, 2])
        does not add up | num(6).split([.25, .25, .25, .25])
    """,
    ),
    *each("output_shapes.estimate", "num().output_shapes({})", FLAGS),
    *each("save.file_name", "num().save({})", "1; b'x'; ['x']"),
    *each("save.num_files", "num().save('x', {})", "'1'; 1.5; 0; -1; 1001; True"),
    *each("save.file_type", "num().save('x', 1, {})", "'csv'; 3; ''"),
    *each("sync_wait.condition_name", "num().sync_wait({})", "1; None"),
    *each("sync_wait.num_batch", "num().sync_wait('x', {})", "'1'; 1.5; 0; -1; None"),
    *each(
        "sync_update", "num().sync_wait('x').sync_update({})", "1; 'y'; 'x', 0; 'x', -1; 'x', 1.5; 'x', '1'"
    ),
    *table(
        "sync",
        """
        same name | num().sync_wait('x').sync_wait('x')
        shuffle after | num().sync_wait('x').shuffle(3)
        no wait | num().sync_update('x')
    """,
    ),
    *each("use_sampler", "num().use_sampler({})", "None; 3; [1]; 'x'"),
    *each(
        "concat.use_sampler",
        "(num() + num()).use_sampler({})",
        """
        ds.RandomSampler(True)
        ds.RandomSampler(num_samples=1)
        ds.DistributedSampler(2, 0)
        ds.DistributedSampler(2, 0, False, 1)
        ds.DistributedSampler(0, 0, False)
    """,
    ),
    *each(
        "concat.use_sampler",
        "(num() + num()).use_sampler({})",
        "ds.SequentialSampler(); 3",
        words=("DistributedSampler", "RandomSampler"),
    ),
    Case(
        "concat.use_sampler.child",
        "(num(num_samples=2) + num()).use_sampler(ds.DistributedSampler(2, 0, False))",
        ("num", "samples"),
    ),
]

ITERATORS = [
    *each(
        "dict_iterator.num_epochs", "num().create_dict_iterator(num_epochs={})", "'1'; 1.5; True; -2; 2**31"
    ),
    *each("dict_iterator.output_numpy", "num().create_dict_iterator(output_numpy={})", "1; 'x'"),
    *each("dict_iterator.do_copy", "num().create_dict_iterator(do_copy={})", "1; 'x'"),
    Case("dict_iterator.unknown", "num().create_dict_iterator(foo=1)", ("foo",)),
    Case("dict_iterator.num_epochs=0", "num().create_dict_iterator(num_epochs=0)", ("num_epochs",)),
    *each(
        "tuple_iterator.num_epochs", "num().create_tuple_iterator(num_epochs={})", "'1'; 1.5; True; -2; 2**31"
    ),
    *each("tuple_iterator.columns", "num().create_tuple_iterator({})", COLUMNS),
    *each("tuple_iterator.output_numpy", "num().create_tuple_iterator(output_numpy={})", "1; 'x'"),
    *each("tuple_iterator.do_copy", "num().create_tuple_iterator(do_copy={})", "1; 'x'"),
]

CASES = [*BATCH, *BUCKET, *MAP, *SIMPLE, *ITERATORS]
