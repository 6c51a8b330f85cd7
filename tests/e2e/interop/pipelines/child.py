"""One process for each library: it is sent pipelines and answers with what came of them.

python -m tests.e2e.interop.pipelines.child LIBRARY FOLDER
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]
START = 60.0  # seconds until the library is imported, on a busy machine
HANG = 6.0  # seconds after which a pipeline hangs: they take milliseconds
OLD = 250  # pipelines after which a process is started anew: leaks of one must not fail another


class Child:
    """A library in a process of its own. A crash or a hang is an outcome like any other."""

    def __init__(self, python: str, library: str, folder: Path, seconds: float = 15.0) -> None:
        self.command = [python, "-m", "tests.e2e.interop.pipelines.child", library, str(folder)]
        self.seconds = seconds
        self.process: subprocess.Popen[bytes] | None = None
        self.served = 0

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the outcome of a job, {"hangs": True} or {"crashes": exit code}."""
        if self.process is None or self.served >= OLD:
            self.close()
            self.process = self._start()
        self.served += 1
        process = self.process
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._crash()
        line = self._line(self.seconds)
        if line is None:
            self.close()
            return {"hangs": True}
        return json.loads(line) if line else self._crash()

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.process = None
        self.served = 0

    def _start(self) -> subprocess.Popen[bytes]:
        environ = os.environ | {"GLOG_v": "4", "PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"}
        process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=ROOT, env=environ, bufsize=0,
        )  # fmt: skip
        self.process = process
        if self._line(START) != b"ready":
            self.close()
            raise SystemExit(f"this process did not come up: {' '.join(self.command)}")
        return process

    def _line(self, seconds: float) -> bytes | None:
        assert self.process is not None
        assert self.process.stdout is not None
        return read_line(self.process.stdout.fileno(), seconds)

    def _crash(self) -> dict[str, Any]:
        assert self.process is not None
        code = self.process.wait()
        self.close()
        return {"crashes": code}


def serve(library: str, folder: str) -> None:
    """Answer line by line. What a library prints does not get between the answers."""
    from tests.e2e.interop.pipelines.names import names
    from tests.e2e.interop.pipelines.outcome import outcome

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    known = names(library, folder)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        # MindSpore takes seconds to import and crashes often: each pipeline gets a copy of the process
        answer = outcome if library == "millrace" else in_a_copy(outcome)
        print(json.dumps(answer(json.loads(line), known)), file=answers, flush=True)


def in_a_copy(work: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return the function, run in a forked process that may crash or hang."""

    def run(*args: Any) -> dict[str, Any]:
        reading, writing = os.pipe()
        copy = os.fork()
        if copy == 0:
            with os.fdopen(writing, "w") as pipe:
                json.dump(work(*args), pipe)
            os._exit(0)
        os.close(writing)
        got = read_line(reading, HANG)
        os.close(reading)
        if got is None:
            os.kill(copy, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
        return {"hangs": True} if got is None else json.loads(got) if got else {"crashes": status}

    return run


def read_line(pipe: int, seconds: float) -> bytes | None:
    """Return the next line, or all there is when the other side has ended; None when the time is over."""
    deadline, got = time.monotonic() + seconds, b""
    while not got.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            return None
        part = os.read(pipe, 1 << 20)
        if not part:
            break
        got += part
    return got.removesuffix(b"\n")


if __name__ == "__main__":
    serve(*sys.argv[1:])
