"""Protocols of sources and readers. Sources implement them; plan and engine import no source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column
from millrace._src.core.values.schema import Schema

__all__ = ["Reader", "RowStream", "Source"]


class Reader(Protocol):
    """An open random-access source. It is opened in each worker process, and shared by the threads of a process."""

    def read(self, indices: Indices) -> Mapping[str, Column]:
        """Read the rows at these indices; the caller owns the returned columns."""

    def close(self) -> None: ...


class RowStream(Protocol):
    """An open one-pass source."""

    def rows(self, epoch: int) -> Iterator[Any]:
        """The raw rows of one epoch: an error here ends the stream."""

    def convert_row(self, row: Any) -> tuple[Any, ...]:
        """Convert a raw row to a tuple with one value per column: an error here concerns only this row."""

    def close(self) -> None: ...


@runtime_checkable
class Source(Protocol):
    """Description of a source of rows: small and picklable, without open files."""

    name: str
    random_access: bool
    # it runs user code; worker processes were requested
    user_code: bool
    processes: bool
    # the maximum number of threads that read at a time, None for any (1 for a user's object, unless the user sets more)
    max_readers: int | None
    # a row takes about a millisecond or more (it decodes), so chunks hold few rows
    is_expensive: bool
    # it consists of names of local files: a worker process can open it, and no user object is copied
    is_file_backed: bool
    # how a concatenation shards it: 'rows' (strided), 'run' (contiguous) or 'own' (strided, in its sampler's order)
    concat_shard: str

    @property
    def decoded_columns(self) -> tuple[str, ...]:
        """Columns of encoded images that it decodes."""

    def schema(self) -> Schema: ...

    def size(self) -> int | None:
        """Number of rows in the source; None if it is known only after reading."""

    def open(self) -> Any:
        """Open a Reader if random_access, else a RowStream."""

    def labels(self, column: str) -> npt.NDArray[Any]:
        """The class label of every row, for samplers that sample by class."""

    def row_location(self, index: int) -> str | None:
        """The file of a row, for error messages."""

    def without_decode(self, columns: tuple[str, ...]) -> Source:
        """The same rows, with these columns of ``decodes`` as the bytes of their files."""

    def arguments(self) -> dict[str, Any]:
        """The arguments for to_json."""
