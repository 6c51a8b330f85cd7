"""Watching runs: it shows them, keeps a bounded history, leaves nothing behind, and never harms a run."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.statistics import RunStats, StageStats
from millrace._src.observe import active_monitor as watching
from millrace._src.observe import monitor as watch
from millrace._src.observe.history import MOST_POINTS, CounterHistory


def numbers(rows: int = 200) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.arange(rows)}, shuffle=False).map(lambda x: x + 1, ["x"]).batch(10)


def drain(data: ds.Dataset) -> list[int]:
    return [int(row["x"].sum()) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_every_pipeline_inside_is_watched(no_leaks: None) -> None:
    drain(numbers())
    with ds.monitor() as watched:
        first, second = drain(numbers()), drain(numbers(50))
    drain(numbers())
    assert [report.delivered for report in watched.reports()] == [20, 5]
    assert first == drain(numbers())
    assert second == first[:5]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_goes_wrong_inside_comes_out_and_nothing_stays(
    error: type[BaseException], no_leaks: None
) -> None:
    def fail() -> None:
        with ds.monitor():
            for _ in numbers().create_dict_iterator(num_epochs=1):
                raise error("stop")

    with pytest.raises(error, match="stop"):
        fail()
    assert watching.active == []


def test_lines_go_to_stderr_and_stdout_stays_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    with ds.monitor() as watched:
        drain(numbers())
        print("mine")
    said = capsys.readouterr()
    assert said.out == "mine\n"
    assert "rows/s" in said.err
    assert watched.reports()[0].bottleneck in said.err


def test_a_monitor_inside_another_keeps_its_own_runs() -> None:
    with ds.monitor() as outer:
        drain(numbers())
        with ds.monitor() as inner:
            drain(numbers())
    assert (len(outer.reports()), len(inner.reports())) == (2, 1)


def test_a_view_that_fails_does_not_harm_the_run(monkeypatch: pytest.MonkeyPatch, no_leaks: None) -> None:
    class Broken:
        def start(self) -> None: ...

        def show(self, runs: list[object]) -> None:
            raise RuntimeError("no such screen")

        def stop(self, runs: list[object]) -> None: ...

    monkeypatch.setattr(watch, "_choose_view", Broken)
    with ds.monitor(interval=0.05) as watched:
        assert watched._thread is not None
        assert len(drain(numbers())) == 20
        watched._thread.join(60)
        assert not watched._thread.is_alive()
        assert len(drain(numbers())) == 20


def test_a_page_that_cannot_be_written_is_an_error_unless_there_is_a_worse_one(tmp_path: Path) -> None:
    nowhere = tmp_path / "missing" / "page.html"
    with pytest.raises(FileNotFoundError), ds.monitor(html=nowhere):
        drain(numbers())

    def fail() -> None:
        with ds.monitor(html=nowhere):
            drain(numbers())
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail()


def test_the_history_is_bounded_and_keeps_the_whole_run() -> None:
    stats, history = RunStats(), CounterHistory(interval=0.0)
    stats.add(StageStats("read", "threads"))
    stats.started = 0.0
    for second in range(10 * MOST_POINTS):
        stats.ended = stats.delivered = second + 1
        history.interval = min(history.interval, 0.5)
        history.look(stats, held=second)
    assert len(history.points) <= MOST_POINTS + 1
    assert history.points[0].at == 1
    assert history.points[-1].at > 9 * MOST_POINTS
    assert {round(rate) for _, rate in history.rates()} == {1}


def test_only_so_many_runs_are_kept() -> None:
    with ds.monitor() as watched:
        for _ in range(watch.MOST_RUNS + 3):
            drain(numbers(10))
    assert len(watched.reports()) == watch.MOST_RUNS


# whole programs -----------------------------------------------------------------------------------

PROGRAM = """
import time
import numpy as np
import millrace.dataset as ds

def slow(x):
    time.sleep(0.002)
    return x

data = ds.NumpySlicesDataset({"x": np.arange(ROWS)}, shuffle=False).map(slow, ["x"]).batch(10)
WITH
    for number, row in enumerate(data.create_dict_iterator(num_epochs=1)):
        print(f"step {number}", flush=True)
"""


def program(tmp_path: Path, rows: int, opening: str) -> list[str]:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.replace("ROWS", str(rows)).replace("WITH", opening))
    return [sys.executable, str(script)]


def test_the_variable_watches_a_whole_program(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for wish, written in (("1", False), (str(page), True), ("0", False)):
        ran = subprocess.run(
            program(tmp_path, 100, "if True:"),
            env={**os.environ, "MILLRACE_MONITOR": wish},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.split() == [word for number in range(10) for word in ("step", str(number))]
        judged = "Too short to judge" in ran.stderr or "The bottleneck is" in ran.stderr
        assert judged == (wish != "0")
        assert page.exists() == written
        page.unlink(missing_ok=True)


def on_a_terminal(command: list[str], interrupt_at: str | None = None) -> tuple[int, str]:
    """Run with a pseudo terminal; all that was written to it, and the exit status."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(slave)
    seen = b""
    until = time.monotonic() + 60
    try:
        while time.monotonic() < until:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                got = os.read(master, 65536)
            except OSError:  # the other side is closed
                break
            if not got:
                break
            seen += got
            if interrupt_at is not None and interrupt_at.encode() in seen:
                process.send_signal(signal.SIGINT)
                interrupt_at = None
        return process.wait(timeout=60), seen.decode(errors="replace")
    finally:
        process.kill()
        process.wait()
        os.close(master)


SHOW_CURSOR = "\x1b[?25h"


def test_a_terminal_shows_stages_and_the_users_prints(tmp_path: Path) -> None:
    status, seen = on_a_terminal(program(tmp_path, 600, "with ds.monitor(interval=0.05):"))
    assert status == 0
    assert [f"step {number}" for number in range(60) if f"step {number}\r\n" not in seen] == []
    assert "map(slow)" in seen
    assert "rows/s" in seen
    assert seen.rindex(SHOW_CURSOR) > seen.rindex("\x1b[?25l")


def test_ctrl_c_gives_the_terminal_back(tmp_path: Path) -> None:
    command = program(tmp_path, 100_000, "with ds.monitor(interval=0.05):")
    status, seen = on_a_terminal(command, interrupt_at="map(slow)")
    assert status != 0
    assert "KeyboardInterrupt" in seen
    assert seen.rindex(SHOW_CURSOR) > seen.rindex("\x1b[?25l")
