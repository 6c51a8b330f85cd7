"""Each check on a made-up machine: a folder in place of /, numbers in place of the system's."""

import json
import re
import sys
from pathlib import Path

import pytest

from millrace._src.cli.doctor import cpu, memory
from millrace._src.cli.doctor import dependencies as libraries
from millrace._src.cli.doctor import directories as folders
from millrace._src.cli.doctor import environment_variables as threads
from millrace._src.cli.doctor import interpreter as python
from millrace._src.cli.doctor import registry as checks
from millrace._src.cli.doctor import resource_limits as limits
from millrace._src.cli.doctor import worker_processes as workers
from millrace._src.cli.doctor.finding import LEVELS, Finding, Machine, Space, size

GB = 10**9
ROOMY = Space(100 * GB, 50 * GB, 10**6)


@pytest.fixture
def machine(tmp_path):
    """Make a machine out of files and numbers."""

    def make(files=None, space=ROOMY, **given):
        for name, text in (files or {}).items():
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        usual = {"environ": {"HOME": str(tmp_path)}, "cores": 8, "affinity": 8, "temp": tmp_path, "uid": 1000}
        return Machine(root=tmp_path / "root", space=lambda path: space, **(usual | given))

    return make


def only(findings) -> Finding:
    (finding,) = findings
    return finding


V2 = {"proc/self/cgroup": "0::/\n"}
V1 = {"proc/self/cgroup": "1:cpu:/\n2:memory:/\n3:pids:/\n"}


# --- cores ------------------------------------------------------------------------------------------------


def test_cores_without_quota(machine):
    found = only(cpu.cores(machine(V2)))
    assert found.level == "ok"
    assert found.summary == "8 cores for this process, 8 in the machine; no CPU quota"


@pytest.mark.parametrize(
    "files",
    [
        V2 | {"sys/fs/cgroup/cpu.max": "200000 100000"},
        V1
        | {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"},
    ],
    ids=["v2", "v1"],
)
@pytest.mark.parametrize(("cores", "level"), [(64, "warning"), (4, "note"), (2, "ok")])
def test_cores_against_the_quota(machine, files, cores, level):
    found = only(cpu.cores(machine(files, cores=cores, affinity=cores)))
    assert found.level == level
    if level != "ok":
        assert "2 cores for this process" in found.summary
        assert "export OMP_NUM_THREADS=2" in found.remedy
        assert f"start {cores} threads each" in found.impact


def test_less_than_a_core(machine):
    found = only(cpu.cores(machine(V2 | {"sys/fs/cgroup/cpu.max": "50000 100000"})))
    assert found.level == "warning"
    assert "0.5 of a core" in found.summary
    assert "--cpus" in found.remedy


def test_affinity_is_named(machine):
    assert "3 in its affinity mask" in only(cpu.cores(machine(V2, affinity=3))).summary


@pytest.mark.parametrize(("stopped", "level"), [(50, "warning"), (5, "ok")])
def test_throttling(machine, stopped, level):
    files = V2 | {"sys/fs/cgroup/cpu.stat": f"usage_usec 7\nnr_periods 100\nnr_throttled {stopped}\n"}
    assert only(cpu.throttling(machine(files))).level == level


@pytest.mark.parametrize(("load", "level"), [("2.00", "ok"), ("40.5", "note")])
def test_load(machine, load, level):
    assert only(cpu.load(machine({"proc/loadavg": f"{load} 1.0 1.0 1/99 123\n"}))).level == level


# --- memory -----------------------------------------------------------------------------------------------

MEMINFO = "MemTotal:       32000000 kB\nMemFree: 1 kB\nMemAvailable:   {free} kB\n"


@pytest.mark.parametrize(("free", "level"), [(20_000_000, "ok"), (800_000, "warning"), (100_000, "problem")])
def test_memory(machine, free, level):
    found = only(memory.memory(machine({"proc/meminfo": MEMINFO.format(free=free)})))
    assert found.level == level
    if level != "ok":
        assert f'ds.config.set_memory_budget("{int(free * 1024 / 2e6)}MB")' in found.remedy


def test_the_container_s_limit_counts_without_its_file_cache(machine):
    files = V2 | {
        "proc/meminfo": MEMINFO.format(free=20_000_000),
        "sys/fs/cgroup/memory.max": str(4 * GB),
        "sys/fs/cgroup/memory.current": str(int(3.9 * GB)),
        "sys/fs/cgroup/memory.stat": f"anon 1\ninactive_file {int(2.9 * GB)}\n",
    }
    found = only(memory.memory(machine(files)))
    assert found.level == "ok"
    assert found.summary.startswith("3 GB free of the container's 4 GB; a pipeline may use 2 GB")


def test_shared_memory(machine):
    small, large = Space(64 << 20, 64 << 20, 9), Space(8 * GB, 8 * GB, 9)
    assert "no /dev/shm" in only(memory.shared_memory(machine())).summary
    files = {"dev/shm/.x": ""}
    assert only(memory.shared_memory(machine(files, space=large))).level == "ok"
    note = only(memory.shared_memory(machine(files, space=small, memfd=True)))
    assert (note.level, note.summary) == ("note", "/dev/shm has 67.1 MB free of 67.1 MB")
    warning = only(memory.shared_memory(machine(files, space=small, memfd=False)))
    assert warning.level == "warning"
    assert "--shm-size" in warning.remedy


# --- limits -----------------------------------------------------------------------------------------------

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             {tasks:<20} {tasks:<20} processes
Max open files            {files:<20} {hard:<20} files
Max locked memory         8388608              8388608              bytes
Max address space         {space:<20} unlimited            bytes
"""


def limited(tasks=99999, files=20000, hard="20000", space="unlimited"):
    return {"proc/self/limits": LIMITS.format(tasks=tasks, files=files, hard=hard, space=space)}


@pytest.mark.parametrize(
    ("files", "hard", "level", "remedy"),
    [
        (20000, "20000", "ok", ""),
        (512, "unlimited", "warning", "ulimit -n 4096"),
        (128, "1024", "problem", 'echo "$USER hard nofile 4096" | sudo tee'),
    ],
)
def test_open_files(machine, files, hard, level, remedy):
    found = only(limits.open_files(machine(limited(files=files, hard=hard))))
    assert found.level == level
    assert found.remedy.startswith(remedy)


def test_processes_count_the_threads_of_this_user(machine):
    files = limited(tasks=5000)
    for pid, (uid, count) in enumerate([(1000, 30), (1000, 12), (0, 7000)], 1):
        files[f"proc/{pid}/status"] = f"Name:\tx\nUid:\t{uid}\t{uid}\nThreads:\t{count}\n"
    assert only(limits.processes(machine(files))).summary == "5000, 42 in use"


@pytest.mark.parametrize(("tasks", "level"), [(99999, "ok"), (1000, "note"), (100, "warning")])
def test_few_processes(machine, tasks, level):
    assert only(limits.processes(machine(limited(tasks=tasks)))).level == level


def test_the_container_s_limit_on_processes(machine):
    files = limited() | V1 | {"sys/fs/cgroup/pids/pids.max": "100", "sys/fs/cgroup/pids/pids.current": "95"}
    user, container = limits.processes(machine(files))
    assert user.level == "ok"
    assert container.level == "warning"
    assert container.summary == "of the container (pids.max): 100, 95 in use"
    assert "--pids-limit" in container.remedy


def test_address_space_and_locked_memory(machine):
    assert only(limits.address_space(machine(limited()))).level == "ok"
    assert only(limits.address_space(machine(limited(space=4 * GB)))).level == "warning"
    assert "8.39 MB" in only(limits.locked_memory(machine(limited()))).summary


def test_maps(machine):
    assert only(limits.mappings(machine({"proc/sys/vm/max_map_count": "1000\n"}))).level == "warning"
    assert only(limits.mappings(machine({"proc/sys/vm/max_map_count": "65530\n"}))).level == "ok"


# --- folders ----------------------------------------------------------------------------------------------


def test_temporary_folder(machine, tmp_path):
    assert only(folders.temporary(machine())).level == "ok"
    full = only(folders.temporary(machine(space=Space(GB, 1000, 10**6))))
    assert full.level == "warning"
    assert "export TMPDIR=" in full.remedy
    few = only(folders.temporary(machine(space=Space(100 * GB, 50 * GB, 3))))
    assert "space for 3 more files" in few.summary
    gone = only(folders.temporary(machine(temp=tmp_path / "gone")))
    assert gone.level == "problem"
    assert "No such file" in gone.summary


def test_cache_folder_is_made_when_needed(machine, tmp_path):
    found = only(folders.cache(machine()))
    assert found.level == "ok"
    assert found.summary.startswith(str(tmp_path / ".cache" / "millrace"))
    (tmp_path / ".cache").write_text("a file")
    assert only(folders.cache(machine())).level == "warning"


def test_indexes_of_files_that_are_gone(machine, tmp_path, monkeypatch):
    from millrace._src.data.formats.files import offset_index_cache as offsets
    from millrace._src.data.formats.files.byte_ranges import ByteRanges

    monkeypatch.setattr(offsets, "KEEP_FROM", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    import numpy as np

    for name in ("kept", "gone"):
        (tmp_path / name).write_text("a line\n")
        offsets.load_or_scan_offsets(
            str(tmp_path / name), "lines", lambda path: ByteRanges(np.array([0]), np.array([7]))
        )
    (tmp_path / "gone").unlink()
    here = machine(environ={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    ok, stale = folders.cache(here)
    assert ok.level == "ok"
    assert stale.summary.startswith("1 indexes")
    assert stale.remedy == f"rm -r {tmp_path / 'cache' / 'millrace' / 'offsets'}"


# --- python and libraries ---------------------------------------------------------------------------------


def test_python(machine):
    found = only(python.interpreter(machine()))
    assert sys.version.split()[0] in found.summary
    slow = list(python.interpreter(machine(environ={"PYTHONDEVMODE": "1"})))[-1]
    assert (slow.level, slow.remedy) == ("note", "unset PYTHONDEVMODE")


def test_lock(machine, monkeypatch):
    assert "on" in only(python.lock(machine())).summary
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert only(python.lock(machine())).summary.startswith("off")


@pytest.mark.parametrize(
    ("source", "cost", "level"), [("tsc", 5e-8, "ok"), ("hpet", 5e-8, "warning"), ("tsc", 5e-6, "warning")]
)
def test_clock(machine, monkeypatch, source, cost, level):
    monkeypatch.setattr(Machine, "clock_cost", lambda self: cost)
    folder = "sys/devices/system/clocksource/clocksource0"
    files = {f"{folder}/current_clocksource": f"{source}\n", f"{folder}/available_clocksource": "tsc hpet\n"}
    found = only(python.clock(machine(files)))
    assert found.level == level
    if source == "hpet":
        assert found.remedy == f"echo tsc | sudo tee /{folder}/current_clocksource"


def test_the_clock_takes_time():
    assert 0 < Machine().clock_cost(100) < 1


def test_libraries_that_are_there(machine):
    found = only(libraries.needed(machine()))
    assert found.level == "ok"
    assert "numpy " in found.summary


def test_a_library_that_does_not_load(machine, monkeypatch):
    monkeypatch.setitem(libraries.NEEDED, "numpy", ("no_such_module", "arrays"))
    problem = next(iter(libraries.needed(machine())))
    assert problem.level == "problem"
    assert re.fullmatch(r"pip install --force-reinstall 'numpy>=[\d.]+'", problem.remedy)


def test_a_library_that_is_too_old(machine, monkeypatch):
    monkeypatch.setattr(libraries, "version_of", lambda name: "1.2.3" if name == "pillow" else None)
    old = [found for found in libraries.needed(machine()) if found.level == "problem"]
    assert only(old).summary.startswith("pillow 1.2.3 is older than")


def test_two_opencvs(machine, monkeypatch):
    monkeypatch.setattr(libraries, "version_of", lambda name: "99.0")
    warning = list(libraries.needed(machine()))[-1]
    assert warning.level == "warning"
    assert "pip uninstall -y opencv-python " in warning.remedy


def test_every_extra_is_named_or_found(machine, monkeypatch):
    monkeypatch.setattr(libraries, "version_of", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = only(libraries.extras(machine())).summary
    assert "pip install 'torch>=2.2'" in found
    assert all(name in found for name in libraries.EXTRAS)


def test_jpeg(machine):
    assert "turbo" in only(libraries.jpeg(machine())).summary


# --- threads and processes --------------------------------------------------------------------------------


def test_library_threads(machine, monkeypatch):
    assert only(threads.libraries(machine(cores=999, affinity=999))).level == "ok"
    monkeypatch.setattr("cv2.getNumThreads", lambda: 64)
    note = only(threads.libraries(machine()))
    assert note.level == "note"
    assert "cv2.setNumThreads(8)" in note.remedy


@pytest.mark.parametrize(
    ("environ", "level", "remedy"),
    [
        ({}, "ok", ""),
        ({"OMP_NUM_THREADS": "4"}, "ok", ""),
        ({"OMP_NUM_THREADS": "4,2"}, "ok", ""),
        ({"OMP_NUM_THREADS": "many"}, "warning", "export OMP_NUM_THREADS=8"),
        ({"MKL_NUM_THREADS": "64"}, "note", "export MKL_NUM_THREADS=8"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "warning", "unset OMP_WAIT_POLICY KMP_BLOCKTIME"),
        (
            {"MILLRACE_MONITR": "1"},
            "warning",
            'export MILLRACE_MONITOR="$MILLRACE_MONITR"; unset MILLRACE_MONITR',
        ),
        ({"MILLRACE_QQQ": "1"}, "warning", "unset MILLRACE_QQQ"),
    ],
)
def test_variables(machine, environ, level, remedy):
    found = only(threads.variables(machine(environ=environ)))
    assert (found.level, found.remedy) == (level, remedy)


def test_a_key_is_not_shown(machine):
    found = only(threads.variables(machine(environ={"MILLRACE_RECORD_KEY": "secret"})))
    assert "secret" not in found.summary


def test_every_variable_of_the_source_is_known():
    source = Path(threads.__file__).parents[3]
    read = {
        name
        for path in source.rglob("*.py")
        for name in re.findall(
            r"""(?:environ|getenv|env|environ\.get)[\[(]+["'](MILLRACE_[A-Z_]+)""", path.read_text()
        )
    }
    read |= {
        name
        for path in source.rglob("*.py")
        for name in re.findall(r"""\.get\(["'](MILLRACE_[A-Z_]+)""", path.read_text())
    }
    assert read
    assert read <= set(threads.VARIABLES)


def test_start_method(machine):
    import millrace.dataset as ds

    assert only(workers.start_method(machine())).level == "ok"
    ds.config.set_multiprocessing_start_method("fork")
    assert only(workers.start_method(machine())).level == "warning"


def test_a_trial_that_fails(machine, monkeypatch):
    monkeypatch.setattr(workers, "TRIAL", "raise ValueError('no such luck')")
    found = only(workers.trial(machine(environ={})))
    assert found.level == "problem"
    assert found.summary.endswith("ValueError: no such luck")


# --- all of them ------------------------------------------------------------------------------------------


def test_a_check_that_breaks_is_a_finding(machine):
    def broken(machine):
        raise RuntimeError("oh")

    first, second = checks.diagnose(
        machine(), {"one": broken, "two": lambda machine: [Finding("ok", "fine")]}
    )
    assert (first.level, first.check) == ("warning", "one")
    assert "RuntimeError: oh" in first.summary
    assert (second.level, second.check) == ("ok", "two")


def test_a_bare_machine_breaks_nothing(tmp_path, monkeypatch):
    """Without /proc, /sys and /dev, as on another system."""
    monkeypatch.setitem(checks.CHECKS, "worker processes", lambda machine: [])
    bare = Machine(root=tmp_path, environ={"HOME": str(tmp_path)}, temp=tmp_path)
    found = list(checks.diagnose(bare))
    assert not [finding for finding in found if "this check failed" in finding.summary]


def test_what_is_not_ok_has_a_meaning_and_a_remedy():
    """On this machine, whatever it is."""
    for finding in checks.diagnose(Machine()):
        assert finding.level in LEVELS
        assert finding.summary
        if finding.level != "ok":
            assert finding.impact
            assert finding.remedy
        json.dumps(finding.summary)


@pytest.mark.parametrize(("number", "text"), [(0, "0 bytes"), (1500, "1.5 kB"), (2.5e12, "2.5 TB")])
def test_size(number, text):
    assert size(number) == text


@pytest.mark.parametrize(
    ("version", "level", "words"),
    [
        ("2.13.0+cpu", "ok", "in the tested range 2.11 to 2.15"),
        ("2.2.0", "warning", "older than the tested range"),
        ("3.0.1", "note", "newer than the tested range"),
        (None, "ok", "not installed"),
    ],
)
def test_pytorch_and_its_tested_range(monkeypatch, machine, version, level, words):
    monkeypatch.setattr(libraries, "version_of", lambda name: version)
    finding = only(libraries.pytorch(machine()))
    assert finding.level == level
    assert words in finding.summary
    assert ("torch>=2.11,<2.16" in finding.remedy) == (level != "ok")
