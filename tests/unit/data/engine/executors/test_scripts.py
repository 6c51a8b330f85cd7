"""Scripts as people write them: no guard around the main part, everything defined where it is used."""

import os
import subprocess
import sys

import pytest

from millrace._src.data.engine.executors.processes.launcher import METHODS

SCRIPT = """
import sys
print("the script runs")  # printed once: no worker imports the script
import numpy as np
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.executors.processes import ProcessExecutor

FACTOR = 10

class Point:
    made = 0
    def __init__(self, x):
        self.x = x
    def moved(self):
        return Point(self.x + FACTOR)

class Mine(Exception):
    pass

class Segment:
    def __init__(self, function):
        self.function = function
    def __call__(self, chunk):
        if chunk.start == 99:
            raise Mine("as asked")
        columns = {"x": self.function(chunk.columns["x"]), "p": [p.moved() for p in chunk.columns["p"]]}
        return chunk.with_columns(columns), Point(5)
    def init_worker(self, worker):
        pass
    def describe(self):
        return "segment"
    def close(self):
        pass

executor = ProcessExecutor(Segment(lambda x: x * FACTOR), 2, start_method=START_METHOD)
moved = Point.moved

def chunk(start=0):
    columns = {"x": np.arange(3), "p": [Point(i) for i in range(3)]}
    return Chunk(columns, np.arange(3, dtype=np.uint64), start=start)

for _ in range(3):
    task = executor.submit(chunk())
    assert task.wait(60)
    if task.error: raise task.error
    result, report = task.result
    print(result.columns["x"].tolist(), [p.x for p in result.columns["p"]], report.x)
    print("same class", all(type(p) is Point for p in [*result.columns["p"], report]), Point.moved is moved)

task = executor.submit(chunk(99))
assert task.wait(60)
print("same error", type(task.error) is Mine, task.error, "as asked" in str(task.error.__cause__))
executor.close()
"""
SAID = ["the script runs"]
SAID += ["[0, 10, 20] [10, 11, 12] 5", "same class True True"] * 3 + ["same error True as asked True"]


def ran(arguments, cwd, stdin=None, **env):
    done = subprocess.run(
        [sys.executable, *arguments],
        input=stdin, capture_output=True, text=True, timeout=100, cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **env},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", ["file", "-c", "stdin", "-m"])
def test_scripts_without_a_guard(tmp_path, method, way):
    text = SCRIPT.replace("START_METHOD", repr(method))
    (tmp_path / "my_script.py").write_text(text)
    arguments = {"file": ["my_script.py"], "-c": ["-c", text], "stdin": ["-"], "-m": ["-m", "my_script"]}[way]
    done = ran(arguments, tmp_path, text if way == "stdin" else None)
    assert done.stdout.splitlines() == SAID
    assert done.stderr == ""


@pytest.mark.parametrize("method", METHODS)
def test_a_script_that_forgets_to_close_ends_quietly(tmp_path, method):
    text = SCRIPT.replace("START_METHOD", repr(method)).replace("executor.close()", "")
    done = ran(["-X", "dev", "-c", text], tmp_path)
    assert done.stdout.splitlines() == SAID
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("method", METHODS)
def test_modules_beside_the_script_and_prints(tmp_path, method):
    (tmp_path / "lib").mkdir()
    (tmp_path / "main").mkdir()
    helper = "def run(chunk):\n    print('helped')\n    return chunk, None\n"
    (tmp_path / "lib" / "helper_of_mine.py").write_text(helper)
    # In the current folder, which is not on the path: no interpreter we start may pick it up.
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')\n")
    script = tmp_path / "main" / "script.py"
    script.write_text(f"""
import sys
sys.path.insert(0, {str(tmp_path / "lib")!r})
import helper_of_mine, numpy as np
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.executors.processes import ProcessExecutor
class Segment:
    def __call__(self, chunk): return helper_of_mine.run(chunk)
    def init_worker(self, worker): pass
    def describe(self): return "segment"
    def close(self): pass
executor = ProcessExecutor(Segment(), 1, start_method={method!r})
task = executor.submit(Chunk({{"x": np.arange(3)}}, np.arange(3, dtype=np.uint64)))
assert task.wait(60)
assert task.error is None, task.error
executor.close()
""")
    assert ran([str(script)], tmp_path).stdout == "helped\n"


def test_ctrl_c_reaches_only_the_parent(tmp_path):
    """The whole group gets the signal, as from a terminal; workers go on, the parent closes in order."""
    text = """
import os, signal, sys
import numpy as np
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.executors.processes import ProcessExecutor
class Echo:
    def __call__(self, chunk): return chunk, os.getpid()
    def init_worker(self, worker): pass
    def describe(self): return "echo"
    def close(self): pass
executor = ProcessExecutor(Echo(), 2)
chunk = Chunk({"x": np.arange(3)}, np.arange(3, dtype=np.uint64))
before = executor.pids()
executor.submit(chunk).wait(60)
try:
    os.killpg(os.getpgrp(), signal.SIGINT)
    signal.pause()
except KeyboardInterrupt:
    task = executor.submit(chunk)
    print(task.wait(60), task.error, executor.pids() == before)
    executor.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=100, start_new_session=True
    )
    assert done.stdout.split() == ["True", "None", "True"], done.stderr
    assert done.stderr == ""


OPENCV_FIRST = """
import cv2, sys
import numpy as np
import millrace.dataset as ds
cv2.setNumThreads(4)
image = np.arange(400 * 400 * 3, dtype=np.uint8).reshape(400, 400, 3)
for _ in range(5):
    cv2.GaussianBlur(image, (9, 9), 2)  # its threads are up now
ds.config.set_multiprocessing_start_method("fork")
data = ds.GeneratorDataset([image] * 8, "x", shuffle=False)
blur = lambda x: cv2.GaussianBlur(x, (9, 9), 2)
data = data.map(blur, num_parallel_workers=2, python_multiprocessing=True).batch(2)
for epoch in range(3):
    print([row[0].shape for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)])
print(cv2.getNumThreads(), cv2.GaussianBlur(image, (9, 9), 2).shape)
"""


def test_fork_after_opencv_was_used(tmp_path):
    """The child has none of OpenCV's threads and must not wait for them; `ran` has a time-out."""
    done = ran(["-c", OPENCV_FIRST], tmp_path)
    assert done.stdout.splitlines() == [str([(2, 400, 400, 3)] * 4)] * 3 + ["4 (400, 400, 3)"]
    assert done.stderr == ""
