"""Which modules a worker will import is read off pickles and import statements: rather one too many than too few."""

import cloudpickle
import pytest

from millrace._src.data.engine.executors.worker_pool.imported_modules import ImportedModules

NAMES = ("shop", "shop.config", "shop.rows", "shop.deep", "shop.deep.size", "alone", "never")


@pytest.fixture
def reach(tmp_path):
    """Builds the modules of NAMES, each with the source given by its name or an empty one."""

    def build(**sources):
        files = {}
        for name in NAMES:
            file = tmp_path / f"{name}.py"
            file.write_text(sources.get(name.replace(".", "_"), ""))
            files[name] = str(file)
        return ImportedModules(files)

    return build


@pytest.mark.parametrize(
    "source",
    [
        "import shop.config",
        "from shop import config",
        "from shop import (\n    rows as r,\n    config,\n)",
        "from shop import rows, \\\n    config",
        "def f():\n    from shop import config\n",
        "if True: import shop.config",
        "x = 1; import shop.config as c",
    ],
)
def test_an_import_is_found_however_it_is_written(reach, source):
    assert {"shop", "shop.config"} <= reach(alone=source).named_by("alone")
    assert "never" not in reach(alone=source).named_by("alone")


@pytest.mark.parametrize(
    "source", ["from . import config", "from .config import x", "from ..shop.config import x"]
)
def test_a_relative_import_leaves_out_the_package(reach, source):
    assert "shop.config" in reach(shop_rows=source).named_by("shop.rows")


def test_from_a_package_within(reach):
    assert "shop.config" in reach(shop_deep_size="from ..config import x").named_by("shop.deep.size")
    assert {"shop.deep", "shop.deep.size"} <= reach(shop_config="from .deep import size").named_by(
        "shop.config"
    )


def test_prose_is_no_import(reach):
    assert reach(alone='"""The config of a shop."""\nconfig = shop = 1\n').named_by("alone") == set()


def test_a_module_without_a_source_may_import_anything(tmp_path):
    files = {"alone": str(tmp_path / "gone.py"), "shop": str(tmp_path / "shop.py")}
    assert ImportedModules(files).named_by("alone") == {"alone", "shop"}


def test_a_pickle_names_what_its_functions_import(reach):
    def late():
        from shop import config

        return config

    assert reach().named_in(cloudpickle.dumps(late)) >= {"shop", "shop.config"}
    assert "never" not in reach().named_in(cloudpickle.dumps(late))
