"""``s3://`` addresses through obstore (extra 's3'), in fsspec's manner: two packages, and requests without the GIL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import fsspec

from millrace.core.errors import MissingExtra
from millrace.core.optional import require

__all__ = ["s3_file_system"]


def s3_file_system(options: Mapping[str, Any]) -> Any | None:
    """A file system for S3, OBS, MinIO and their like; None where fsspec has another driver, or obstore is missing.

    ``options`` are those that fsspec's own S3 driver takes: ``key``, ``secret``, ``endpoint_url`` (also inside of
    ``client_kwargs``). What is not given comes from the environment: ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``,
    ``AWS_SESSION_TOKEN``, ``AWS_REGION``, ``AWS_ENDPOINT_URL``.
    """
    if "s3" in fsspec.registry:  # a driver that somebody registered or loaded goes first
        return None
    try:
        store = require("obstore.fsspec", extra="s3", purpose="reading s3:// addresses")
    except MissingExtra:
        return None
    config, client = _config(options)
    return store.FsspecStore("s3", config=config, client_options=client)


def _config(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    given = {**options.get("client_kwargs", {}), **options}
    endpoint = given.get("endpoint_url") or os.environ.get("AWS_ENDPOINT_URL") or ""
    config: dict[str, Any] = {
        "region": given.get("region_name") or os.environ.get("AWS_REGION") or "us-east-1",
        # stores of one's own rarely have a name for each bucket
        "virtual_hosted_style_request": not endpoint,
    }
    names = {"key": "access_key_id", "secret": "secret_access_key", "token": "session_token"}
    config |= {theirs: given[ours] for ours, theirs in names.items() if given.get(ours)}
    if endpoint:
        config["endpoint"] = endpoint
    return config, {"allow_http": endpoint.startswith("http://")}
