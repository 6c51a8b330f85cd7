"""Run the lines of a scenario with either library's command, and write down what they say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.processes import kill

SESSION = re.compile(r"Session created for server on port \d+: (\d+)")
PROCESS = re.compile(r"process id (\d+)")

# words, and what is added to the environment -> exit status, standard output, standard error
Command = Callable[[list[str], dict[str, str]], tuple[int, str, str]]


class Play:
    """One scenario: the sessions that were made, the server that runs, and the names these get in a record."""

    def __init__(self, command: Command, port: int, folder: Path) -> None:
        self.command, self.port, self.folder = command, port, folder
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
        env = {}
        while words and re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            env[name] = value
        status, out, err = self.command(words, env)
        self.sessions += SESSION.findall(out)
        if found := PROCESS.search(out):
            self.server = int(found[1])
        return {"line": text, "rc": status, "out": self._named(out), "err": self._named(err)}

    def _named(self, text: str) -> list[str]:
        """The lines, with names for numbers that differ from run to run; columns keep their width."""
        lines = []
        for line in text.splitlines():
            line = re.sub(
                r"^\[WARNING\] .*?\] (?=\w+\])", "[WARNING] ", line
            )  # of a log: process, time, place
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


def lines_of(text: str) -> list[str]:
    """The lines of a scenario; one that is empty is the command alone."""
    return [line.strip() for line in text.strip("\n").splitlines()][:-1]
