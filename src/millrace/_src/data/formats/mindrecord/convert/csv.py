"""CSV to MindRecord."""

from __future__ import annotations

import math
import os
from typing import Any

from millrace._src.core.errors import ArgumentValueError, DataError
from millrace._src.core.public import public
from millrace._src.data.formats.csv.type_inference import infer_column_type, read_table
from millrace._src.data.formats.mindrecord.writer import MSRStatus

from .base import Converter, check_partitions, check_path, write_set

__all__ = ["CsvToMR"]

_TYPES = {"int64": "int64", "float64": "float64", "bool": "int32", "string": "string"}


@public("mindrecord")
class CsvToMR(Converter):
    """A CSV file whose first line names the columns; columns are int64, float64, int32 (bools) or string.

    >>> with open("t.csv", "w") as file:
    ...     _ = file.write("name,count,share\\nann,3,0.5\\nbob,4,1\\n")
    >>> _ = CsvToMR("t.csv", "t.mindrecord").transform()
    >>> from millrace.mindrecord import FileReader
    >>> next(FileReader("t.mindrecord").get_next())
    {'count': 3, 'name': 'ann', 'share': 0.5}
    """

    def __init__(
        self,
        source: str,
        destination: str,
        columns_list: list[str] | None = None,
        partition_number: int = 1,
    ) -> None:
        self.source = check_path(source, "source")
        if columns_list and not (
            isinstance(columns_list, list) and all(isinstance(name, str) for name in columns_list)
        ):
            raise ArgumentValueError("The parameter columns_list must be list of str.")
        self.columns_list = columns_list or None
        self.destination = check_path(destination, "destination")
        self.partition_number = check_partitions(partition_number)

    def run(self) -> MSRStatus:
        """Convert the file."""
        if not os.path.exists(self.source):
            raise DataError(f"Csv file {self.source} do not exist.", file=self.source)
        table = read_table(self.source)
        for name in self.columns_list or ():
            if name not in table:
                text = f"The parameter columns_list is illegal, column {name} does not exist."
                raise DataError(text, file=self.source)
        names = self.columns_list or list(table)
        for name in names:
            if name[:1].isdigit():
                raise ArgumentValueError(
                    f"The first line content: {name} of the CSV file is used as a column name and does not "
                    "allow starting with a number."
                )
        columns = {name: infer_column_type(table[name]) for name in names}
        schema: dict[str, Any] = {
            name: {"type": _TYPES[column_type]} for name, (column_type, _) in columns.items()
        }
        index = [
            n
            for n, (column_type, values) in columns.items()
            if column_type != "float64" or all(map(math.isfinite, values))
        ]
        rows: list[list[Any]] = [
            list(map(int, values)) if column_type == "bool" else values
            for column_type, values in columns.values()
        ]
        count = len(rows[0])
        records = (dict(zip(names, row)) for row in zip(*rows))
        return write_set(
            self.destination, schema, "csv_schema", records,
            index=index, shards=self.partition_number, page_size=1 << 26, total=count,
        )  # fmt: skip

    def transform(self) -> MSRStatus:
        """Convert the file."""
        return self.run()
