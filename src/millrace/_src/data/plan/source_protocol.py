"""What the plan and the engine ask of a source of rows. Sources implement these; neither imports a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column
from millrace._src.core.values.schema import Schema

__all__ = ["Reader", "RowStream", "Source"]


class Reader(Protocol):
    """An open random-access source. Re-opened in each worker process, shared by the threads of one process."""

    def read(self, indices: Indices) -> Mapping[str, Column]:
        """The rows at these indices, as columns that belong to the caller."""

    def close(self) -> None: ...


class RowStream(Protocol):
    """An open one-pass source."""

    def rows(self, epoch: int) -> Iterator[Any]:
        """One epoch's rows, as they come: an error here ends the stream."""

    def convert_row(self, row: Any) -> tuple[Any, ...]:
        """A row that came, as a tuple with one value per column: an error here is this row's own."""

    def close(self) -> None: ...


@runtime_checkable
class Source(Protocol):
    """A description of where rows come from: small, picklable, with no handle inside."""

    name: str
    random_access: bool
    # see core/traits.py
    user_code: bool
    processes: bool
    # how many threads may read at a time, None for any number (a user's object is read by one, unless the user asked
    # for more)
    max_readers: int | None
    # a row costs about a millisecond or more (it decodes), so chunks hold few rows
    is_expensive: bool
    # it is only names of local files: a worker process can open it as well, and nothing of the user's is copied there
    is_file_backed: bool
    # see core/traits.py
    concat_shard: str

    @property
    def decoded_columns(self) -> tuple[str, ...]:
        """Columns of encoded images that it decodes."""

    def schema(self) -> Schema: ...

    def size(self) -> int | None:
        """Rows in the whole source, None when only reading them tells."""

    def open(self) -> Any:
        """A Reader when random_access, else a RowStream."""

    def labels(self, column: str) -> npt.NDArray[Any]:
        """The class label of every row, for samplers that draw by class."""

    def row_location(self, index: int) -> str | None:
        """The file a row comes from, for error messages."""

    def without_decode(self, columns: tuple[str, ...]) -> Source:
        """The same rows, with these columns of ``decodes`` as the bytes of their files."""

    def arguments(self) -> dict[str, Any]:
        """What to_json shows of it."""
