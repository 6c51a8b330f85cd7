"""Every public name has a place in docs/reference, once."""

import importlib
import importlib.util
import inspect
import re
from collections import Counter

import pytest

from tests.contracts.public_api import make_public
from tests.e2e.docs.pages import ROOT
from tests.support import public_surface as surface

DIRECTIVE = re.compile(r"^::: (\S+)(?P<options>(?:\n(?: .*)?)*)", re.MULTILINE)
# Faces whose names are shown under another face, or in a table of the page named here.
TOLD = {
    "millrace.common.dtype": "types.md",
    "millrace.dataset.config": "config.md",  # docs/hooks.py lists every setting there
    "millrace.dataset.transforms.c_transforms": "old-modules.md",
    "millrace.dataset.transforms.py_transforms": "old-modules.md",
    "millrace.dataset.vision.c_transforms": "old-modules.md",
    "millrace.dataset.vision.py_transforms": "old-modules.md",
}

# Faces of training and serving whose names stand there one by one, as those of the data wing do.
SHOWN = (
    "millrace",
    "millrace.amp",
    "millrace.boost",
    "millrace.common.initializer",
    "millrace.communication",
    "millrace.communication.comm_func",
    "millrace.experimental.optim",
    "millrace.experimental.optim.lr_scheduler",
    "millrace.hal",
    "millrace.log",
    "millrace.mint.distributed",
    "millrace.mint.optim",
    "millrace.nn.probability.bijector",
    "millrace.nn.probability.distribution",
    "millrace.parallel",
    "millrace.profiler",
    "millrace.runtime",
    "millrace.serve",
    "millrace.transfer",
    "millrace.train",
)

# Modules whose names stand in tables that docs/operations.py makes.
TABLES = (
    "millrace.mint",
    "millrace.mint.linalg",
    "millrace.mint.nn",
    "millrace.mint.nn.functional",
    "millrace.mint.special",
    "millrace.nn",
    "millrace.numpy",
    "millrace.ops",
    "millrace.scipy.linalg",
)


def directives():
    return [
        found[1]
        for page in sorted((ROOT / "docs/reference").rglob("*.md"))
        for found in DIRECTIVE.finditer(page.read_text())
    ]


def thing(path):
    """What a user gets under this path: an attribute comes before a module of the same name."""
    root, *names = path.split(".")
    found = importlib.import_module(root)
    for name in names:
        try:
            found = getattr(found, name)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{name}")
    return found


def values(module):
    """What a module has under its public names; lazy ones are loaded."""
    return [getattr(module, name) for name in surface.names_of(module)]


def missing(names_of):
    """The lines that no page has, for the public names of some modules."""
    shown = set()
    for path in directives():
        found = thing(path)
        shown |= set(map(id, values(found))) if inspect.ismodule(found) else {id(found)}
    pages = "\n".join(page.read_text() for page in (ROOT / "docs/reference").rglob("*.md"))
    for module, names in names_of.items():
        for name in names:
            found = getattr(importlib.import_module(module), name)
            if inspect.ismodule(found):
                continue
            has_docstring = inspect.isclass(found) or inspect.isroutine(found)
            if not (id(found) in shown if has_docstring else f"`{name}`" in pages):
                yield f"::: {module}.{name}"


def test_every_public_name_is_on_a_reference_page():
    names_of = surface.public_names()
    for module in TOLD:
        assert module in (ROOT / "docs/reference" / TOLD[module]).read_text()
        names_of.pop(module, None)
    assert list(missing(names_of)) == [], "add these lines to the page of their family under docs/reference"


def test_every_name_of_training_and_serving_is_on_a_reference_page():
    pytest.importorskip("torch")
    tabled = {id(value) for module in TABLES for value in values(importlib.import_module(module))}
    names_of = {}
    for module in SHOWN:
        face = importlib.import_module(module)
        names_of[module] = [name for name in face.__all__ if id(getattr(face, name)) not in tabled]
    assert list(missing(names_of)) == [], "add these lines to the page of their family under docs/reference"


def operations():
    """docs/operations.py, which fills in the tables of the training half."""
    spec = importlib.util.spec_from_file_location("operations", ROOT / "docs/operations.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_operation_and_layer_is_in_a_table():
    pytest.importorskip("torch")
    made = operations()
    pages = [page.read_text() for page in sorted((ROOT / "docs/reference").rglob("*.md"))]
    asked = [mark["module"] for page in pages for mark in made.MARK.finditer(page)]
    assert sorted(asked) == sorted(TABLES)
    for module in TABLES:
        face = importlib.import_module(module)
        names = {name for name in face.__all__ if not inspect.ismodule(getattr(face, name))}
        shown = {name for _, family in made.families(module) for name, _ in family}
        assert shown == names
        text = made.tables(module)
        assert text.count("\n| `") == len(names)
        silent = [
            name
            for _, family in made.families(module)
            for name, thing in family
            if callable(thing) and not made.sentence(thing)
        ]
        assert silent == [], f"{module}: these say nothing of themselves"
        for line in text.splitlines():
            if line.startswith("|"):
                assert len(re.findall(r"(?<!\\)\|", line)) == 3, line


def test_tools_that_run_no_code_find_every_definition():
    """The stubs say where each name that has a docstring is defined."""
    pytest.importorskip("torch")
    stubs = {path: text for path, text in make_public.texts().items() if path.suffix == ".pyi"}
    for path in directives():
        module, _, name = path.rpartition(".")
        files = [
            stubs.get(make_public.ROOT.joinpath(*module.split(".")[1:], end)) for end in ("__init__.pyi",)
        ]
        files += [stubs.get(make_public.ROOT.joinpath(*module.split(".")[1:]).with_suffix(".pyi"))]
        for text in filter(None, files):
            assert re.search(rf"\bas {name}\b|^(class|def) {name}\b|^{name} = ", text, re.MULTILINE), path


def test_layers_come_with_their_examples():
    pytest.importorskip("torch")
    page = operations().filled("<!-- names of millrace.nn with examples -->", lambda text: text)
    assert "### Dense" in page
    assert "<!--" not in page


def test_every_method_of_dataset_is_on_its_page():
    import millrace.dataset as ds

    listed = {
        path.rpartition(".")[2] for path in directives() if path.startswith("millrace.dataset.Dataset.")
    }
    assert sorted(name for name in dir(ds.Dataset) if not name.startswith("_") and name not in listed) == []


def test_no_name_is_shown_twice():
    assert [path for path, times in Counter(directives()).items() if times > 1] == []
