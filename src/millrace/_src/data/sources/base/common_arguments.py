"""Argument groups shared by sources, and the decorator that adds them to a constructor.

A source declares its specific arguments. ``*_`` marks the position of the shared ones, and ``shared`` holds them::

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[ImageOptions]) -> None:
        make = partial(_table, dataset_dir=dataset_dir, decode=shared["decode"])
        self._open(make, {"image": image_type(shared["decode"])}, shared)

Callers, ``help`` and ``inspect`` see one plain signature, ``(self, dataset_dir, num_samples=None, ...)``. Each argument
can be passed by position or by name, and all are checked in this order. Type checkers see the same names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ForwardRef, TypedDict, TypeVar, cast

from millrace._src.core.args import Checker

from .indexed_files import Mode
from .table_dataset import Cache, NumSamples, NumWorkers

__all__ = ["CorpusOptions", "ImageOptions", "RowOptions", "TextOptions", "with_common_arguments"]

F = TypeVar("F", bound=Callable[..., Any])


# The order of the keys is the order of the signature, which is MindSpore's.


class RowOptions(TypedDict, total=False):
    """Arguments of a source of rows."""

    num_samples: NumSamples
    num_parallel_workers: NumWorkers
    shuffle: bool | None
    sampler: Any
    num_shards: int | None
    shard_id: int | None
    cache: Cache


class ImageOptions(TypedDict, total=False):
    """Arguments of a source of image files, with ``decode``."""

    num_samples: NumSamples
    num_parallel_workers: NumWorkers
    shuffle: bool | None
    decode: bool | None
    sampler: Any
    num_shards: int | None
    shard_id: int | None
    cache: Cache


class TextOptions(TypedDict, total=False):
    """Arguments of a source of rows inside files: a shuffle mode, but no sampler."""

    num_samples: NumSamples
    num_parallel_workers: NumWorkers
    shuffle: Mode
    num_shards: int | None
    shard_id: int | None
    cache: Cache


class CorpusOptions(TypedDict, total=False):
    """Arguments of TextOptions with num_parallel_workers near the end, as in some of MindSpore's text sources."""

    num_samples: NumSamples
    shuffle: Mode
    num_shards: int | None
    shard_id: int | None
    num_parallel_workers: NumWorkers
    cache: Cache


def with_common_arguments(group: type, *, without: tuple[str, ...] = (), **defaults: Any) -> Callable[[F], F]:
    """Add the arguments of a group, except ``without``, to a constructor at the position of its ``*_``.

    The default of an argument is None or its value in ``defaults``. Arguments of the constructor after ``*_`` follow
    the shared ones.

    >>> class Rows:
    ...     @with_common_arguments(RowOptions, without=("cache", "sampler"), shuffle=True)
    ...     def __init__(self, folder: str, *_: Any, **shared: Any) -> None:
    ...         self.folder, self.shared = folder, shared
    >>> print(", ".join(inspect.signature(Rows).parameters))
    folder, num_samples, num_parallel_workers, shuffle, num_shards, shard_id
    >>> Rows("pets", 8).shared["num_samples"], Rows("pets").shared["shuffle"]
    (8, True)
    >>> Rows("pets", num_sample=8)
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentTypeError: Rows() got an unexpected keyword argument 'num_sample'; did you mean \
'num_samples'?
    """

    def decorate(function: F) -> F:
        signature = _merge_signature(function, group, without, defaults)

        def run(*args: Any, **kwargs: Any) -> None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            function(**bound.arguments)

        wrapper = Checker(function, signature, group).wrap(run)
        wrapper.__signature__ = signature  # type: ignore[attr-defined]
        return cast(F, wrapper)

    return decorate


def _merge_signature(
    function: Callable[..., Any], group: type, without: tuple[str, ...], defaults: dict[str, Any]
) -> inspect.Signature:
    """The parameters of the function, with ``*_`` replaced by those of the group."""
    signature = inspect.signature(function)
    names = [name for name in group.__annotations__ if name not in without]
    unknown = {*defaults, *without} - set(group.__annotations__)
    if unknown:
        raise TypeError(f"{group.__name__} has no {', '.join(sorted(unknown))}: it has {', '.join(names)}")
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shared = [
        inspect.Parameter(
            name, positional, default=defaults.get(name), annotation=_annotation_text(group, name)
        )
        for name in names
    ]
    mine = list(signature.parameters.values())
    before = [parameter for parameter in mine if parameter.kind is positional]
    after = [
        parameter.replace(kind=positional) for parameter in mine if parameter.kind is parameter.KEYWORD_ONLY
    ]
    return signature.replace(parameters=[*before, *shared, *after])


def _annotation_text(group: type, name: str) -> Any:
    """An annotation as text, for readable ``help`` output."""
    annotation = group.__annotations__[name]
    return annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
