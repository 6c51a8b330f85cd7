"""Q43: the cache server cannot find a shared library. Here there is none to find, and nothing to set."""

from __future__ import annotations

import os

import pytest

from tests.support.cache_server import BIN, CacheHome

TRAIN = """
import sys
import millrace.dataset as ds

def square(x):
    sum(range(200_000))  # long enough to be worth keeping
    return x * x

cache = ds.DatasetCache(session_id=int(sys.argv[1]), size=0)
data = ds.GeneratorDataset(list(range(8)), "x", shuffle=False).map(square, cache=cache)
print([int(row["x"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)])
"""
SQUARES = "[0, 1, 4, 9, 16, 25, 36, 49]\n"


@pytest.mark.parametrize("name", ["dataset-cache", "cache_admin"])
def test_a_start_with_nothing_set(name: str, home: CacheHome) -> None:
    """Not even PATH: what MindSpore asks to be exported (LD_LIBRARY_PATH) is not looked at."""
    bare = {"XDG_RUNTIME_DIR": str(home.folder)}
    home.env = bare
    started = home.run(name, "--start")
    assert started.returncode == 0, started.stderr
    assert started.stdout.startswith("Cache server startup completed successfully!\n")
    session = home.run(name, "-g").stdout.split()[-1]
    assert home.script(TRAIN, session) == SQUARES
    assert home.run(name, "--stop").returncode == 0


def test_a_strange_environment_does_no_harm(home: CacheHome, tmp_path) -> None:
    (tmp_path / "libpython3.so").write_bytes(b"no library")
    (tmp_path / "millrace.py").write_text("raise SystemExit('not the package')")
    strange = {"LD_LIBRARY_PATH": str(tmp_path), "LANG": "C", "HOME": "/nonexistent"}
    here = os.getcwd()
    os.chdir(tmp_path)  # a server runs neither in the folder nor with the modules of whoever started it
    try:
        started = home.run("dataset-cache", "--start", **strange)
    finally:
        os.chdir(here)
    assert started.returncode == 0, started.stderr
    assert home.script(TRAIN, str(home.session())) == SQUARES


@pytest.mark.parametrize("runtime", [None, "/nonexistent/run/user/1000"])
def test_without_a_runtime_folder(runtime: str | None, home: CacheHome) -> None:
    """Containers and cron have none, and `su` keeps that of somebody else: a folder beside the temporary files does."""
    del home.env["XDG_RUNTIME_DIR"]
    home.env |= {"TMPDIR": str(home.folder)} | ({"XDG_RUNTIME_DIR": runtime} if runtime else {})
    home.start()
    made = home.folder / f"millrace-{os.getuid()}"
    assert made.stat().st_mode & 0o777 == 0o700
    assert home.script(TRAIN, str(home.session())) == SQUARES
    assert home.run("dataset-cache", "--stop").returncode == 0
    assert list(home.folder.iterdir()) == []


LINES = [
    "dataset-cache -g | awk 'END {print $NF}'",
    "cache_admin -g | awk '{print $NF}'",
    "dataset-cache -g | awk -F ': ' '{print $2}'",
    "dataset-cache --list_sessions | tail -1 | awk -F ' ' '{{print $1;}}'",
    "dataset-cache --list_sessions | awk 'NR > 3 {print $1; exit}'",
    "dataset-cache --server_info | tail -2 | head -1 | awk '{print $1}'",
    "millrace cache new",
]


def test_lines_that_cut_the_output(home: CacheHome) -> None:
    """As scripts for MindSpore's cache do it."""
    home.start()
    cut = [home.shell(line) for line in LINES]
    listed = home.shell("dataset-cache --list_sessions")
    assert [
        session for session in cut if session.strip() not in listed or not session.strip().isdigit()
    ] == []
    assert home.script(TRAIN, cut[0].strip()) == SQUARES
    assert home.shell(f"dataset-cache --list_sessions | awk '$1 == {cut[0].strip()} {{print $3}}'") == "8\n"
    assert home.shell("dataset-cache --server_info | awk '/^port/ {print $2}'") == "50052\n"


def test_a_script_for_mindspore_runs_as_it_is(home: CacheHome, tmp_path) -> None:
    """A script as MindSpore's users write it: both commands in it, the session cut out of what they print."""
    (tmp_path / "train.py").write_text(
        """
import subprocess
import mindspore.dataset as ds

assert subprocess.call(["dataset-cache", "--start"], stdout=subprocess.DEVNULL) == 0
subprocess.check_output(["dataset-cache", "-g"])
command = "dataset-cache --list_sessions | tail -1 | awk -F ' ' '{{print $1;}}'"
session_id = subprocess.getoutput(command).split("\\n")[-1]
some_cache = ds.DatasetCache(session_id=int(session_id), size=0)

schema = ds.Schema()
schema.add_column("x", "int32", [3])
dataset = ds.RandomDataset(5, schema=schema, cache=some_cache)
for _ in range(2):
    assert len(list(dataset)) == 5
stat = some_cache.get_stat()
assert 0 <= stat.num_mem_cached + stat.num_disk_cached <= 5  # rows so cheap may not be worth keeping
print("trained")
assert subprocess.call(["dataset-cache", "--stop"], stdout=subprocess.DEVNULL) == 0
"""
    )
    assert home.shell(f"{BIN / 'python'} -m millrace.as_mindspore {tmp_path / 'train.py'}") == "trained\n"


def test_the_port_from_the_environment(home: CacheHome) -> None:
    home.start("-p", "50999")
    assert home.run("dataset-cache", "-g").returncode == 1
    session = home.run("dataset-cache", "-g", MS_CACHE_PORT="50999").stdout.split()[-1]
    assert home.script(TRAIN, session, MS_CACHE_PORT="50999", MS_CACHE_HOST="127.0.0.1") == SQUARES


def test_the_doctor_looks_at_it(home: CacheHome) -> None:
    process = home.start()
    said = home.run("millrace", "doctor").stdout
    assert f"ok       shared cache: server at port 50052, process {process}: " in said
