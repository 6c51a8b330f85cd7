"""What the plan may rely on with a source of rows; a source says only what differs from these."""

from __future__ import annotations

from typing import Any

from millrace._src.core.stable_ids import register

__all__ = ["SourceTraits"]


class SourceTraits:
    """The traits of a source that is ours, light, and safe to read from several threads.

    >>> class Images(SourceTraits):
    ...     is_expensive = True
    >>> Images.is_expensive, Images.user_code
    (True, False)
    """

    def __init_subclass__(cls, *, stable_name: str | None = None, **options: Any) -> None:
        """Its id is ``source.name``; ``stable_name`` states the name for a class that was renamed."""
        super().__init_subclass__(**options)
        register(cls, "source", stable_name)

    # rows are asked for by number; else it is read in one pass
    random_access: bool = True
    # reading runs the user's own code: it stays in the user's process unless the user says otherwise
    user_code: bool = False
    # the user asked for worker processes
    processes: bool = False
    # how many threads may read at a time; None: as many as there are
    max_readers: int | None = None
    # a row costs about a millisecond or more (it decodes), so chunks hold few rows
    is_expensive: bool = False
    # it is only names of local files: a worker process can open it as well, and nothing of the user's is copied there
    is_file_backed: bool = False
    # columns of encoded images that it decodes; `without_decode` gives the same source with these left as they are
    decoded_columns: tuple[str, ...] = ()
    # what a shard of a concatenation has of it, as in MindSpore: 'rows' (every so many, in the order of the source),
    # 'run' (neighbours), or 'own' (every so many of its own order, shuffled or not)
    concat_shard: str = "rows"

    def without_decode(self, columns: tuple[str, ...]) -> Any:
        """The same rows, with these columns of ``decodes`` as the bytes of their files."""
        raise TypeError(f"{type(self).__name__} does not decode")
