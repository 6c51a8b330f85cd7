"""What a script has made of its own modules by the time it iterates is what its worker processes find."""

import importlib
import pickle
import sys
import warnings

import pytest

from millrace._src.data.engine.executors.processes.launcher import METHODS
from millrace._src.data.engine.executors.worker_pool import module_state as modules
from tests.unit.data.engine.executors.test_scripts import ran

CONFIG = """
import argparse, threading

size = 8
names = ["a"]
big = b""
lock = threading.Lock()
missing = object()
args = argparse.Namespace(rate=0.1, depth=1)
alias = args

class Settings:
    root = "/nowhere"
    class Inner:
        level = 0

class Box(dict):
    # as easydict and yacs do it
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None
    __setattr__ = dict.__setitem__

cfg = Box(model=Box(depth=1))

def is_missing(value):
    return value is missing
"""
COPIES = "from mine.config import args, cfg, size\ndouble = 2 * size\nREGISTRY = {}\n"
PARTS = """
from mine import copies
def register(f):
    copies.REGISTRY[f.__name__] = f
    return f
@register
def plus(x):
    return x + 1
"""
READ = """
from mine import config, copies
import by_path
import numpy as np

class Data:
    def __len__(self):
        return 4
    def __getitem__(self, i):
        import importlib
        import seldom  # imported in the worker alone, when a row is read
        made_up = importlib.import_module("".join(["some", "times"]))  # no source has this name
        assert copies.args is config.args is config.alias and copies.cfg is config.cfg
        assert config.is_missing(config.missing) and config.lock is not None
        assert copies.REGISTRY["plus"](1) == 2
        assert by_path.answer == 42, by_path.answer
        assert config.chosen(3) == 9 and config.chosen is config.other
        found = [
            config.size, copies.size, copies.double, len(config.names), config.args.rate, config.args.added,
            config.Settings.root == "/data", config.Settings.Inner.level, config.cfg.model.depth, seldom.value,
            made_up.value,
        ]
        return np.array(found, np.float64)
"""
SCRIPT = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("by_path", os.path.join(FOLDER, "elsewhere", "odd name.py"))
by_path = importlib.util.module_from_spec(spec)
sys.modules["by_path"] = by_path
spec.loader.exec_module(by_path)
import millrace.dataset as ds
from mine import config, copies, parts, read
import seldom, sometimes

def square(x):
    return x * x

config.size = 64
config.names.append("b")
config.args.rate = 0.5
config.args.added = 7
config.Settings.root = "/data"
config.Settings.Inner.level = 3
config.cfg.model.depth = 101
config.chosen = config.other = square
seldom.value = 11
sometimes.value = 12
by_path.answer = 42
ds.config.set_multiprocessing_start_method(METHOD)
ds.config.set_max_image_pixels(1234)
ds.config.set_decode_tolerance(2.5)
data = ds.GeneratorDataset(read.Data(), "x", shuffle=False, num_parallel_workers=2)

def settings(x):
    import os
    from millrace.dataset import config
    return (x, config.get_max_image_pixels(), config.get_decode_tolerance(), os.getpid())

data = data.map(settings, output_columns=["x", "pixels", "tolerance", "pid"], num_parallel_workers=2,
                python_multiprocessing=True)
for x, pixels, tolerance, pid in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
    assert pid != os.getpid()
    print(x.tolist(), int(pixels), float(tolerance))
"""


def project(tmp_path, method):
    """A script with a package of its own beside it."""
    files = {
        "mine/__init__.py": "", "mine/config.py": CONFIG, "mine/copies.py": COPIES, "mine/parts.py": PARTS,
        "mine/read.py": READ, "seldom.py": "value = 1\n", "sometimes.py": "value = 2\n",
        "elsewhere/odd name.py": "answer = 41\n",
        "script.py": SCRIPT.replace("FOLDER", repr(str(tmp_path))).replace("METHOD", repr(method)),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "script.py"


@pytest.mark.parametrize("method", METHODS)
def test_workers_find_the_modules_as_the_script_left_them(tmp_path, method):
    done = ran([str(project(tmp_path, method))], tmp_path)
    row = "[64.0, 8.0, 16.0, 2.0, 0.5, 7.0, 1.0, 3.0, 101.0, 11.0, 12.0] 1234 2.5"
    assert done.stdout.splitlines() == [row] * 4
    assert done.stderr == ""


def test_what_is_too_large_stays_behind_and_that_is_said(tmp_path):
    script = project(tmp_path, "forkserver")
    script.write_text(
        script.read_text().replace("config.size = 64", "config.size = 64; config.big = bytes(9 << 20)")
    )
    done = ran([str(script)], tmp_path)
    assert len(done.stdout.splitlines()) == 4
    assert done.stderr.count("mine.config.big takes more than") == 1


def test_a_counter_of_a_module_stays_behind_without_a_word(tmp_path, monkeypatch):
    """Python 3.12 and 3.13 warn of a pickle that the user has not asked for; 3.14 can make none."""
    (tmp_path / "counts_rows.py").write_text("import itertools\nnumbers = itertools.count()\nsize = [1]\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("counts_rows")
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            world = pickle.loads(modules.collect_module_state(pickle.dumps(None)))
    finally:
        del sys.modules["counts_rows"]
    assert [str(each.message) for each in said if each.category is DeprecationWarning] == []
    assert list(world.modules["counts_rows"].objects) == ["size"]
    assert next(module.numbers) == 0
