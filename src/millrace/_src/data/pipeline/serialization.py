"""Serialize, deserialize, show and compare pipelines as JSON."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.io.json_input import check_depth, parse_json
from millrace._src.core.io.terminal_escape import escape_controls
from millrace._src.core.lazy import NAMES
from millrace._src.core.log import get_logger
from millrace._src.core.public import definition_module, public
from millrace._src.data.plan.serialize import WORKERS
from millrace._src.data.transforms.base import Transform

from .dataset import Dataset
from .order_ops import mix_datasets

__all__ = ["cache_of", "can_rebuild", "compare", "deserialize", "serialize", "show", "workers_of"]

log = get_logger(__name__)

MAX_BYTES = 64 << 20

MAX_DEPTH = 900

_PACKAGE = "millrace._src.data.sources."
# the public module whose sources a file may name
_PUBLIC = "millrace.dataset"

# "module.Class" of a source -> function from its JSON to a dataset; a source adds itself with `can_rebuild`
_SOURCES: dict[str, Callable[[dict[str, Any]], Dataset]] = {}


def can_rebuild(source: type[Dataset], rebuild: Callable[[dict[str, Any]], Dataset]) -> None:
    """Register how a source is rebuilt from JSON. JSON may name it if it is public in ``millrace.dataset``."""
    _SOURCES[f"{definition_module(source)}.{source.__name__}"] = rebuild


@public("dataset")
@checked
def serialize(dataset: Dataset, json_filepath: str = "") -> dict[str, Any]:
    """The pipeline as a dict, written to a file when a path is given.

    >>> import millrace.dataset as ds
    >>> ds.serialize(ds.NumpySlicesDataset([1, 2]).batch(2))["batch_size"]
    2
    """
    return dataset.to_json(json_filepath)


@public("dataset")
def deserialize(input_dict: dict[str, Any] | None = None, json_filepath: str | None = None) -> Dataset | None:
    """Create a dataset from the result of serialize() or a file of autotune; not for sources with Python objects.

    The JSON decides which files are read: the paths of its sources and of the vocabularies of its tokenizers. It
    runs no code: its sources, samplers and transforms are those of Millrace. ``Plugin`` and functions are refused.

    >>> import millrace.dataset as ds
    >>> saved = ds.serialize(ds.RandomDataset(total_rows=6).batch(2))
    >>> ds.deserialize(saved).get_dataset_size()
    3
    """
    if input_dict is None and json_filepath is None:
        return None
    if input_dict is None:
        input_dict = _load(str(json_filepath))
    if not isinstance(input_dict, dict):
        raise PlanError(f"deserialize: expected a dict, got {type(input_dict).__name__}.")
    check_depth(input_dict, _refuse, MAX_DEPTH)
    tree = input_dict.get("tree")
    if isinstance(tree, dict) and "op_type" not in input_dict:  # a file of autotune
        input_dict = tree
    return _rebuild(input_dict)


def _refuse(text: str) -> PlanError:
    return PlanError(f"Invalid data, {text}")


@public("dataset")
@checked
def show(dataset: Dataset, indentation: int = 2) -> None:
    """Write the pipeline's JSON to the log, at level INFO.

    >>> import millrace.dataset as ds
    >>> ds.show(ds.NumpySlicesDataset([1, 2]))
    """
    log.info("%s", json.dumps(dataset.to_json(), indent=indentation))


@public("dataset")
@checked
def compare(pipeline1: Dataset, pipeline2: Dataset) -> bool:
    """Whether two pipelines have the same ops with the same arguments.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset([1, 2])
    >>> ds.compare(data.batch(2), data.batch(2)), ds.compare(data.batch(2), data.batch(1))
    (True, False)
    """
    return pipeline1.to_json() == pipeline2.to_json()


def _load(path: str) -> dict[str, Any]:
    file = Path(path)
    if not file.is_file():
        raise PlanError(f"Invalid file, failed to open json file: {path}")
    if file.stat().st_size > MAX_BYTES:
        raise PlanError(
            f"{path} holds {file.stat().st_size} bytes; a pipeline's JSON has at most {MAX_BYTES}"
        )
    loaded = parse_json(
        file.read_bytes(), lambda text: PlanError(f"Invalid file, {path} is not JSON: {text}"), MAX_DEPTH
    )
    if not isinstance(loaded, dict):
        raise PlanError(f"{path} holds no pipeline: a dict is needed, but got {type(loaded).__name__}")
    return loaded


def _rebuild(saved: Any) -> Dataset:
    if not isinstance(saved, dict):
        raise _refuse(f"expected an operation as a dict, got {type(saved).__name__}")
    name, children = saved.get("op_type"), saved.get("children", [])
    if not isinstance(name, str) or not isinstance(children, list):
        raise _refuse(f"unsupported operation type: {name!a:.80}")
    inputs = [_rebuild(child) for child in children]
    make = _source(name)
    try:
        if make is not None:
            return make(saved)
        if name in _OPS and inputs:
            return _OPS[name](inputs[0], inputs[1:], saved)
    except (ArgumentTypeError, ArgumentValueError, KeyError, IndexError, TypeError, ValueError) as error:
        raise _refuse(f"{name}: {_shown(error)}") from error
    except (
        AttributeError,
        ArithmeticError,
    ) as error:  # a list where a dict should be, an integer out of range
        raise _refuse(f"{name}: {_shown(error)}") from error
    raise _refuse(f"unsupported operation type: {escape_controls(name):.80}")


def _source(name: str) -> Callable[[dict[str, Any]], Dataset] | None:
    """The function that rebuilds a source; the module comes from our own table of sources, never from the JSON."""
    module, attribute = NAMES[_PUBLIC].get(name, ("", ""))
    if module.startswith(_PACKAGE):
        importlib.import_module(module)  # a source registers itself when it is first loaded
    return _SOURCES.get(f"{module}.{attribute}")


def _shown(error: Exception) -> str:
    return f"there is no {error}" if type(error) is KeyError else str(error) or type(error).__name__


def workers_of(saved: dict[str, Any], usual: int = 1) -> dict[str, Any]:
    """The argument ``num_parallel_workers`` of an operation, if it is not the default."""
    workers = saved.get("num_parallel_workers", usual)
    return {} if workers == usual else {"num_parallel_workers": workers}


def cache_of(saved: dict[str, Any]) -> dict[str, Any]:
    """The argument ``cache`` of an operation, if it has one."""
    if not isinstance(saved.get("cache"), dict):
        return {}
    from millrace._src.data.cache.dataset_cache import DatasetCache

    return {"cache": DatasetCache.from_dict(saved["cache"])}


def _batch(data: Dataset, datasets: list[Dataset], saved: dict[str, Any]) -> Dataset:
    if "per_batch_map" in saved or saved["batch_size"] == -1 or "length_function" in saved:
        raise PlanError("Invalid data, a batch with a Python function cannot be rebuilt from JSON")
    options = workers_of(saved, WORKERS)
    info = {name: (shape, value) for name, (shape, value) in saved.get("pad_info", {}).items()}
    if "max_tokens" in saved:
        options |= {name: saved[name] for name in ("max_tokens", "length_of")}
        return data.batch(saved["batch_size"], saved["drop_remainder"], pad_info=info, **options)
    if "pad_info" in saved:
        return data.padded_batch(saved["batch_size"], saved["drop_remainder"], pad_info=info, **options)
    columns = {name: saved[name] for name in ("input_columns", "output_columns") if saved.get(name)}
    return data.batch(saved["batch_size"], saved["drop_remainder"], **columns, **options)


def _map(data: Dataset, datasets: list[Dataset], saved: dict[str, Any]) -> Dataset:
    operations = [_operation(operation) for operation in saved["operations"]]
    options = workers_of(saved, WORKERS) | cache_of(saved)
    return data.map(operations, saved["input_columns"] or None, saved["output_columns"] or None, **options)


def _operation(saved: dict[str, Any]) -> Transform:
    """Rebuild a transform of Millrace from its JSON; nothing else is imported or called."""
    from millrace._src.data.transforms.serialization import transform_from_json

    try:
        return transform_from_json(saved)
    except ArgumentValueError as error:
        raise _refuse(str(error)) from error


_PACK = ("split", "too_long", "bins", "end_token", "pad_token", "drop_remainder")

_OPS: dict[str, Callable[[Dataset, list[Dataset], dict[str, Any]], Dataset]] = {
    "Batch": _batch,
    "Cache": lambda data, datasets, saved: data.cache(**cache_of(saved)),
    "Map": _map,
    "Repeat": lambda data, datasets, saved: data.repeat(saved["count"]),
    "Skip": lambda data, datasets, saved: data.skip(saved["count"]),
    "Take": lambda data, datasets, saved: data.take(saved["count"]),
    "Shuffle": lambda data, datasets, saved: data.shuffle(saved["buffer_size"]),
    "Project": lambda data, datasets, saved: data.project(saved["columns"]),
    "Rename": lambda data, datasets, saved: data.rename(saved["input_columns"], saved["output_columns"]),
    "Zip": lambda data, datasets, saved: data.zip(tuple(datasets)),
    "Concat": lambda data, datasets, saved: data.concat(datasets),
    "Pack": lambda data, datasets, saved: data.pack(
        saved["length"], saved["columns"] or None, **{k: saved[k] for k in _PACK if k in saved}
    ),
    "Mix": lambda data, datasets, saved: mix_datasets(
        [data, *datasets], saved["weights"], exhausted=saved["exhausted"]
    ),
}
