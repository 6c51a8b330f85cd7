"""Load the user's pipeline from a Python file or from JSON."""

from __future__ import annotations

import sys
import traceback
import types
from pathlib import Path
from typing import Any

import cloudpickle

import millrace.dataset as ds
from millrace._src.core.errors import ArgumentValueError, MillraceError

__all__ = ["NAMES", "from_json", "from_python"]

# Names of the pipeline in a pipeline file: a Dataset, or a function that returns one.
NAMES = ("pipeline", "dataset", "data", "create_dataset", "get_dataset", "train_dataset")
_MODULE = "millrace_bench_pipeline"


def from_python(path: str) -> ds.Dataset:
    """Run the file as a module, not as a script, and return the pipeline that it defines."""
    module = types.ModuleType(_MODULE)
    module.__file__ = path
    # registered under its name, which dataclasses need; sent to workers by value, since they cannot import it
    sys.modules[_MODULE] = module
    cloudpickle.register_pickle_by_value(module)
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        exec(compile(Path(path).read_bytes(), path, "exec"), vars(module))
        return _find_dataset(vars(module), path)
    except ArgumentValueError:
        raise
    except (Exception, SystemExit) as error:
        raise ArgumentValueError(f"{path} failed: {_error_location(error, path)}") from error


def _find_dataset(names: dict[str, Any], path: str) -> ds.Dataset:
    for name in NAMES:
        value = names.get(name)
        if isinstance(value, ds.Dataset):
            return value
        if isinstance(value, types.FunctionType):
            dataset = value()
            if isinstance(dataset, ds.Dataset):
                return dataset
            raise ArgumentValueError(
                f"{path}: {name}() returned {type(dataset).__name__}, not a Dataset. Return the last dataset"
            )
    named = [name for name, value in names.items() if isinstance(value, ds.Dataset)]
    hint = f"; rename {named[-1]!r} to 'pipeline'" if named else ""
    raise ArgumentValueError(
        f"{path} defines no pipeline. Name it 'pipeline', or define a function dataset(){hint}"
    )


def _error_location(error: BaseException, path: str) -> str:
    """The last line of the user's file in the traceback, and the error."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: SyntaxError: {error.msg}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    where = f"line {lines[-1]}: " if lines else ""
    return f"{where}{type(error).__name__}: {error}"


def from_json(path: str) -> ds.Dataset:
    """Load a pipeline that ds.serialize wrote."""
    try:
        dataset = ds.deserialize(json_filepath=path)
    except MillraceError:
        raise
    except Exception as error:  # arguments of the wrong type, or missing ones
        raise ArgumentValueError(
            f"{path} is not a pipeline of ds.serialize: {type(error).__name__}: {error}"
        ) from error
    assert dataset is not None  # only without a path
    return dataset
