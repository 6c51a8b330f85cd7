"""What schemas, callbacks, hooks and the device queue say about wrong arguments."""

from tests.parity.case import Case, each, table

CASES = [
    *each(
        "schema.add_column",
        "ds.Schema().add_column({})",
        """
        1, 'int32'
        '', 'int32'
        'a', 'foo'
        'a', None
        'a', 3
        'a', np.int32
        'a', 'int32', 3
        'a', 'int32', (1,)
        'a', 'int32', ['x']
        'a', 'int32', [1.5]
        'a', 'int32', [True]
    """,
    ),
    *each("schema.file", "ds.Schema({})", "'/no/such/file'; 1; '/tmp/a?b'"),
    *table(
        "schema",
        """
        no name | ds.Schema().parse_columns([{'type': 'int8'}]) => name
        no type | ds.Schema().parse_columns([{'name': 'a'}]) => type
        not columns | ds.Schema().parse_columns(3) => columns
        from_json | ds.Schema().from_json({'x': 1}) => columns
    """,
    ),
    *each("callback.step_size", "ds.DSCallback({})", "0; -1; '1'; 1.0; True; None; 2**31"),
    *each("waited.step_size", "ds.WaitedDSCallback({})", "1; 2"),
    Case("hook.abstract", "ds.debug.DebugHook()", ("compute",)),
    *table(
        "device_que",
        """
        dict | num().device_que().create_dict_iterator()
        tuple | num().device_que().create_tuple_iterator()
        iter | iter(num().device_que())
        shapes | num().device_que().output_shapes()
        types | num().device_que().output_types()
        info | num().device_que().get_data_info()
        queue size | num().device_que().get_mbuf_queue_size()
        send info | num().device_que().get_send_info()
        name | num().device_que(queue_name='z').queue_name
    """,
    ),
    *each("device_que.send", "num().device_que().send({})", "-2; '1'; 1.5; True; 2**31"),
    *table(
        "deserialize",
        """
        missing file | rows(ds.deserialize(json_filepath='/no/such/file')) => /no/such/file
    """,
    ),
    Case("deserialize.nothing", "ds.deserialize()"),
    *each(
        "cache",
        "ds.DatasetCache({})",
        """
        '1'
        -1
        None
        2**32
        1, size='1'
        1, size=-1
        1, spilling=1
        1, hostname=3
        1, port='1'
        1, port=80
        1, port=65536
        1, num_connections='1'
        1, num_connections=0
        1, prefetch_size=0
        1, prefetch_size='1'
    """,
    ),
]
