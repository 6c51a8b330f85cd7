"""What holds for every test, the docstring examples of src/ included."""

import doctest
import importlib
import sys
from pathlib import Path

import pytest
from _pytest.doctest import DoctestItem

ROOT = Path(__file__).parent

# Importing this module puts mindspore's names into sys.modules: it is tested in processes of its own.
collect_ignore_glob = ["src/millrace/as_mindspore*"]


def pytest_addoption(parser):
    parser.addoption("--nightly", action="store_true", help="run every cell of the large matrices")


def pytest_collection_modifyitems(config, items):
    """Leave out what only `make nightly` runs: the cells of a matrix that the others imply on most days."""
    if config.getoption("--nightly"):
        return
    left_out = [item for item in items if item.get_closest_marker("nightly")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


def pytest_configure(config):
    """Collect docstring examples of public classes and functions from the modules that define them.

    Their ``__module__`` is the public path; doctest takes only objects whose ``__module__`` is the module itself.
    """
    belongs = doctest.DocTestFinder._from_module

    def from_module(finder, module, definition):
        public = sys.modules.get("millrace._src.core.public")
        declared = public and public.declaration_of(definition)
        return declared.module == module.__name__ if declared else belongs(finder, module, definition)

    doctest.DocTestFinder._from_module = from_module
    config.add_cleanup(lambda: setattr(doctest.DocTestFinder, "_from_module", belongs))


def pytest_ignore_collect(collection_path):
    """Keep `--doctest-modules` to src/: helpers and recording scripts under tests/ are not examples."""
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(ROOT / "tests"):
        return None
    return True if not collection_path.name.startswith(("test_", "conftest")) else None


@pytest.fixture(autouse=True)
def isolated_settings():
    """Put back whatever a test changes in settings, seed, log and context, and let what is said once be said again."""
    settings = importlib.import_module("millrace._src.core.settings")
    log = importlib.import_module("millrace._src.core.log_settings")
    seeds = importlib.import_module("millrace._src.core.random.seeds")
    saved, logged, seeded = settings.snapshot(), log.current(), list(seeds._seed)
    before = _context()
    # what is said once is said once in a process: a test must not depend on what others heard
    importlib.import_module("millrace._src.core.log").reset_warn_once()
    yield
    settings.restore(saved)
    seeds._seed[:] = seeded
    if log.current() != logged:
        log.install(logged)
    after = _context()
    if after != before:
        context = sys.modules["millrace._src.runtime.tensor.backend.context"]
        was = {**context._DEFAULTS, **before}
        context.set_context(**{name: was[name] for name in after if after[name] != was[name]})


def _context():
    """What set_context says of the training wing; nothing where that is not loaded."""
    context = sys.modules.get("millrace._src.runtime.tensor.backend.context")
    return {} if context is None else dict(context._context.values)


@pytest.fixture(autouse=True)
def doctest_in_tmp_path(request):
    """Run docstring examples in a folder of their own, so that the files they write do not stay."""
    if isinstance(request.node, DoctestItem):
        monkeypatch = request.getfixturevalue("monkeypatch")
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))
