"""Cache servers of a test's own: the real command in a process, and files in a folder that nobody else looks into."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millrace._src.data.cache import server_admin as admin

BIN = Path(sys.executable).parent
PORT = 50052


class CacheHome:
    """Runs the commands in an environment where no other server can be seen, and none of another test's."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mr-"))  # short: the name of a socket may not be long
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MS_CACHE_")}
        self.env = kept | {"XDG_RUNTIME_DIR": str(self.folder), "PATH": f"{BIN}:{os.environ['PATH']}"}
        self.env |= {"COLUMNS": "100", "NO_COLOR": "1"}

    def run(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the package, such as ``dataset-cache``."""
        return subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            env=self.env | env, capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    def shell(self, line: str, **env: str) -> str:
        """What a line of shell prints; it has to succeed."""
        done = subprocess.run(
            ["bash", "-c", line], env=self.env | env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def script(self, text: str, *arguments: str, **env: str) -> str:
        """What a script of a user prints, in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-c", text, *arguments],
            env=self.env | env, capture_output=True, text=True, timeout=90,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, *options: str) -> int:
        """Start a server and return its process."""
        done = self.run("dataset-cache", "--start", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return int(re.findall(r"process id (\d+)", done.stdout)[0])

    def session(self, port: int = PORT) -> int:
        """A new session of the server; asked for in this process, which is quicker than a command."""
        with self._here():
            return admin.generate(port=port)

    @contextmanager
    def _here(self) -> Iterator[None]:
        """This process sees the servers of this home."""
        names = ("XDG_RUNTIME_DIR", "TMPDIR")
        before = {name: os.environ.pop(name, None) for name in names}
        os.environ |= {name: self.env[name] for name in names if name in self.env}
        tempfile.tempdir = None
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
            tempfile.tempdir = None

    def files(self) -> list[str]:
        """What there is of servers, living and dead."""
        return sorted(path.name for path in self.folder.rglob("*") if path.name != "millrace")

    def close(self) -> None:
        for lock in list(self.folder.rglob("cache-*.lock")):
            with self._here():
                admin.stop(port=int(lock.stem.partition("-")[2]))
        shutil.rmtree(self.folder)


@contextmanager
def cache_home() -> Iterator[CacheHome]:
    """A home as long as the block runs; its servers end with it."""
    home = CacheHome()
    try:
        yield home
    finally:
        home.close()
