"""Two trainings in one folder: one of them is refused, or both end with their own parameters."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import millrace as ms
from millrace import nn
from millrace._src.core.errors import CheckpointError
from millrace._src.train.checkpoint import run_folder
from millrace._src.train.checkpoint.run_folder import (
    FILE,
    ForeignRun,
    check_folder_is_free,
    describe,
    open_run,
)
from millrace.train import Model

from .training_pairs import run

ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(run_folder, "_PATIENCE", 0.0)


def pairs(tmp_path: Path, count: int) -> None:
    """Each of them ends with its own parameters, or is refused with an error that names both runs."""
    command = [sys.executable, "-m", "tests.unit.train.checkpoint.training_pairs", str(tmp_path), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    first, *lines = map(json.loads, done.stdout.splitlines())
    expected = {int(seed): digest for seed, digest in first.items()}
    assert len(set(expected.values())) == 2
    assert len(lines) == count
    for number, results in enumerate(lines):
        for seed, result in results:
            assert result.startswith("refused: ") or result in ("", expected[seed]), (number, seed, result)
        refused = [result for _, result in results if result.startswith("refused: ")]
        assert refused, results  # afterwards the folder belongs to one of them
        assert all("separate folder" in result and "seed" in result for result in refused), results
        assert any(result in expected.values() for _, result in results), results


def test_four_pairs_of_trainings(tmp_path):
    pairs(tmp_path, 4)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_twenty_four_pairs_of_trainings(tmp_path):
    pairs(tmp_path, 24)


def test_a_killed_run_resumes_in_a_new_process_and_another_seed_does_not(tmp_path):
    expected = run(tmp_path / "alone", 1)
    folder = tmp_path / "run"
    command = "import sys; from tests.unit.train.checkpoint.training_pairs import run; run(sys.argv[1], 1, 9)"
    died = subprocess.run([sys.executable, "-c", command, str(folder)], cwd=ROOT, timeout=120)
    assert died.returncode == -signal.SIGKILL
    about = json.loads((folder / FILE).read_text())
    with pytest.raises(
        CheckpointError, match=rf"seed 2, got .* of run {about['id']} with .*seed 1\. Give each training"
    ):
        run(folder, 2)
    assert run(folder, 1) == expected
    assert json.loads((folder / FILE).read_text())["id"] == about["id"]
    assert run(folder, 1) == expected  # nothing is left to train


def test_the_identity_is_in_every_file_and_a_file_of_another_run_is_refused(tmp_path):
    run(tmp_path / "a", 1)
    run(tmp_path / "b", 1)
    ids = {name: json.loads((tmp_path / name / FILE).read_text())["id"] for name in "ab"}
    for file in (tmp_path / "a").glob("*.ckpt"):
        state = ms.train.load_checkpoint(str(file))["millrace.training"]
        assert json.loads(state.asnumpy().tobytes())["run"]["id"] == ids["a"]
    shutil.copy(tmp_path / "b" / "run-3_6.ckpt", tmp_path / "a" / "other-9_9.ckpt")
    with pytest.raises(
        CheckpointError, match=rf"expected a checkpoint of run {ids['a']} .*of run {ids['b']}"
    ):
        run(tmp_path / "a", 1)
    (tmp_path / "a" / FILE).unlink()  # files alone, as they are copied to another machine
    with pytest.raises(CheckpointError, match=r"seed 2, got .*other-9_9\.ckpt of run .*seed 1"):
        run(tmp_path / "a", 2)
    run(tmp_path / "a", 1)


def test_a_training_without_resume_does_not_write_into_a_folder_in_use(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    expected = run(folder, 1)
    with open_run(str(folder), {}), locked_by_another(folder):
        pass
    with (
        locked_by_another(folder),
        pytest.raises(CheckpointError, match="expected a folder that no other training uses"),
    ):
        run(folder, 1, resume=False)
    assert run(folder, 1, resume=False) == expected  # its files have another prefix and another id
    assert (folder / "run_1-3_6.ckpt").exists()
    with pytest.raises(CheckpointError, match="expected a checkpoint of run"):
        run(folder, 1)


@contextlib.contextmanager
def locked_by_another(folder: Path, byte: int = 0):
    """A process that holds the lock of a rank, and is killed in the end."""
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            fd = os.open(folder / FILE, os.O_RDWR | os.O_CREAT)
            with contextlib.suppress(OSError):
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            os.write(tell, b"x")
            signal.pause()
        os._exit(1)
    os.close(tell)
    assert os.read(told, 1) == b"x"
    os.close(told)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_lock_dies_with_its_process_and_is_not_inherited(tmp_path):
    with locked_by_another(tmp_path):
        with pytest.raises(ForeignRun, match="locked by process"), open_run(str(tmp_path), {}):
            pass
        with pytest.raises(ForeignRun):
            check_folder_is_free(str(tmp_path))
    told, tell = os.pipe()
    with open_run(str(tmp_path), {}):
        check_folder_is_free(str(tmp_path))  # it is this process that holds it
        with pytest.raises(ForeignRun, match="another training of this process"), open_run(str(tmp_path), {}):
            pass
        pid = os.fork()
        if not pid:  # a worker that outlives the training
            os.read(told, 1)
            os._exit(0)
    with open_run(str(tmp_path), {}):
        pass
    os.write(tell, b"x")
    os.waitpid(pid, 0)
    os.close(told)
    os.close(tell)


def test_each_rank_of_a_run_has_a_lock_and_all_have_one_identity(tmp_path, monkeypatch):
    net = nn.Dense(2, 1)
    found = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "2")
        ms.set_seed(rank)  # ranks may have different seeds
        with locked_by_another(tmp_path, 1 - rank), open_run(str(tmp_path), describe(net, None, None)) as one:
            one.confirm()
            found.append(one.id)
        with locked_by_another(tmp_path, rank), pytest.raises(ForeignRun), open_run(str(tmp_path), {}):
            pass
    assert len(set(found)) == 1


def test_a_folder_without_checkpoints_belongs_to_nobody(tmp_path):
    ids = []
    for seed in (1, 2):
        with open_run(str(tmp_path), {"seed": seed}) as one:
            one.confirm()
            ids.append(one.id)
    assert ids[0] != ids[1]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"id": 3}', '{"id": "x", "traits": 3, "confirmed": true}', "[" * 9999]
)
def test_a_damaged_identity_is_replaced(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    (tmp_path / "x.ckpt").touch()
    with open_run(str(tmp_path), {"seed": 1}) as one:
        one.confirm()
    assert json.loads((tmp_path / FILE).read_text())["id"] == one.id


def test_a_folder_that_cannot_be_written_is_used_without_a_lock(tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(run_folder.os, "open", refuse)
    with open_run(str(tmp_path), {}) as one:
        one.confirm()
    assert os.listdir(tmp_path) == []


def test_what_distinguishes_a_training():
    ms.set_seed(1)

    def described(width=1, rate=0.1, kind=nn.Momentum, loss=nn.MSELoss):
        net = nn.Dense(2, width)
        more = (0.9,) if kind is nn.Momentum else ()
        return describe(net, kind(net.trainable_params(), rate, *more), loss())

    same = described()
    assert described() == same
    assert described(width=2) != same
    assert described(rate=0.2) != same
    assert described(rate=[0.1, 0.2]) != described(rate=[0.1, 0.3])
    assert described(kind=nn.Adam) != same
    assert described(loss=nn.L1Loss) != same
    ms.set_seed(2)
    assert described() != same
    net = nn.Dense(2, 1)
    model = Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    before = describe(net, model._optimizer, None)
    model._optimizer.learning_rate.set_data(ms.Tensor(0.01, ms.float32))  # as a callback does
    assert describe(net, model._optimizer, None) == before
