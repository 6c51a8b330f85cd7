"""What a program under a monitor writes down, and that a run seen again is the run that was seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, FormatError
from millrace._src.observe import training_registry as steps
from millrace._src.observe.live import run_directory as places
from millrace._src.observe.live.dashboard_server import DashboardServer
from millrace._src.observe.live.event_log import EventLogReader, is_written
from millrace._src.observe.live.run_directory import list_runs
from millrace._src.observe.live.run_state import RunState
from tests.unit.observe.live.http_client import events


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def numbers(rows: int = 200) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.arange(rows)}, shuffle=False).map(lambda x: x + 1, ["x"]).batch(10)


def drain(data: ds.Dataset, epochs: int = 1) -> None:
    iterator = data.create_dict_iterator(num_epochs=epochs, output_numpy=True)
    for _ in range(epochs):
        for _ in iterator:
            pass


def now(path: Path | None) -> dict[str, Any]:
    assert path is not None
    tail, state = EventLogReader(path), RunState()
    ended = tail.ended
    for line in tail.all():
        assert state.apply(line), line
    return state.snapshot(ended)


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(2400):
        if condition():
            return
        threading.Event().wait(0.025)
    raise AssertionError("it never came")


def test_every_watched_run_can_be_seen_again(no_leaks: None) -> None:
    with ds.monitor() as watched:
        drain(numbers())
        assert watched.url is None
        assert [going for _, going in list_runs()] == [True]
    assert [(path, going) for path, going in list_runs()] == [(watched.history, False)]
    seen = now(watched.history)
    assert (seen["status"], seen["pid"]) == ("finished", os.getpid())
    (pipeline,) = seen["pipelines"]
    report = watched.reports()[0]
    assert (pipeline["rows"], pipeline["batches"]) == (report.rows, report.delivered) == (200, 20)
    assert not pipeline["live"]
    assert pipeline["verdict"]["kind"] == report.verdict.bottleneck
    (stage,) = pipeline["stages"]
    assert [op["name"] for op in stage["ops"]] == ["NumpySlicesDataset", "map(<lambda>)", "batch"]
    assert stage["place"].startswith("test_recorder.py:")


def test_the_page_shows_live_what_the_file_shows_afterwards(
    no_leaks: None, capfd: pytest.CaptureFixture[str]
) -> None:
    live: list[tuple[str, Any]] = []
    with ds.monitor(page=True, interval=0.05) as watched:
        assert watched.url is not None
        assert watched._server is not None
        told = events(watched._server)
        reader = threading.Thread(target=lambda: live.extend(told))
        reader.start()
        iterator = numbers(4000).create_dict_iterator(num_epochs=1)
        next(iterator)
        wait_for(lambda: any(kind == "now" and data["pipelines"] for kind, data in live))
        for _ in iterator:
            pass
    reader.join(60)
    assert watched.url is None
    assert "http://127.0.0.1:" in capfd.readouterr().err
    assert watched.history is not None
    with DashboardServer(watched.history) as server:
        again = list(events(server))

    def points(all_told: list[tuple[str, Any]]) -> list[Any]:
        return [point for kind, data in all_told if kind == "points" for point in data]

    assert points(live) == points(again)
    last = [data for kind, data in live if kind == "now"][-1]
    assert last == [data for kind, data in again if kind == "now"][-1]
    assert last["status"] == "finished"
    statuses = [data["status"] for kind, data in live if kind == "now"]
    assert statuses[0] == "live"


def test_epochs_with_an_iterator_each_are_one_pipeline() -> None:
    data = numbers()
    with ds.monitor() as watched:
        for _ in range(12):
            drain(data)
        drain(numbers(30).rename("x", "y"))
    first, second = now(watched.history)["pipelines"]
    assert (first["number"], first["rows"], first["epochs"]) == (1, 2400, 12)
    assert second["rows"] == 30


def test_branches_say_what_they_feed() -> None:
    left, right = numbers(), numbers().rename("x", "y")
    with ds.monitor() as watched:
        drain(ds.zip((left, right)))
    stages = now(watched.history)["pipelines"][0]["stages"]
    feeds = [stage["feeds"] for stage in stages]
    assert feeds[-1] is None
    assert sorted(feeds[:-1]).count(len(stages) - 1) == 2


def test_a_failure_is_told() -> None:
    def fail() -> None:
        with ds.monitor() as watched:
            seen.append(watched)
            drain(numbers().map(_raises, ["x"]))

    seen: list[Any] = []
    with pytest.raises(RuntimeError):
        fail()
    found = now(seen[0].history)
    assert found["status"] == "failed"
    assert "no such row" in found["why"]


def _raises(x: Any) -> Any:
    raise ValueError("no such row")


def test_a_monitor_inside_another_writes_nothing_of_its_own_unless_asked(tmp_path: Path) -> None:
    with ds.monitor() as outer, ds.monitor() as inner, ds.monitor(history=tmp_path / "mine.history") as third:
        drain(numbers())
    assert inner.history is None
    assert len(list_runs()) == 1
    assert now(outer.history)["pipelines"][0]["rows"] == now(third.history)["pipelines"][0]["rows"] == 200


def test_a_history_has_its_place_or_says_why_not(tmp_path: Path) -> None:
    with pytest.raises(ArgumentValueError, match="missing does not exist"):
        ds.monitor(history=tmp_path / "missing" / "run.history")
    with pytest.raises(ArgumentTypeError, match="history"):
        ds.monitor(history=3)
    with pytest.raises(ArgumentValueError, match="page"):
        ds.monitor(page=70_000)
    (tmp_path / "letter").write_text("dear all")
    with pytest.raises(FormatError, match="It is not written over"), ds.monitor(history=tmp_path / "letter"):
        pass
    assert (tmp_path / "letter").read_text() == "dear all"


def test_a_port_that_is_taken_is_named(no_leaks: None) -> None:
    with ds.monitor(page=True) as first:
        assert first._server is not None
        taken = first._server.port
        with pytest.raises(ArgumentValueError, match=f"port {taken} cannot be had"), ds.monitor(page=taken):
            pass
    assert [going for _, going in list_runs()] == [False, False]


def test_without_a_place_for_it_a_run_is_watched_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "millrace").write_text("in the way")
    with ds.monitor() as watched:
        drain(numbers())
    assert watched.history is None
    assert watched.reports()[0].rows == 200


def test_a_disk_that_is_full_ends_the_history_and_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with ds.monitor(interval=0.05) as watched:
        recorder = watched._recorder
        assert recorder is not None
        assert recorder._log is not None
        monkeypatch.setattr(recorder._log, "flush", _no_room)
        drain(numbers())
        wait_for(lambda: recorder._log is None)
        drain(numbers())
    assert [report.rows for report in watched.reports()] == [200, 200]


def _no_room() -> None:
    raise OSError(28, "No space left on device")


def test_old_histories_are_cleared_away_and_live_ones_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MOST_FILES", 3)
    with ds.monitor() as first:
        for _ in range(6):
            with ds.monitor(page=True):
                pass
        assert first.history is not None
        assert is_written(first.history)
        assert len(list_runs()) <= 4


def test_a_child_of_fork_leaves_the_history_to_its_parent(no_leaks: None) -> None:
    with ds.monitor(page=True) as watched:
        assert watched.history is not None
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, b"here")
            signal.pause()
            os._exit(0)
        os.read(reader, 4)
    try:
        assert is_written(watched.history) is False  # the child lives, and holds no lock
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)


PROGRAM = """
import sys
import numpy as np
import millrace.dataset as ds

data = ds.NumpySlicesDataset({"x": np.arange(400)}, shuffle=False).batch(10)
rows = data.create_dict_iterator(num_epochs=1)
next(rows)
print("begun", flush=True)
sys.stdin.readline()
for row in rows:
    pass
"""


@pytest.mark.parametrize("how", ["ends", "killed"])
def test_another_process_sees_a_whole_program(how: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "MILLRACE_MONITOR": "1", "XDG_RUNTIME_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        wait_for(lambda: bool(list_runs()) and bool(now(list_runs()[0][0])["pipelines"]))
        (path, going) = list_runs()[0]
        seen = now(path)
        assert (going, seen["status"], seen["program"], seen["pid"]) == (
            True,
            "live",
            "program.py",
            process.pid,
        )
        if how == "killed":
            process.kill()
        process.communicate(b"\n", timeout=60)
    assert now(path)["status"] == ("gone" if how == "killed" else "finished")
    if how == "ends":
        assert now(path)["pipelines"][0]["batches"] == 40


def test_losses_are_read_only_while_somebody_looks() -> None:
    assert not steps.has_subscribers()
    with ds.monitor():
        assert steps.has_subscribers()
    assert not steps.has_subscribers()
