"""``millrace run``: ranks start, end together, and the one that died is named."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from millrace._src.core.errors import ArgumentValueError
from millrace._src.parallel.process_failure import ProcessFailure, first_failure, last_traceback
from millrace._src.runtime.distributed.cluster_environment import detect_environment

SCRIPT = Path(__file__).with_name("rank_scripts.py")
LIMIT = 100  # seconds, on a busy machine


def command(*options, what, script=SCRIPT):
    return [sys.executable, "-m", "millrace", "run", *options, str(script), what]


def clean_env():
    drop = (
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "MS_WORKER_NUM",
        "PYTHONUNBUFFERED",
    )
    return {k: v for k, v in os.environ.items() if k not in drop} | {"OMP_NUM_THREADS": "1"}


def run(*options, what, cwd):
    return subprocess.run(
        command(*options, what=what),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=cwd,
        env=clean_env() | {"TMPDIR": str(cwd)},
    )


def test_every_rank_runs_with_its_prefix_and_its_log(tmp_path, no_leaks):
    done = run("-n", "2", "--logs", "logs", what="go on", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [
        "[rank 0] rank 0 of 2: sum 3, told 'go on'",
        "[rank 1] rank 1 of 2: sum 3, told 'go on'",
    ]
    logs = sorted((tmp_path / "logs").rglob("stdout.log"))
    assert [path.parent.name for path in logs] == ["0", "1"]
    assert logs[1].read_text() == "rank 1 of 2: sum 3, told 'go on'\n"
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_a_rank_that_raises_ends_the_others_and_is_named(tmp_path, no_leaks):
    done = run("-n", "2", what="raise", cwd=tmp_path)
    assert done.returncode == 1
    report = done.stderr[done.stderr.index("\nmillrace run: ") :]
    assert re.match(
        r"\nmillrace run: rank 1 \(pid \d+ on .+\) ended with status 1: ValueError: boom\n", report
    )
    assert "Traceback (most recent call last)" in report
    assert 'raise ValueError("boom")' in report
    assert "ended with it: rank 0" in report
    assert list(tmp_path.iterdir()) == []


def test_a_rank_that_is_killed_ends_one_that_ignores_signals(tmp_path, no_leaks):
    done = run("-n", "2", what="ignore and kill", cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"millrace run: rank 1 \(pid \d+ on .+\) was killed by SIGKILL", done.stderr)
    assert "ended with it: rank 0" in done.stderr


def test_ranks_that_are_started_again_meet_again(tmp_path, no_leaks):
    done = run("-n", "2", "--restarts", "1", what="raise once", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.count("rank 0 of 2: sum 3") == 2
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_all(tmp_path, no_leaks):
    running = subprocess.Popen(
        [sys.executable, "-m", "millrace", "run", "-n", "2", "-m", "http.server", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        env=clean_env() | {"TMPDIR": str(tmp_path)},
        # tests that are started in the background are told to ignore it, and so would what they start
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        for line in running.stdout:
            if "Serving HTTP" in line:
                break
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=LIMIT)[0]
    finally:
        if running.poll() is None:
            running.kill()
            running.communicate()
    assert running.returncode == 130
    assert "millrace run: ended by SIGINT" in said


def test_two_machines_end_together(tmp_path, no_leaks):
    """Both launchers run here, each with one rank, as on two machines."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hosts = ["-n", "1", "--hosts", "localhost,127.0.0.1", "--master", f"127.0.0.1:{port}"]
    running = [
        subprocess.Popen(
            command(*hosts, "--node", str(node), what="raise"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
            env=clean_env() | {"TMPDIR": str(tmp_path)},
        )
        for node in range(2)
    ]
    try:
        said = [each.communicate(timeout=LIMIT)[0] for each in running]
    finally:
        for each in running:
            if each.poll() is None:
                each.kill()
                each.communicate()
    assert [each.returncode for each in running] == [1, 1], said
    assert "rank 0 of 2: sum 3" in said[0]
    assert re.search(r"rank 1 \(pid \d+ on .+\) ended with status 1: ValueError: boom", said[1])


def test_the_variables_of_msrun_with_its_scheduler(tmp_path, no_leaks):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"TORCH_CPP_LOG_LEVEL": "ERROR"}  # without a name service PyTorch warns of connections
    shared = (
        clean_env() | quiet | {"MS_WORKER_NUM": "2", "MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": str(port)}
    )
    roles = [
        {"MS_ROLE": "MS_SCHED"},
        {"MS_ROLE": "MS_WORKER", "MS_NODE_ID": "1"},
        {"MS_ROLE": "MS_WORKER", "MS_NODE_ID": "0"},
    ]
    running = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), "go on"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
            env=shared | role,
        )
        for role in roles
    ]
    try:
        said = [each.communicate(timeout=LIMIT)[0] for each in running]
    finally:
        for each in running:
            if each.poll() is None:
                each.kill()
                each.communicate()
    assert said == ["", "rank 1 of 2: sum 3, told 'go on'\n", "rank 0 of 2: sum 3, told 'go on'\n"]
    assert [each.returncode for each in running] == [0, 0, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-n", "0"], "-n/--processes: 0 is not a positive number"),
        (["-n", "2", "--hosts", "a,b", "--node", "5"], "--node 5 is none of the 2 hosts"),
        (["--nodes", "4:2"], "4:2 is not a number of machines"),
        (["--proceses", "2"], "did you mean '--processes'"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, words, tmp_path):
    done = run(*options, what="go on", cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_script_is_named(tmp_path):
    done = subprocess.run(
        command("-n", "2", what="x", script="trian.py"), capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr == "millrace run: trian.py does not exist\n"


OMPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
ENVIRONMENTS = {
    "torchrun": (
        {
            "RANK": "3",
            "WORLD_SIZE": "4",
            "LOCAL_RANK": "1",
            "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "h",
            "MASTER_PORT": "7",
        },
        (3, 4, 1, 2, "h", 7),
    ),
    "mpirun": (OMPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, (1, 4, 1, 4, "", 0)),
    "mpirun on machines": (
        OMPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "7"},
        (1, 4, 1, 2, "h", 7),
    ),
    "mpich": (
        {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"},
        (0, 2, 0, 2, "", 0),
    ),
    "msrun": (
        {
            "MS_WORKER_NUM": "8",
            "MS_NODE_ID": "5",
            "MS_SCHED_HOST": "s",
            "MS_SCHED_PORT": "8118",
            "MS_LOCAL_WORKER_NUM": "4",
        },
        (5, 8, 5, 4, "s", 8118),
    ),
    "shell": ({"RANK_ID": "1", "RANK_SIZE": "8", "DEVICE_ID": "1"}, (1, 8, 1, 8, "127.0.0.1", 29500)),
    "alone": ({"RANK": "3"}, (0, 1, 0, 1, "", 0)),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_who_a_process_is(name):
    env, wanted = ENVIRONMENTS[name]
    found = detect_environment(env)
    assert (found.rank, found.size, found.local_rank, found.local_size, found.host, found.port) == wanted


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"RANK": "x", "WORLD_SIZE": "2"}, "RANK must be an integer, but it is 'x'"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "a rank is less than the size"),
        (OMPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, "-x MASTER_ADDR=host"),
        ({"MS_WORKER_NUM": "2"}, "MS_SCHED_HOST and MS_SCHED_PORT"),
    ],
)
def test_an_environment_that_says_too_little(env, words):
    with pytest.raises(ArgumentValueError, match=re.escape(words)):
        detect_environment(env)


def test_who_died_first(tmp_path):
    left = ProcessFailure(0, 1, 1, "OperationError: could not finish it with the others")
    told = ProcessFailure(2, 3, -signal.SIGTERM, "")
    assert first_failure([left, told, ProcessFailure(3, 4, 1, "ValueError")]).rank == 3
    assert first_failure([left, told, ProcessFailure(3, 4, -signal.SIGKILL, "")]).rank == 3
    assert first_failure([told, left]).rank == 0
    assert first_failure([left, ProcessFailure(2, 3, -signal.SIGTERM, "Traceback\nValueError")]).rank == 2
    (tmp_path / "a" / "1").mkdir(parents=True)
    (tmp_path / "a" / "1" / "stderr.log").write_text(
        "x\n[rank1]: Traceback (most recent call last):\n[rank1]: E: 1\n"
    )
    assert last_traceback(tmp_path, 1) == "Traceback (most recent call last):\nE: 1"
    assert last_traceback(tmp_path, 0) == ""
