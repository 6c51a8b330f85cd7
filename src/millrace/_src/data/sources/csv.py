"""``CSVDataset``: records of CSV files."""

from __future__ import annotations

from typing import Annotated, Any, Unpack

from millrace._src.core.args import check_type
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.core.values.schema import ColumnType
from millrace._src.data.formats.csv.records import CsvFormat, read_header
from millrace._src.data.sources.base.common_arguments import TextOptions, with_common_arguments

from .base.file_checks import IsFiles
from .base.indexed_files import IndexedFilesDataset, find_files
from .base.table_dataset import INT32, TEXT, column_type

__all__ = ["CSVDataset"]

COLUMN_TYPES: dict[type, ColumnType] = {int: INT32, float: column_type("float32"), str: TEXT}


@public("dataset")
class CSVDataset(IndexedFilesDataset):
    """Records of CSV files, in any order.

    Without ``column_names`` the first line of each file names the columns. ``column_defaults`` has an
    example value per column: an int selects int32, a float float32, a str text. Without it, all columns are text.

    >>> with open("t.csv", "w") as file:
    ...     _ = file.write('n,name\\n1,"red, or so"\\n2,blue\\n')
    >>> data = CSVDataset("t.csv", column_defaults=[0, ""], shuffle=False)
    >>> [row["name"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['red, or so', 'blue']
    """

    @with_common_arguments(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self,
        dataset_files: Annotated[Any, IsFiles()],
        field_delim: str | None = ",",
        column_defaults: Any = None,
        column_names: Any = None,
        *_: Any,
        **shared: Unpack[TextOptions],
    ) -> None:
        field_delim = "," if field_delim is None else field_delim
        if field_delim in ('"', "\r", "\n", "") or len(field_delim) > 1:
            raise ArgumentValueError("field_delim is invalid.")
        types = _types(column_defaults)
        dataset_files = sorted(find_files(dataset_files))
        names = _names(column_names) or read_header(dataset_files[0], field_delim)
        if len(types) > len(names):
            raise PlanError(
                f"CSVDataset: column_defaults has {len(types)} values, but there are {len(names)} columns: {names}"
            )
        types += [str] * (len(names) - len(types))
        form = CsvFormat(names, types, field_delim, skip=0 if column_names else 1)
        columns = {name: COLUMN_TYPES[type_] for name, type_ in zip(names, types)}
        if len(columns) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise PlanError(
                "CSVDataset: 'column_names' : Invalid parameter, duplicate column names are not allowed: "
                f"{twice} ({dataset_files[0]})"
            )
        self._open_each(dataset_files, form, columns, locals(), shared)


def _types(defaults: Any) -> list[type]:
    if defaults is None:
        return []
    if not isinstance(defaults, list):
        raise ArgumentTypeError("column_defaults should be type of list.")
    for item in defaults:
        if not isinstance(item, (str, int, float)):
            raise ArgumentTypeError("column type in column_defaults is invalid.")
    return [str if isinstance(d, str) else float if isinstance(d, float) else int for d in defaults]


def _names(names: Any) -> list[str]:
    if names is None:
        return []
    if not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError("column_names should be a list of str.")
    check_type(names, (list, tuple), "column_names")
    return list(names)
