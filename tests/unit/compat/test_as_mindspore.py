"""Scripts written for MindSpore run on Millrace unchanged. Each runs in a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

AS_MINDSPORE = [sys.executable, "-m", "millrace.as_mindspore"]

TUTORIAL = """
    import sys
    import numpy as np
    import mindspore as ms
    import mindspore.dataset as ds
    from mindspore import Tensor, dtype as mstype
    from mindspore.dataset import GeneratorDataset
    import mindspore.dataset.engine.samplers as samplers

    class RandomAccessDataset:
        def __init__(self):
            self._data = np.ones((5, 2))
            self._label = np.zeros((5, 1))

        def __getitem__(self, index):
            return self._data[index], self._label[index]

        def __len__(self):
            return len(self._data)

    ds.config.set_seed(58)
    loader = RandomAccessDataset()
    dataset = GeneratorDataset(source=loader, column_names=["data", "label"])
    for data in dataset:
        print(data[0].shape, data[1].dtype)

    class IterableDataset:
        def __init__(self, start, end):
            self.start = start
            self.end = end

        def __iter__(self):
            return iter(range(self.start, self.end))

    dataset = GeneratorDataset(source=IterableDataset(1, 5), column_names=["data"])
    dataset = dataset.map(lambda x: x * 2, input_columns=["data"]).batch(2, drop_remainder=True)
    for d in dataset.create_dict_iterator(num_epochs=1):
        print(type(d["data"]) is Tensor, d["data"].dtype == ms.int64, d["data"].asnumpy().tolist())

    sampled = ds.NumpySlicesDataset(list(range(9)), ["x"], sampler=samplers.SequentialSampler(3, 2))
    print([int(row["x"]) for row in sampled.create_dict_iterator(num_epochs=1, output_numpy=True)])
    print(mstype.float32, ms.__version__.partition("+"), sys.argv[1:], __name__)
"""


def run(*arguments: str, cwd: Path, code: str | None = None, **options) -> subprocess.CompletedProcess[str]:
    command = (
        [sys.executable, "-c", textwrap.dedent(code)] if code is not None else [*AS_MINDSPORE, *arguments]
    )
    return subprocess.run(command, capture_output=True, text=True, timeout=90, cwd=cwd, **options)


def write(path: Path, code: str) -> str:
    path.write_text(textwrap.dedent(code))
    return str(path)


def says(done: subprocess.CompletedProcess[str], *lines: str) -> None:
    assert (done.returncode, done.stdout.splitlines()) == (0, list(lines)), done.stderr


def test_tutorial_script(tmp_path):
    done = run(write(tmp_path / "tutorial.py", TUTORIAL), "--epochs", "3", cwd=tmp_path)
    says(
        done,
        *["(2,) Float64"] * 5,
        "True True [2, 4]",
        "True True [6, 8]",
        "[3, 4]",
        "Float32 ('2.7.0', '+', 'millrace') ['--epochs', '3'] __main__",
    )
    assert done.stderr == ""


def test_import_instead_of_command(tmp_path):
    done = run(
        cwd=tmp_path,
        code="""
        import millrace.as_mindspore as stand_in
        import mindspore.dataset as ds, millrace.dataset
        stand_in.install()  # a second time does nothing
        print(ds.GeneratorDataset is millrace.dataset.GeneratorDataset, stand_in.installed())
        """,
    )
    says(done, "True True")


NAMES = [
    "from mindspore.train.callback import RunContext, _InternalCallbackParam as P; RunContext(P(a=1)).original_args()",
    "import mindspore.dataset.engine",
    "import mindspore.dataset.engine.iterators",
    "import mindspore.dataset.core.config as config; config.set_seed(1)",
    "import mindspore.mindrecord",
    "import mindspore.dataset.debug",
    "import mindspore.common.tensor",
    "from mindspore.common import dtype as mstype",
    "from mindspore.common.tensor import Tensor",
    "from mindspore.mindrecord import FileWriter, FileReader",
    "from mindspore import FileWriter, set_seed, get_seed, dtype, dataset",
    "from mindspore.dataset import *; GeneratorDataset",
    "from mindspore.dataset.engine.datasets import Dataset, GeneratorDataset, SourceDataset",
    "from mindspore.dataset.engine.iterators import DictIterator, TupleIterator",
    "from mindspore.dataset.engine.samplers import PKSampler",
    "from mindspore.dataset.callback import DSCallback, WaitedDSCallback",
    "from mindspore.dataset.samplers import Sampler",
    "from mindspore.dataset.core.config import ErrorSamplesMode",
    "import mindspore; mindspore.dataset.engine.datasets.GeneratorDataset; mindspore.dataset.config.get_seed()",
    "import mindspore as ms; ms.Tensor([1]), ms.float32, ms.dtype.int8, ms.string, ms.log.get_level()",
]


def test_names(tmp_path):
    lines = [f"exec({line!r}, {{}})" for line in NAMES]
    says(run("-c", "\n".join([*lines, "print('all')"]), cwd=tmp_path), "all")


@pytest.mark.parametrize(
    "module",
    [
        "dataset.transforms",
        "dataset.transforms.c_transforms",
        "dataset.transforms.py_transforms",
        "dataset.vision",
        "dataset.vision.c_transforms",
        "dataset.vision.py_transforms",
        "dataset.vision.utils",
        "dataset.text",
        "dataset.audio",
    ],
)
def test_modules_as_they_come_to_exist(module, tmp_path):
    """There when Millrace has it, and an error that says so when it has not."""
    done = run("-c", f"import mindspore.{module} as m; print(m.__name__)", cwd=tmp_path)
    home = "dataset.vision" if module == "dataset.vision.utils" else module
    if exists(f"millrace.{home}"):
        says(done, f"mindspore.{module}")
    else:
        assert done.returncode == 1
        assert f"'mindspore.{module}' is not in Millrace yet" in done.stderr


def exists(name: str) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return False
    return spec is not None and spec.origin is not None


@pytest.mark.skipif(not exists("millrace.dataset.vision.py_transforms"), reason="no vision transforms yet")
def test_old_transform_modules(tmp_path):
    """The two spellings of the FAQ's page, in one script."""
    code = """
        import numpy as np
        import mindspore.dataset as ds
        import mindspore.dataset.vision.c_transforms as c_vision
        import mindspore.dataset.vision.py_transforms as py_vision
        from mindspore.dataset.transforms.py_transforms import Compose
        from mindspore.dataset.vision.utils import Inter

        data1 = ds.NumpySlicesDataset(np.zeros((4, 20, 30, 3), np.uint8), ["image"], shuffle=False)
        data1 = data1.map(operations=c_vision.Resize((24, 32), Inter.LINEAR), input_columns=["image"])
        transform = Compose([py_vision.ToPIL(), py_vision.CenterCrop(16), py_vision.ToTensor()])
        data1 = data1.map(operations=transform, input_columns=["image"]).batch(4)
        for row in data1.create_dict_iterator(num_epochs=1, output_numpy=True):
            print(row["image"].shape, row["image"].dtype)
    """
    says(run(write(tmp_path / "old.py", code), cwd=tmp_path), "(4, 3, 16, 16) float32")


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("import mindspore.rewrite", "UnsupportedModuleError: No module named 'mindspore.rewrite'"),
        (
            "from mindspore import rewrite",
            "'mindspore.rewrite' is not in Millrace: it edits the source code of networks",
        ),
        ("from mindspore.dataset import NoSuchDataset", "NoSuchDataset' is not in Millrace yet"),
        (
            "import mindspore; mindspore.rewrite",
            "AttributeError: module 'mindspore' has no attribute 'rewrite': Millrace",
        ),
        (
            "import mindspore.dataset as ds; ds.np",
            "module 'mindspore.dataset' has no attribute 'np': Millrace",
        ),
    ],
)
def test_what_is_missing_says_so(code, wanted, tmp_path):
    done = run("-c", code, cwd=tmp_path)
    assert done.returncode == 1
    assert wanted in done.stderr


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_worker_processes(method, tmp_path):
    """Functions and classes of the script that use mindspore's names, without a guard around the main part."""
    code = f"""
        import os
        import mindspore
        import mindspore.dataset as ds
        from mindspore import Tensor
        from mindspore.dataset import config

        class Source:
            def __getitem__(self, index):
                return Tensor([index, os.getpid()]).asnumpy()
            def __len__(self):
                return 8

        def work(x):
            import mindspore.common.dtype as mstype
            assert isinstance(Tensor(x), mindspore.Tensor) and ds.config.get_seed() and mstype.int32
            return x, os.getpid()

        config.set_multiprocessing_start_method({method!r})
        data = ds.GeneratorDataset(Source(), ["x"], num_parallel_workers=2, shuffle=False)
        data = data.map(work, ["x"], ["x", "pid"], python_multiprocessing=True, num_parallel_workers=2)
        rows = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
        print([int(x[0]) for x, _ in rows], all(os.getpid() not in (x[1], pid) for x, pid in rows))
    """
    done = run(write(tmp_path / "workers.py", code), cwd=tmp_path)
    says(done, "[0, 1, 2, 3, 4, 5, 6, 7] True")
    assert done.stderr == ""


def test_log(tmp_path):
    code = "import mindspore.log as log; log.info('quiet'); log.warning('seen %d', 3)\n"
    code += "print(log.get_level(), log.get_log_config())"
    done = run("-c", code, cwd=tmp_path, env={"PATH": "/usr/bin"})
    says(done, "2 {'GLOG_v': '2', 'GLOG_logtostderr': '1'}")
    assert done.stderr == "seen 3\n"
    done = run("-c", code, cwd=tmp_path, env={"PATH": "/usr/bin", "GLOG_v": "1"})
    says(done, "1 {'GLOG_v': '1', 'GLOG_logtostderr': '1'}")
    assert "quiet" in done.stderr


def test_numpy_is_seeded_by_set_seed(tmp_path):
    code = "import mindspore as ms, numpy as np; ms.set_seed(4); print(ms.get_seed(), np.random.rand())"
    assert run("-c", code, cwd=tmp_path).stdout == run("-c", code, cwd=tmp_path).stdout != ""


# the program is run as python runs it ------------------------------------------------------------------------


def test_exit_codes(tmp_path):
    assert run("-c", "raise SystemExit(7)", cwd=tmp_path).returncode == 7
    assert run("-c", "import sys; sys.exit('why')", cwd=tmp_path).stderr == "why\n"
    assert (
        run("-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)", cwd=tmp_path).returncode == -15
    )
    assert run("-c", "raise KeyboardInterrupt", cwd=tmp_path).returncode in (130, -2)


def test_errors_show_only_the_program(tmp_path):
    path = write(tmp_path / "fails.py", "def f():\n    return 1 / 0\nf()\n")
    done, plain = run("fails.py", cwd=tmp_path), [sys.executable, "fails.py"]
    wanted = subprocess.run(plain, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr) == (1, wanted.stderr)
    assert path in done.stderr


def test_syntax_error(tmp_path):
    done = run(write(tmp_path / "bad.py", "def f(:\n"), cwd=tmp_path)
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    assert "as_mindspore" not in done.stderr


def test_script_sees_its_folder_and_itself(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "neighbour.py").write_text("import mindspore.dataset as ds\nNAME = ds.__name__\n")
    write(
        tmp_path / "deep" / "main.py",
        """
        import sys, neighbour
        class Here: pass
        print(neighbour.NAME, sys.modules["__main__"].Here is Here, Here.__module__, sys.argv, __spec__, __package__)
        """,
    )
    done = run("deep/main.py", "-x", cwd=tmp_path)
    says(done, "mindspore.dataset True __main__ ['deep/main.py', '-x'] None None")


def test_module_and_package_and_folder(tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "part.py").write_text("X = 5\n")
    code = "import sys, mindspore\nfrom .part import X\nprint(X, __name__, __spec__.name, sys.argv)\n"
    (tmp_path / "pack" / "__main__.py").write_text(code)
    (tmp_path / "pack" / "tool.py").write_text(code)
    main, tool = tmp_path / "pack" / "__main__.py", tmp_path / "pack" / "tool.py"
    says(run("-m", "pack", "a", cwd=tmp_path), f"5 __main__ pack.__main__ {[str(main), 'a']}")
    says(run("-m", "pack.tool", cwd=tmp_path), f"5 __main__ pack.tool {[str(tool)]}")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("import mindspore; print(mindspore.__version__)\n")
    says(run("app", cwd=tmp_path), "2.7.0+millrace")


def test_help_and_mistakes(tmp_path):
    assert run("--help", cwd=tmp_path).stdout.startswith("usage: python -m millrace.as_mindspore")
    says(run("-V", cwd=tmp_path), "mindspore 2.7.0+millrace")
    for arguments in ([], ["-c"], ["-m"], ["--what"], ["no_such_file.py"], ["-m", "no_such_module"]):
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode == 2, arguments
        assert "usage:" in done.stderr


# refusal ---------------------------------------------------------------------------------------------------


def test_refuses_when_mindspore_is_imported(tmp_path):
    (tmp_path / "mindspore").mkdir()
    (tmp_path / "mindspore" / "__init__.py").write_text("from . import common\n")
    (tmp_path / "mindspore" / "common.py").write_text("")
    code = """
        import mindspore
        try:
            import millrace.as_mindspore
        except ImportError as error:
            print(type(error).__name__, error)
        import sys
        print(mindspore is sys.modules["mindspore"], "millrace.as_mindspore" in sys.modules)
    """
    done = run(cwd=tmp_path, code=code)
    first, second = done.stdout.splitlines()
    assert first.startswith(
        "MindSporeAlreadyImportedError MindSpore is already imported in this process (from "
    )
    assert "Import millrace.as_mindspore before" in first
    assert second == "True False"


def test_refuses_when_a_part_of_mindspore_is_loaded(tmp_path):
    (tmp_path / "mindspore").mkdir()
    (tmp_path / "mindspore" / "__init__.py").write_text(
        "from . import common\nraise ImportError('no libgomp')\n"
    )
    (tmp_path / "mindspore" / "common.py").write_text("")
    code = """
        try:
            import mindspore
        except ImportError:
            pass
        try:
            import millrace.as_mindspore
        except ImportError as error:
            print(error)
    """
    assert (
        "a part of MindSpore is already loaded in this process (mindspore.common"
        in run(cwd=tmp_path, code=code).stdout
    )


def test_real_mindspore_on_the_path_is_not_touched(tmp_path):
    (tmp_path / "mindspore").mkdir()
    (tmp_path / "mindspore" / "__init__.py").write_text("raise RuntimeError('the real one')\n")
    (tmp_path / "mindspore" / "rewrite.py").write_text("raise RuntimeError('the real one')\n")
    code = """
        import mindspore
        print(mindspore.__version__)
        try:
            import mindspore.rewrite
        except ImportError as error:
            print("not in Millrace: it edits" in str(error))
    """
    says(run(write(tmp_path / "s.py", code), cwd=tmp_path), "2.7.0+millrace", "True")
