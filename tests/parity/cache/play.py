"""Run the lines of a scenario with either library's command, and write down what they say."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SESSION = re.compile(r"Session created for server on port \d+: (\d+)")
PROCESS = re.compile(r"process id (\d+)")


class Play:
    """One scenario: the sessions that were made, the server that runs, and the names these get in a record."""

    def __init__(self, command: list[str], port: int, folder: Path, env: dict[str, str]) -> None:
        self.command, self.port, self.folder, self.env = command, port, folder, env
        self.sessions: list[str] = []
        self.server = 0

    def line(self, text: str, rows: Callable[[int, int], Any]) -> dict[str, Any] | None:
        """Run one line; the exit status and both streams. A line in brackets is something that is done."""
        if text == "(spill)":
            self.folder.mkdir(exist_ok=True)
        elif text == "(kill)":
            kill(self.server)
        elif text == "(rows)":
            rows(int(self.sessions[-1]), self.port)
        else:
            return self._run(text)
        return None

    def _run(self, text: str) -> dict[str, Any]:
        session = self.sessions[-1] if self.sessions else ""
        words = shlex.split(text.format(port=self.port, folder=self.folder, session=session))
        env = dict(self.env)
        while words and re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            env[name] = value
        done = subprocess.run([*self.command, *words], env=env, capture_output=True, text=True, timeout=60)
        self.sessions += SESSION.findall(done.stdout)
        if found := PROCESS.search(done.stdout):
            self.server = int(found[1])
        out, err = (self._named(stream) for stream in (done.stdout, done.stderr))
        return {"line": text, "rc": done.returncode, "out": out, "err": err}

    def _named(self, text: str) -> list[str]:
        """The lines, with names for numbers that differ from run to run; columns keep their width."""
        lines = []
        for line in text.splitlines():
            line = line.replace(f"process id {self.server} ", "process id PID ")
            for session in self.sessions:
                line = re.sub(rf"^ +{session}\b", "SESSION".rjust(12), line).replace(session, "SESSION")
            if re.match(r" +SESSION +\d+ ", line):
                line = line[:12] + "CACHE".rjust(12) + line[24:]
            if line.startswith(("port  ", "spill dir  ")):
                line = self._placed(line).rstrip().ljust(len(line))
            lines.append(re.sub(r"/[a-z0-9]{36}\b", "/RANDOM", self._placed(line)))
        return lines

    def _placed(self, line: str) -> str:
        return line.replace(str(self.port), "PORT").replace(str(self.folder), "FOLDER")


def kill(process: int) -> None:
    """End a server as a crash does, and wait until it is gone."""
    os.kill(process, signal.SIGKILL)
    for _ in range(1000):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                time.sleep(0.01)
                continue
        return


def lines_of(text: str) -> list[str]:
    """The lines of a scenario; one that is empty is the command alone."""
    return [line.strip() for line in text.strip("\n").splitlines()][:-1]
