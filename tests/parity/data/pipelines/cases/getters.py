"""What a dataset says of itself without being iterated: sizes, shapes, types, columns; and its JSON form."""

from tests.parity.case import Case, each, table

PIPELINES = [
    "num(5)",
    "num(5).batch(2)",
    "num(5).batch(2, True)",
    "num(5).repeat(3)",
    "num(5).take(3)",
    "num(5).take(9)",
    "num(5).skip(2)",
    "num(5).skip(9)",
    "num(5).zip(num(3).rename('a', 'b'))",
    "num(5) + num(3)",
    "num(5).filter(lambda a: a > 2)",
    "num(5).shuffle(2)",
    "num(5).map(lambda x: np.zeros((2, 3), np.float32))",
    "num(5).padded_batch(2)",
    "num(5).batch(lambda i: 3)",
    "abc().project(['c'])",
    "abc().rename(['a'], ['z'])",
    "num(5).batch(9)",
    "num(5).repeat(2).batch(2)",
    "num(5).batch(2).repeat(2)",
    "num(5).batch(2).batch(2)",
    "long(1, 5, 2).bucket_batch_by_length(['a'], [3], [2, 2])",
    "gen(Stream([1, 2, 3]))",
    "num(9, num_shards=2, shard_id=0)",
    "num(5).sync_wait('x')",
    "gen([('ab', b'c', True)], ['a', 'b', 'c'])",
    "one({'k': 1})",
    "num(5).flat_map(lambda x: num(2))",
]

RAGGED = "gen([(np.ones((i + 1, 2)), i) for i in range(3)], ['a', 'b'])"

CASES = [
    *[
        Case(f"{method}.{code}", f"({code}).{method}()")
        for code in PIPELINES
        for method in (
            "get_dataset_size",
            "output_shapes",
            "output_types",
            "get_col_names",
            "get_batch_size",
            "get_repeat_count",
        )
    ],
    *each("size of forever", "num(3).repeat().{}get_dataset_size()", ["", "batch(2).", "skip(2)."]),
    *table(
        "shapes",
        """
        estimate of batches | num(5).batch(2).output_shapes(estimate=True)
        estimate of even batches | num(4).batch(2).output_shapes(estimate=True)
    """,
    ),
    Case("shapes.estimate", f"{RAGGED}.output_shapes(estimate=True)"),
    Case("shapes.first row", f"{RAGGED}.output_shapes()"),
    *table(
        "asked",
        """
        len | len(num(5).batch(2))
        num_classes | [num().num_classes(), num().batch(2).num_classes()]
        class indexing | [num().get_class_indexing(), num().batch(2).get_class_indexing()]
        input_indexs | [num().input_indexs, num().batch(2).input_indexs]
        input_indexs set | d = num(); d.input_indexs = (1,); result = d.batch(2).input_indexs
        repeat counts | [d.get_repeat_count() for d in (num(), num().repeat(3), num().repeat(3).repeat(2), \
            num().repeat(), num().repeat(2).batch(2), num().repeat(2).repeat())]
        copy_batch_size | d = num(); d.copy_batch_size(7); result = d.get_batch_size()
        init step | d = num(); d.set_init_step(2); result = [d.get_init_step(), d.batch(2).get_init_step(), \
            num().get_init_step()]
        reset | num().reset()
        is_sync | [num().is_sync(), num().sync_wait('x').batch(2).is_sync()]
        notifiers | [list(num().get_sync_notifiers()), \
            list(num().sync_wait('x').sync_wait('y').batch(2).get_sync_notifiers())]
        size is known after a pass | d = num(5).filter(lambda a: a > 2); rows(d); result = \
            d.get_dataset_size()
    """,
    ),
    Case(
        "asked.disable_sync",
        "num().disable_sync()",
        better="MindSpore's empty dict means nothing: there is nothing to give back",
        want=None,
    ),
    *table(
        "json",
        """
        ops | ops(num(3).map(abs).batch(2).repeat(2).shuffle(4).take(2).skip(1) \
            .project(['a']).rename(['a'], ['b']).to_json())
        tree | ops((num(3) + num(2)).zip(num(2).rename('a', 'b').filter(lambda b: True)).to_json())
        batch | own(num(3).batch(2, True).to_json())
        padded | num(3).padded_batch(2).to_json()['op_type']
        bucket | num(3).bucket_batch_by_length(['a'], [3], [2, 2]).to_json()['op_type']
        repeat | own(num(3).repeat(2).to_json())
        repeat forever | num(3).repeat().to_json()['count']
        take | own(num(3).take(2).to_json())
        skip | own(num(3).skip(2).to_json())
        shuffle | own(num(3).shuffle(2).to_json())
        project | own(num(3).project(['a']).to_json())
        rename | own(num(3).rename('a', 'b').to_json())
        map | own(abc().map(abs, ['b'], ['z']).to_json())
        filter | own(num().filter(abs, ['a']).to_json())
        sync | num().sync_wait('x').to_json()['op_type']
        random | ds.RandomDataset(3).to_json()['op_type']
        file | path = str(folder / 'plan.json'); d = num(3).batch(2).to_json(path); result = \
            json.load(open(path)) == d
        serialize | path = str(folder / 'plan2.json'); d = ds.serialize(num(3), path); result = [d == \
            num(3).to_json(), json.load(open(path)) == d]
        compare | [ds.compare(num(2), num(2)), ds.compare(num(2), num(2).take(1)), \
            ds.compare(num(2).take(1), num(2).take(2))]
        show | ds.show(num(2), 4)
    """,
    ),
    *table(
        "schema",
        """
        json | s = ds.Schema(); s.add_column('a', 'int32', [2]); s.add_column('b', 'float32'); \
            s.add_column('c', 'string', []); result = s.to_json()
        str | s = ds.Schema(); s.add_column('a', 'int32', [2]); result = [str(s) == s.to_json(), \
            json.loads(str(s))]
        unknown dimension | s = ds.Schema(); s.add_column('a', 'int32', [-1, 3]); result = s.to_json()
        twice | s = ds.Schema(); s.add_column('a', 'int8'); s.add_column('a', 'int16'); result = \
            json.loads(s.to_json())
        columns as list | s = ds.Schema(); s.parse_columns([{'name': 'a', 'type': 'int8', 'shape': [3, \
            2]}]); result = s.to_json()
        columns as dict | s = ds.Schema(); s.parse_columns({'a': {'type': 'int8', 'shape': [3, 2]}, 'b': \
            {'type': 'bool'}}); result = s.to_json()
        from json | s = ds.Schema(); s.from_json({'datasetType': 'T', 'numRows': 3, 'columns': {'a': \
            {'type': 'int8', 'rank': 1}}}); result = [s.to_json(), ds.Schema.get_num_rows(s)]
        from json list | s = ds.Schema(); s.from_json({'numRows': 3, 'columns': [{'name': 'a', 'type': \
            'int8', 'shape': [2]}]}); result = s.to_json()
        empty | [ds.Schema().to_json(), ds.Schema.get_num_rows(ds.Schema())]
        types | s = ds.Schema(); \
            [s.add_column(t, t, [1]) for t in 'bool int8 int16 int32 int64 uint8 float64'.split()]; \
            result = s.to_json()
        more types | s = ds.Schema(); \
            [s.add_column(t, t, [1]) for t in 'uint16 uint32 uint64 float16 float32 string'.split()]; \
            result = s.to_json()
        mindspore types | s = ds.Schema(); s.add_column('a', ms.int32); s.add_column('b', ms.float16, [1]); \
            result = s.to_json()
    """,
    ),
    Case(
        "schema.file",
        """
path = folder / 'schema.json'
columns = {'a': {'type': 'int64', 'rank': 1, 'shape': [2]}}
path.write_text(json.dumps({'datasetType': 'TF', 'numRows': 4, 'columns': columns}))
s = ds.Schema(str(path))
result = [s.to_json(), ds.Schema.get_num_rows(str(path))]
""",
    ),
]
