"""Argument groups shared by sources, and the decorator that adds them to a constructor.

A source writes its own arguments; ``*_`` stands where the shared ones go, and ``shared`` holds them::

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[ImageOptions]) -> None:
        make = partial(_table, dataset_dir=dataset_dir, decode=shared["decode"])
        self._open(make, {"image": image_type(shared["decode"])}, shared)

Callers, ``help`` and ``inspect`` see one plain signature, ``(self, dataset_dir, num_samples=None, ...)``: each of its
arguments goes by position or by name, and all are checked in its order. Type checkers see the same names.
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


# Their order is that of the signature, which is MindSpore's.


class RowOptions(TypedDict, total=False):
    """What a source of rows takes."""

    num_samples: NumSamples
    num_parallel_workers: NumWorkers
    shuffle: bool | None
    sampler: Any
    num_shards: int | None
    shard_id: int | None
    cache: Cache


class ImageOptions(TypedDict, total=False):
    """What a source of image files takes: it can decode them."""

    num_samples: NumSamples
    num_parallel_workers: NumWorkers
    shuffle: bool | None
    decode: bool | None
    sampler: Any
    num_shards: int | None
    shard_id: int | None
    cache: Cache


class TextOptions(TypedDict, total=False):
    """What a source of rows inside files takes: a way to shuffle, but no sampler."""

    num_samples: NumSamples
    num_parallel_workers: NumWorkers
    shuffle: Mode
    num_shards: int | None
    shard_id: int | None
    cache: Cache


class CorpusOptions(TypedDict, total=False):
    """The same, with the workers late, as some of MindSpore's text sources have it."""

    num_samples: NumSamples
    shuffle: Mode
    num_shards: int | None
    shard_id: int | None
    num_parallel_workers: NumWorkers
    cache: Cache


def with_common_arguments(group: type, *, without: tuple[str, ...] = (), **defaults: Any) -> Callable[[F], F]:
    """Let a constructor take the arguments of a group, all but ``without``, where its ``*_`` stands.

    What is left out by the caller is None, or what ``defaults`` says. The constructor's own arguments after ``*_``
    follow the shared ones.

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
    """The function's own parameters, with those of the group in the place of ``*_``."""
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
    """An annotation as its text, which is what ``help`` shows well."""
    annotation = group.__annotations__[name]
    return annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
