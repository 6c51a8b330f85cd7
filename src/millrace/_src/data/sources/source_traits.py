"""Traits of a source that the plan relies on, with their defaults."""

from __future__ import annotations

from typing import Any

from millrace._src.core.stable_ids import register

__all__ = ["SourceTraits", "with_current_names"]


def with_current_names(state: dict[str, Any], renamed: dict[str, str]) -> dict[str, Any]:
    """The state of a pickle of version 0.2.0 with the current attribute names (old name -> current name).

    >>> with_current_names({"given": 1, "rows": 2}, {"given": "batch_sampler"})
    {'batch_sampler': 1, 'rows': 2}
    """
    return {renamed.get(name, name): value for name, value in state.items()}


class SourceTraits:
    """Default traits: a built-in, inexpensive and thread-safe source.

    >>> class Images(SourceTraits):
    ...     is_expensive = True
    >>> Images.is_expensive, Images.user_code
    (True, False)
    """

    def __init_subclass__(cls, *, stable_name: str | None = None, **options: Any) -> None:
        """Register the stable id ``source.<name>``; ``stable_name`` is the old name of a renamed class."""
        super().__init_subclass__(**options)
        register(cls, "source", stable_name)

    # rows are read by number; otherwise in one pass
    random_access: bool = True
    # reading runs user code: it stays in the user's process unless configured otherwise
    user_code: bool = False
    # the user requested worker processes
    processes: bool = False
    # maximum number of concurrent reader threads; None: no limit
    max_readers: int | None = None
    # reading a row takes about a millisecond or more (decoding), so chunks have few rows
    is_expensive: bool = False
    # it consists of local file names, so a worker process can open it without copying user objects
    is_file_backed: bool = False
    # columns of encoded images that it decodes; `without_decode` gives the same source with these left as they are
    decoded_columns: tuple[str, ...] = ()
    # how a concatenation shards it, as in MindSpore: 'rows' (strided, in source order), 'run' (contiguous), or 'own'
    # (strided, in the order of its sampler)
    concat_shard: str = "rows"

    def without_decode(self, columns: tuple[str, ...]) -> Any:
        """The same rows, with these columns of ``decodes`` as the bytes of their files."""
        raise TypeError(f"{type(self).__name__} does not decode")
