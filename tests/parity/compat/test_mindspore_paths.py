"""Under every module path of MindSpore's training half a script finds the public names that the wheel has there.

What it does not find is in tests/contracts/public_api/paths_not_yet.json, which only shrinks.
"""

import json
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("torch")

from millrace._src.compat.as_mindspore.module_paths import PATHS
from tests.contracts.public_api.shrinking import compare, flat
from tests.contracts.public_api.update_paths import HERE, PATHS_NOT_YET, missing_paths, recorded
from tests.contracts.public_api.update_runtime import NOT_YET

IMPORTS = """
    import json, sys

    recorded = json.load(open(sys.argv[1]))
    left = json.load(open(sys.argv[2]))
    known = {name for names in json.load(open(sys.argv[3])).values() for name in names}
    wrong = []
    for path, names in recorded.items():
        for name in names:
            if name not in left.get(path, ()) and name not in known:
                try:
                    scope = {}
                    exec(f"from {path} import {name} as found", scope)
                except Exception as error:
                    wrong.append(f"{path}.{name}: {error}")
    print(len(recorded), json.dumps(wrong[:20]))
"""


def test_the_paths_are_the_recorded_ones():
    assert sorted(PATHS) == sorted(path for path in recorded() if path != "mindspore")


def test_what_is_missing_is_listed_and_the_list_only_shrinks():
    lost, here = compare(PATHS_NOT_YET, missing_paths(flat(json.loads(NOT_YET.read_text()))))
    assert lost == [], "scripts found these before"
    assert here == [], "these exist now: run `python -m tests.contracts.public_api.update_runtime`"


def test_every_other_name_is_imported(tmp_path):
    """By the import system, in a process of its own, as a script does it."""
    script = tmp_path / "imports.py"
    script.write_text(textwrap.dedent(IMPORTS))
    files = [str(HERE / "module_paths_2.7.0.json"), str(PATHS_NOT_YET), str(NOT_YET)]
    done = subprocess.run(
        [sys.executable, "-m", "millrace.as_mindspore", str(script), *files],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    count, _, wrong = done.stdout.partition(" ")
    assert int(count) > 300
    assert json.loads(wrong) == []


def test_a_function_hides_the_module_of_its_name(tmp_path):
    """As in MindSpore, where a package imports the function after the module."""
    code = """
        import mindspore.common.mutable
        import mindspore.ops.function.grad
        import mindspore.common as common
        from mindspore.common.mutable import mutable
        from mindspore.ops.function import grad
        print(common.mutable is mutable, callable(grad), callable(mindspore.grad))
    """
    done = subprocess.run(
        [sys.executable, "-m", "millrace.as_mindspore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.stdout.split() == ["True", "True", "True"], done.stderr
