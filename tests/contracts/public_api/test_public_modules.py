"""The public modules: generated, lazy, and complete for ``dir``, ``import *``, pickles, ``inspect`` and ``typing``."""

from __future__ import annotations

import importlib
import importlib.resources
import inspect
import pickle
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("torch")

from millrace._src.core.lazy import NAMES
from millrace._src.core.public import declaration_of, definition_module, module_of_path
from millrace._src.runtime.ops.declare.primitive import Primitive
from tests.contracts.public_api import make_public
from tests.contracts.public_api.declarations import DuplicateName, Source, all_names, read_sources
from tests.contracts.public_api.public_modules import MODULES

PATHS = [module_of_path(path) for path in MODULES]


def run(code: str) -> str:
    """The output of Python code in a fresh process."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def public_objects() -> Iterator[tuple[str, Any]]:
    """Every public class and function of ours once, with a path."""
    seen: set[int] = set()
    for path in PATHS:
        module = importlib.import_module(path)
        for name in NAMES[path]:
            value = getattr(module, name)
            if isinstance(value, (type, types.FunctionType)) and id(value) not in seen:
                seen.add(id(value))
                yield f"{path}.{name}", value


# --- generated files ---------------------------------------------------------------------------------------------


def test_generated_files_are_fresh() -> None:
    """If not: `make names`."""
    stale = [
        path.name
        for path, text in make_public.texts().items()
        if not path.exists() or path.read_text() != text
    ]
    assert stale == []


def test_every_public_module_is_generated_or_holds_code() -> None:
    files = {path for path in make_public.texts() if path.suffix == ".py"}
    package = make_public.ROOT
    found = {path for path in package.rglob("*.py") if "_src" not in path.relative_to(package).parts}
    assert {str(path.relative_to(package)) for path in found - files} == {
        "__main__.py", "as_mindspore/__init__.py", "as_mindspore/__main__.py"
    }  # fmt: skip


def test_two_definitions_of_one_name_are_an_error() -> None:
    import ast

    text = '@public("ops")\ndef f(): ...\n'
    sources = {name: Source(name, Path(f"{name}.py"), ast.parse(text)) for name in ("a", "b")}
    with pytest.raises(DuplicateName, match=r"ops\.f: expected one definition, got a\.f and b\.f"):
        all_names(sources)


def test_the_package_has_types() -> None:
    assert importlib.resources.files("millrace").joinpath("py.typed").is_file()


# --- lazy modules ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_dir_shows_every_name(path: str) -> None:
    module = importlib.import_module(path)
    assert set(NAMES[path]) <= set(dir(module))
    assert set(module.__all__) <= set(NAMES[path])


def test_importing_a_public_module_loads_no_operations() -> None:
    code = (
        "import sys, millrace.ops, millrace.nn, millrace.train, millrace.dataset\n"
        "print(len(dir(millrace.ops)), 'torch' in sys.modules,"
        " [name for name in sys.modules if name.startswith('millrace._src.runtime')])"
    )
    count, torch, loaded = run(code).split(maxsplit=2)
    assert (int(count) > 1300, torch, loaded) == (True, "False", "[]")


def test_import_star() -> None:
    code = "from millrace.{0} import *\nimport millrace.{0} as module\nassert set(module.__all__) <= set(globals())"
    for name in ("dataset", "dataset.vision", "train", "ops", "nn"):
        run(code.format(name))


def test_first_use_in_several_threads() -> None:
    code = """
import threading, millrace, millrace.ops, millrace.nn, millrace.dataset.vision
start, errors = threading.Barrier(8), []
def use(number):
    start.wait()
    try:
        for module in (millrace.ops, millrace.nn, millrace.dataset.vision, millrace)[number % 4:]:
            for name in module.__all__[number::8]:
                getattr(module, name)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(errors)
"""
    assert run(code) == "[]"


def test_patch_restores_a_lazy_name() -> None:
    code = """
from unittest import mock
import millrace.ops as ops
with mock.patch("millrace.ops.relu", 5):
    assert ops.relu == 5
assert callable(ops.relu) and ops.relu.__name__ == "relu"
"""
    run(code)
    from millrace import ops

    before = ops.relu
    with mock.patch.object(ops, "relu", 5):
        assert ops.relu == 5
    assert ops.relu is before


def test_misspelt_name() -> None:
    import millrace.dataset

    with pytest.raises(AttributeError, match="did you mean 'ImageFolderDataset'") as raised:
        _ = millrace.dataset.ImageFoldrDataset
    assert raised.value.name == "ImageFoldrDataset"


# --- one canonical path ------------------------------------------------------------------------------------------


def test_module_of_an_object_is_its_public_path() -> None:
    for path, value in public_objects():
        declared = declaration_of(value)
        if declared is None or value.__module__.startswith("millrace._src"):
            continue  # its public name is an alias
        assert value.__module__ in PATHS, path
        assert getattr(sys.modules[value.__module__], value.__qualname__) is value, path


def test_few_public_objects_keep_their_internal_module() -> None:
    """Those are known by an alias only: the public name is not the name of the definition."""
    internal = {path for path, value in public_objects() if value.__module__.startswith("millrace._src")}
    assert len(internal) < 140


def test_pickles_name_the_public_path() -> None:
    for path, value in public_objects():
        if value.__module__ in PATHS:
            assert pickle.loads(pickle.dumps(value)) is value, path


def test_cloudpickle_copies_no_class_of_ours() -> None:
    code = """
import cloudpickle, millrace as ms
print(max(len(cloudpickle.dumps(thing)) for thing in (ms.Model, ms.Tensor, ms.Parameter, ms.save_checkpoint)))
"""
    assert int(run(code)) < 200


def test_inspect_finds_the_source_of_every_definition() -> None:
    seen: set[tuple[str, type]] = set()
    for path, value in public_objects():
        module = definition_module(value)
        made = (
            isinstance(value, type)
            and issubclass(value, Primitive)
            and ("function" in vars(value) or hasattr(value, "rule"))
        )
        # one class and one function of each module: each takes a pass over the file
        if made or (module, type(value)) in seen or not module.startswith("millrace."):
            continue
        seen.add((module, type(value)))
        source = inspect.getsource(value)
        name = value.__qualname__.rpartition(".")[2]
        assert not isinstance(value, type) or f"class {name}" in source, path
    assert len(seen) > 300


def test_type_hints_resolve_where_the_definition_stands() -> None:
    for path, value in public_objects():
        if isinstance(value, type):
            typing.get_type_hints(value), path


def test_declarations_read_and_declarations_made_are_the_same() -> None:
    """What the generator reads from the syntax tree is what runs."""
    read = {(name.module, name.attribute): name.path for name in all_names(read_sources()) if name.canonical}
    for path, value in public_objects():
        expected = read.get((definition_module(value), value.__qualname__))
        if expected is not None:
            assert value.__module__ == module_of_path(expected), path


def test_a_function_that_uses_public_modules_can_be_sent_to_a_worker() -> None:
    code = """
import cloudpickle, pickle
import millrace as ms, millrace.dataset as ds
from millrace import log, nn, ops
def work(): return ms.Tensor, ds.vision, log.info, nn.Dense, ops.add
print(pickle.loads(cloudpickle.dumps(work))() == work())
"""
    assert run(code).strip() == "True"
