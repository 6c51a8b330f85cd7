"""What schemas, callbacks and hooks say about wrong arguments."""

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
        "deserialize",
        """
        missing file | rows(ds.deserialize(json_filepath='/no/such/file')) => /no/such/file
    """,
    ),
    Case("deserialize.nothing", "ds.deserialize()"),
]
