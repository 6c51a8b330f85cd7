"""``millrace record convert``: choose the converter for the source format."""

from __future__ import annotations

import argparse
import glob
import json
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.data.formats.mindrecord import MindRecordReader
from millrace._src.data.formats.mindrecord import convert as converters
from millrace._src.data.formats.mindrecord.convert.base import write_set
from millrace._src.data.formats.tfrecord.example import parse_example
from millrace._src.data.formats.tfrecord.record_file import read_records

__all__ = ["convert"]


def convert(arguments: argparse.Namespace) -> list[str]:
    """Convert the source; returns one file of each set that was written."""
    source_format, source, target, shards = (
        arguments.kind,
        arguments.source,
        arguments.target,
        arguments.shards,
    )
    if source_format in ("cifar10", "cifar100", "tfrecord") and shards != 1:
        raise ArgumentValueError(
            f"{source_format} is written as one file; convert it, then split it with 'mindrecord'"
        )
    if source_format == "folder":
        converters.ImageFolderToMR(source, target, shards).transform()
    elif source_format == "mnist":
        converters.MnistToMR(source, target, shards).transform()
        return [_first_file(f"{target}_{part}.mindrecord", shards) for part in ("train", "test")]
    elif source_format in ("cifar10", "cifar100"):
        converter = converters.Cifar10ToMR if source_format == "cifar10" else converters.Cifar100ToMR
        converter(source, target).transform()
        return [target, f"{target}_test"]
    elif source_format == "imagenet":
        if not arguments.map_file:
            raise ArgumentValueError("imagenet needs --map-file with one line 'folder label' per class")
        converters.ImageNetToMR(arguments.map_file, source, target, shards).transform()
    elif source_format == "csv":
        converters.CsvToMR(source, target, arguments.columns, shards).transform()
    elif source_format == "tfrecord":
        features, fields = _resolve_features(source, arguments)
        converters.TFRecordToMR(source, target, features, fields).transform()
    else:
        _copy(source, target, shards)
    return [_first_file(target, shards)]


def _first_file(target: str, shards: int) -> str:
    return target if shards == 1 else f"{target}{0:0{len(str(shards - 1))}d}"


def _resolve_features(source: str, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str] | None]:
    """Features from the command line, or from the first Example."""
    if arguments.features:
        try:
            shapes = json.loads(arguments.features)
        except ValueError as error:
            raise ArgumentValueError(f"--features is not JSON: {error}") from None
        return shapes, arguments.bytes_fields
    first = next(read_records(source), None)
    if first is None:
        raise ArgumentValueError(f"{source} holds no record")
    features, fields = {}, list(arguments.bytes_fields or [])
    for name, values in parse_example(first, source).items():
        shape = [] if len(values) == 1 else [len(values)]
        if isinstance(values, list):
            features[name] = (shape, "string")
            if values and not _is_text(values[0]) and name not in fields:
                fields.append(name)
        else:
            features[name] = (shape, str(values.dtype))
    return features, fields


def _is_text(value: bytes) -> bool:
    try:
        return "\0" not in value.decode()
    except UnicodeDecodeError:
        return False


def _copy(source: str, target: str, shards: int) -> None:
    """Copy a set into another number of shards, or from version 2.0 to 3.0."""
    files: Any = (
        sorted(f for f in glob.glob(source) if not f.endswith((".db", ".crc"))) if "*" in source else source
    )
    with MindRecordReader(files) as reader:
        schema = {field.name: field.as_json() for field in reader.schema.fields}
        write_set(
            target, schema, reader.schema.desc, reader.rows(),
            index=reader.index_fields, shards=shards, total=len(reader),
        )  # fmt: skip
