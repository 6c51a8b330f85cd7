"""``s3://`` addresses through obstore (extra 's3') with the interface of fsspec; requests run without the GIL.

Only the calls that Millrace needs. Each request is made once: the caller (``core/io/remote.py``) counts failures and
retries, so that their number is bounded for a run. Only the parts of a large upload are retried here.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from millrace._src.core.errors import MissingExtra
from millrace._src.core.optional import require

__all__ = ["NoSuchBucket", "ObjectChanged", "S3FileSystem", "s3_file_system"]

# A larger file is uploaded in parts of this size, or larger ones where there would be too many: the limit is 10,000.
PART = 8 << 20
MAX_PARTS = 9000
# When a connection breaks, received data is kept in pieces of about this size.
PIECE = 64 << 10


class ObjectChanged(OSError):
    """The object was replaced while it was read."""


class NoSuchBucket(FileNotFoundError):
    """The bucket does not exist."""


def s3_file_system(options: Mapping[str, Any]) -> S3FileSystem | None:
    """A file system for S3, OBS, MinIO and others; None where fsspec has another driver, or obstore is missing.

    ``options`` are those of fsspec's S3 driver: ``key``, ``secret``, ``endpoint_url`` (also inside of
    ``client_kwargs``). Missing ones come from the environment: ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``,
    ``AWS_SESSION_TOKEN``, ``AWS_REGION``, ``AWS_ENDPOINT_URL``.
    """
    import fsspec

    if "s3" in fsspec.registry:  # a driver that is registered or loaded already takes precedence
        return None
    try:
        require("obstore", extra="s3", purpose="reading s3:// addresses")
    except MissingExtra:
        return None
    config = _config(options)
    environment = tuple(item for item in os.environ.items() if item[0].startswith("AWS_"))
    return _cached_file_system(tuple(sorted(config.items())), environment)


def _config(options: Mapping[str, Any]) -> dict[str, Any]:
    settings = {**options.get("client_kwargs", {}), **options}
    endpoint = settings.get("endpoint_url") or os.environ.get("AWS_ENDPOINT_URL") or ""
    config: dict[str, Any] = {
        "region": settings.get("region_name") or os.environ.get("AWS_REGION") or "us-east-1",
        # private stores rarely have a host name for each bucket
        "virtual_hosted_style_request": not endpoint,
    }
    names = {"key": "access_key_id", "secret": "secret_access_key", "token": "session_token"}
    config |= {setting: settings[option] for option, setting in names.items() if settings.get(option)}
    if endpoint:
        config["endpoint"] = endpoint
    return config


@functools.lru_cache(maxsize=32)
def _cached_file_system(
    config: tuple[tuple[str, Any], ...], environment: tuple[tuple[str, str], ...]
) -> S3FileSystem:
    """The file system for these options and this environment; it reuses connections."""
    return S3FileSystem(dict(config))


class S3FileSystem:
    """Objects of a store; a path is ``bucket/key``."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = dict(config)
        # by bucket: whether its tags were checksums so far
        self.tags_fit: dict[str, bool] = {}
        self._obstore = require("obstore", extra="s3", purpose="reading s3:// addresses")
        self._errors = require("obstore.exceptions", extra="s3", purpose="reading s3:// addresses")
        self._bucket = functools.lru_cache(maxsize=16)(self._open)

    def _open(self, bucket: str, retries: int = 0) -> Any:
        stores = require("obstore.store", extra="s3", purpose="reading s3:// addresses")
        return stores.S3Store(
            bucket,
            config=self._config,
            client_options={
                "allow_http": str(self._config.get("endpoint", "")).startswith("http://"),
                "connect_timeout": "10s",
                "timeout": "120s",
            },
            retry_config={
                "max_retries": retries,
                "retry_timeout": timedelta(seconds=60),
                "backoff": {
                    "init_backoff": timedelta(milliseconds=50),
                    "max_backoff": timedelta(seconds=2),
                    "base": 2,
                },
            },
        )

    @contextlib.contextmanager
    def _store_for(self, path: str) -> Iterator[tuple[Any, str]]:
        """The store and the key of a path; translates errors that a retry cannot fix to Python's."""
        bucket, _, key = path.partition("/")
        errors = self._errors
        try:
            yield self._bucket(bucket), key
        except (errors.NotFoundError, FileNotFoundError) as error:
            if "NoSuchUpload" in str(error):  # the upload was completed and the response lost: upload again
                raise OSError("the response to the end of an upload was lost") from error
            raise _missing(error, path) from error
        except (errors.PermissionDeniedError, errors.UnauthenticatedError, PermissionError) as error:
            raise PermissionError(f"the store refuses {path}: {_first_line(error)}") from error
        except errors.PreconditionError as error:
            raise ObjectChanged("the object was changed while it was read") from error
        except errors.BaseError as error:
            if "NoSuchBucket" in str(error):  # a listing has no separate error class for it
                raise _missing(error, path) from error
            raise OSError(_first_line(error)) from error

    # --- reading ------------------------------------------------------------------------------------------------

    def info(self, path: str) -> dict[str, Any]:
        """Size and tag of an object; for a folder, its type."""
        try:
            with self._store_for(path) as (store, key):
                head = self._obstore.head(store, key)
        except FileNotFoundError:
            files, folders = self.ls(path)
            if not files and not folders:
                raise
            return {"name": path, "size": 0, "type": "directory"}
        return {"name": path, "size": head["size"], "type": "file", "e_tag": head["e_tag"]}

    def isfile(self, path: str) -> bool:
        """Whether there is an object; raises where the store does not respond or has no such bucket."""
        try:
            return str(self.info(path)["type"]) == "file"
        except NoSuchBucket:
            raise
        except FileNotFoundError:
            return False

    def parts(
        self, path: str, start: int, end: int | None, tag: str | None
    ) -> tuple[int, str | None, Iterator[bytes]]:
        """An object's size and tag, and its bytes as they arrive; an error where its tag has changed."""
        options: dict[str, Any] = {} if tag is None else {"if_match": tag}
        if end is not None:
            options["range"] = (start, end)
        elif start:
            options["range"] = {"offset": start}
        with self._store_for(path) as (store, key):
            result = self._obstore.get(store, key, options=options)
        return result.meta["size"], result.meta["e_tag"], self._pieces(path, result)

    def _pieces(self, path: str, result: Any) -> Iterator[bytes]:
        with self._store_for(path):
            for piece in result.stream(min_chunk_size=PIECE):
                yield bytes(piece)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        return b"".join(self.parts(path, start or 0, end, None)[2])

    def ls(self, path: str) -> tuple[list[str], list[str]]:
        """The names of the objects and of the folders in a folder."""
        with self._store_for(path) as (store, key):
            listing = self._obstore.list_with_delimiter(store, prefix=key.rstrip("/") or None)
        inner = len(key.rstrip("/")) + 1 if key.rstrip("/") else 0
        files = [meta["path"][inner:] for meta in listing["objects"]]
        return [name for name in files if name], [name[inner:] for name in listing["common_prefixes"]]

    def glob(self, pattern: str) -> list[str]:
        """The objects that match a pattern of fsspec."""
        from fsspec.utils import glob_translate

        fixed = pattern[
            : min((pattern.find(sign) for sign in "*?[" if sign in pattern), default=len(pattern))
        ]
        folder = fixed.rpartition("/")[0] or fixed
        matches = re.compile(glob_translate(pattern)).match
        bucket = folder.partition("/")[0]
        with self._store_for(folder) as (store, key):
            pages = self._obstore.list(store, prefix=key or None)
            names = [f"{bucket}/{meta['path']}" for page in pages for meta in page]
        return [name for name in names if matches(name)]

    # --- writing ------------------------------------------------------------------------------------------------

    def makedirs(self, path: str, exist_ok: bool = True) -> None:
        """Do nothing: folders are prefixes of names."""

    def put_file(self, local: str, path: str) -> None:
        """Upload a local file atomically."""
        size = os.path.getsize(local)
        with self._store_for(path) as (_, key):
            store = self._bucket(path.partition("/")[0], 3)
            part = max(PART, -(-size // MAX_PARTS))
            self._obstore.put(store, key, Path(local), use_multipart=size > part, chunk_size=part)

    def pipe_file(self, path: str, value: bytes) -> None:
        with self._store_for(path) as (store, key):
            self._obstore.put(store, key, value)

    def rm_file(self, path: str) -> None:
        """Remove an object; a missing one is no error."""
        with contextlib.suppress(FileNotFoundError), self._store_for(path) as (store, key):
            self._obstore.delete(store, key)

    def unstrip_protocol(self, path: str) -> str:
        return f"s3://{path}"


def _missing(error: Exception, path: str) -> FileNotFoundError:
    if "NoSuchBucket" in str(error):
        return NoSuchBucket(f"there is no bucket {path.partition('/')[0]}")
    return FileNotFoundError(f"there is no object {path}")


# Metadata services from which cloud machines get the keys of their role: the last source of keys.
_ROLES = ("169.254.169.254", "169.254.170.2")


def _first_line(error: Exception) -> str:
    """The error message of the store without its details."""
    message = " ".join(str(error).split("Debug source")[0].split())
    if any(address in message for address in _ROLES):
        return (
            "no keys for the store were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (OBSMindDataset takes "
            f"them as ak and sk); this machine has no role that gives some: {message}"
        )
    return message
