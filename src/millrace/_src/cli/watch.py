"""``millrace watch``: show a run in the browser or the terminal, live or afterwards."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import webbrowser
from pathlib import Path
from typing import Any

from millrace._src.core.errors import MillraceError
from millrace._src.observe.live.dashboard_server import DashboardServer
from millrace._src.observe.live.event_log import EventLogReader
from millrace._src.observe.live.run_directory import list_runs
from millrace._src.observe.live.run_state import RunState
from millrace._src.observe.live.text_summary import text_summary

from .parser import fail, no_such_path, number
from .terminal_output import console, say, say_json

__all__ = ["add_arguments", "run"]

EPILOG = """\
A run writes its history inside `with ds.monitor():`, or in a program that is
started with MILLRACE_MONITOR=1. The command finds the history by itself; the
last twenty are kept among temporary files. To keep one longer:
ds.monitor(history="run.history").

The page is served on this machine only, at an address with a secret token.
From another machine: ssh -L 8000:127.0.0.1:PORT HOST. Prometheus reads
/metrics under that address, or with the token as bearer token.

examples:
  millrace watch                  show the current run, or the last one
  millrace watch --live --text    follow the current run in the terminal
  millrace watch run.history      show a saved history
"""
# Seconds between two updates in the terminal.
EVERY = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = EPILOG
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="history file of a run (default: the current or last run)"
    )
    parser.add_argument("--live", action="store_true", help="only a running program: your newest")
    parser.add_argument("--list", action="store_true", help="list the runs")
    parser.add_argument("--text", action="store_true", help="show it in the terminal; a live run is updated")
    parser.add_argument("--json", action="store_true", help="print the current state as JSON")
    parser.add_argument(
        "--port", type=_parse_port, default=0, metavar="N", help="port of the page (default: any free port)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address without opening a browser"
    )


def _parse_port(text: str) -> int:
    return number(text, int, lambda n: 0 <= n < 65_536, "a port")


def run(arguments: argparse.Namespace) -> int:
    """Find the run and show it."""
    try:
        if arguments.list:
            return _list_runs()
        path = _find_run(arguments)
        if path is None:
            return fail("watch", _report_no_run(arguments))
        if arguments.json:
            say_json(_current_snapshot(path))
            return 0
        return _show_text(path) if arguments.text else _serve_page(path, arguments)
    except (MillraceError, OSError) as error:
        return fail("watch", str(error))


def _find_run(arguments: argparse.Namespace) -> Path | None:
    if arguments.file is not None:
        return Path(arguments.file) if os.path.exists(arguments.file) else None
    return next((path for path, goes_on in list_runs() if goes_on or not arguments.live), None)


def _report_no_run(arguments: argparse.Namespace) -> str:
    if arguments.file is not None:
        return no_such_path(arguments.file)
    which = "you have no live run with a history" if arguments.live else "you have no run with a history"
    return f"{which}. Iterate inside `with ds.monitor():`, or start the program with MILLRACE_MONITOR=1"


def _read_state(tail: EventLogReader, state: RunState) -> RunState:
    """Read new entries; a file that was restarted gives a new state."""
    while True:
        anew, lines = tail.read_new()
        if anew:
            state = RunState()
        if not lines:
            return state
        for line in lines:
            state.apply(line)


def _current_snapshot(path: Path) -> dict[str, Any]:
    with EventLogReader(path) as tail:
        ended = tail.ended
        state = _read_state(tail, RunState())
        return {**state.snapshot(ended), "damaged": state.damaged + tail.damaged}


def _list_runs() -> int:
    runs = list_runs()
    for path, goes_on in runs:
        now = _current_snapshot(path)
        rank = "" if now.get("rank") is None else f" rank {now['rank']}"
        say(
            f"{'live' if goes_on else now['status']:8}  {now['when']}  {now.get('program', '?')}{rank}  {path}"
        )
    if not runs:
        say("no runs")
    return 0


# in the terminal ------------------------------------------------------------------------------------


def _show_text(path: Path) -> int:
    now = _current_snapshot(path)
    if now["status"] != "live" or not sys.stdout.isatty():
        say("\n".join(text_summary(now)))
        return 0
    from rich.live import Live
    from rich.text import Text

    with EventLogReader(path) as tail, Live(console=console(), auto_refresh=False) as screen:
        state = RunState()
        while True:
            ended = tail.ended
            state = _read_state(tail, state)
            now = state.snapshot(ended)
            screen.update(
                Text("\n".join(text_summary(now, width=max(60, screen.console.width)))), refresh=True
            )
            if ended:
                return 0
            time.sleep(EVERY)


# in the browser -------------------------------------------------------------------------------------


def _serve_page(path: Path, arguments: argparse.Namespace) -> int:
    with DashboardServer(path, arguments.port) as server:
        now = _current_snapshot(path)
        say(f"{now.get('program', '?')}, {now['when']}, {now['status']}: {path}")
        say(f"the page: {server.url}")
        say("Press Ctrl-C to stop; --text shows the run in this terminal", flush=True)
        if not arguments.no_browser and sys.stdout.isatty() and _has_screen():
            webbrowser.open(server.url)
        threading.Event().wait()  # until Ctrl-C
    return 0


def _has_screen() -> bool:
    """Whether a graphical browser is available; a text browser would take over this terminal."""
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
