"""Serialize a configuration for the replicas."""

from __future__ import annotations

import os
import sys
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.values.dtype import np_dtype
from millrace._src.serve.config import Config
from millrace._src.serve.tensor_codec import datatype_of

__all__ = ["config_from_dict", "list_paths", "config_to_dict"]

# fields that a replica needs; addresses, TLS and shutdown belong to the proxies and to whoever started them
_FIELDS = (
    "max_batch", "max_wait_ms", "batching", "max_queue", "max_body", "timeout", "workers", "token", "host",
    "max_response", "max_body_total", "max_response_total", "allowed_hosts", "allowed_origins",
)  # fmt: skip


def config_to_dict(config: Config) -> dict[str, Any]:
    """Configuration as a dict for a replica. Paths are absolute, since a replica has another working folder."""
    settings: dict[str, Any] = {field: getattr(config, field) for field in _FIELDS}
    settings["threads"] = config.threads or 1
    settings["models"] = {name: _serialize_source(name, source) for name, source in config.models.items()}
    settings["folder"] = os.getcwd()
    return settings


def _serialize_source(name: str, source: Any) -> Any:
    if isinstance(source, (str, os.PathLike)):
        return os.path.abspath(source)
    from millrace._src.serve.repository import NetworkSource

    if not isinstance(source, NetworkSource):
        raise ArgumentValueError(
            f"model {name!r} is a {type(source).__name__} in the memory of this process, which the nodes of a Ray "
            f"cluster cannot read. Save it to a shared folder, servable.save('{name}.mindir'), and pass the path"
        )
    inputs = [
        f"{datatype_of(np_dtype(each.dtype))}:{','.join(map(str, each.shape))}" for each in source.inputs
    ]
    checkpoint = None if source.checkpoint is None else os.path.abspath(source.checkpoint)
    return [source.factory, checkpoint, inputs]


def config_from_dict(plain: dict[str, Any]) -> Config:
    """Create the configuration from its dict, on a node."""
    settings = dict(plain)
    folder, models = settings.pop("folder"), settings.pop("models")
    if any(not isinstance(source, str) for source in models.values()) and folder not in sys.path:
        sys.path.insert(0, folder)  # the network's module is in the folder of the command, as without Ray
    return Config({name: _resolve_source(source) for name, source in models.items()}, **settings)


def _resolve_source(source: Any) -> Any:
    if isinstance(source, str):
        return source
    from millrace._src.serve.repository import NetworkSource, input_of

    factory, checkpoint, inputs = source
    return NetworkSource(factory, checkpoint, [input_of(text) for text in inputs])


def list_paths(plain: dict[str, Any], config: Config) -> list[str]:
    """Files and folders that every node must be able to read."""
    paths = [source if isinstance(source, str) else source[1] for source in plain["models"].values()]
    paths += [
        config.certificate and os.path.abspath(config.certificate),
        config.key and os.path.abspath(config.key),
    ]
    return [path for path in paths if path]
