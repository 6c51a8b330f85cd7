"""Process launcher: starts worker processes by fork server, spawn or fork, and the parent's handle on a worker."""

from __future__ import annotations

import functools
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentValueError, ResourceError
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine import thread_limits
from millrace._src.data.engine.executors.base import ChunkFunction
from millrace._src.data.engine.executors.worker_pool import worker_setup
from millrace._src.data.engine.executors.worker_pool.pool import WorkerResult
from millrace._src.data.engine.executors.worker_pool.remote_traceback import unpack_error
from millrace._src.data.engine.executors.worker_pool.serialization import (
    PickleByReference,
    PickleByValue,
    flat_loads,
)
from millrace._src.data.engine.transport.channel import MessageChannel, pair
from millrace._src.data.engine.transport.chunk_codec import ObjectCodec, decode_chunk, encode_chunk

from . import forkserver, worker

__all__ = ["METHODS", "ProcessLauncher", "WorkerProcess", "process_limit_error"]

METHODS = ("forkserver", "spawn", "fork")

# After the socket is closed or SIGKILL is sent, the process exits at once unless the disk blocks it.
PATIENCE = 2.0

Reap = Callable[[float], "int | None"]
_all: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()


class WorkerProcess:
    """Handle on a started worker: its channel, its pid, and how to get its exit status."""

    def __init__(self, pid: int, sock: socket.socket, stacks: int, reap: Reap, objects: ObjectCodec) -> None:
        self.pid, self.objects = pid, objects
        self.location = f"process {pid}"
        self.channel = MessageChannel(sock)
        self._stacks = stacks
        self._reap = reap
        self._lock = threading.Lock()
        self._ended = False
        _all.add(self)

    def ready(self, timeout: float) -> bool:
        """Always true: a chunk waits in the socket while the worker starts."""
        return True

    def encode(self, chunk: Chunk) -> Any:
        return self.channel.copy(encode_chunk(chunk, b"", self.objects))

    def send(self, copied: Any) -> None:
        self.channel.post(worker.CHUNK, copied)

    def receive(self, timeout: float) -> WorkerResult | None:
        message = self.channel.receive(timeout)
        if message is None:
            return None
        message_type, data = message
        del message
        if message_type == worker.UNLOADABLE:
            return WorkerResult(None, unpack_error(data, self.objects), unloadable=True)
        try:
            if message_type == worker.RESULT:
                chunk, extra = decode_chunk(data, self.objects)
                return WorkerResult((chunk, flat_loads(self.objects, extra)))
            return WorkerResult(None, unpack_error(data, self.objects))
        except Exception as error:
            return WorkerResult(None, error)

    def close_input(self) -> None:
        self.channel.hang_up()

    def terminate(self) -> None:
        self.signal(signal.SIGTERM)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    def interrupt(self) -> None:
        self.channel.cut()

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has been reaped: its pid may belong to another process by then."""
        with self._lock:
            if not self._ended:
                try:
                    os.kill(self.pid, number)
                except ProcessLookupError:
                    pass

    def ended(self) -> bool:
        """True for a process that is dead while one of its child processes still holds the socket open."""
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as file:
                return file.read().rpartition(b") ")[2][:1] in (b"Z", b"X")
        except OSError:
            return True

    def finish(self) -> int | None:
        """Kill the process if needed, release its resources, and return the exit code (negative: the signal)."""
        self.signal(signal.SIGKILL)  # useless without its channel; an existing exit status is kept
        with self._lock:
            self._ended = True
        code = self._reap(PATIENCE)
        self.channel.close()
        self._close_stacks()
        return code

    def reap(self) -> tuple[bool, str]:
        code = self.finish()
        return code is not None, describe_exit(code)

    def stack(self, patience: float = 1.0) -> str:
        """The Python stacks of the worker's threads, written by a signal handler without cooperation of the worker's
        code.
        """
        self._read_stacks(0.0)  # discard the rest of an earlier, late response
        self.signal(worker.STACKS)
        text = self._read_stacks(patience)
        return text or "  (no response: starting, stopped, or blocked in the kernel)\n"

    def _read_stacks(self, patience: float) -> str:
        if self._stacks < 0:
            return ""
        waiter = select.poll()
        waiter.register(self._stacks, select.POLLIN)
        parts = []
        while waiter.poll(patience * 1000):
            part = os.read(self._stacks, 1 << 16)
            if not part:
                break
            parts.append(part)
            patience = 0.05  # the rest follows at once; there is no end mark
        return b"".join(parts).decode(errors="replace")

    def _close_stacks(self) -> None:
        fd, self._stacks = self._stacks, -1
        if fd >= 0:
            os.close(fd)

    def forget(self) -> None:
        """In a forked child of the parent: close the inherited descriptors without signalling the worker."""
        self._ended = True
        self.channel.sock.close()
        self._close_stacks()


def _after_fork() -> None:
    for process in list(_all):
        process.forget()


os.register_at_fork(after_in_child=_after_fork)


class ProcessLauncher:
    """Starts workers for one runner. Safe to use from several threads."""

    workers = "worker processes"
    max_worker_deaths = 2

    def __init__(
        self, runner: ChunkFunction, method: str, adopt: Callable[[Any], None] | None = None
    ) -> None:
        if method not in METHODS:
            raise ArgumentValueError(f"start method {method!r} is not one of {', '.join(METHODS)}")
        self.method = method
        self._runner = runner
        self._adopt = adopt
        self._setup_fd = -1
        if method == "forkserver":
            forkserver.current()  # comes up while the runner is pickled
        if method != "fork":
            self._setup_fd = worker_setup.write_worker_setup(runner)

    def retired(self, number: int) -> None:
        """Nothing to release: no resources are held for a worker that has ended."""

    def refused(self, wanted: int, started: int, error: BaseException) -> ResourceError:
        return process_limit_error(wanted, started, error)

    def start(self, name: str, number: int) -> WorkerProcess:
        """Start worker ``number`` of its executor. OSError or ResourceError when the system refuses."""
        ours, theirs = pair()
        try:
            read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        except BaseException:
            ours.close()
            theirs.close()
            raise
        try:
            start = {"forkserver": self._from_server, "spawn": self._spawn, "fork": self._fork}[self.method]
            pid, reap = start(name, number, ours, theirs, read, write)
        except BaseException:
            ours.close()
            os.close(read)
            raise
        finally:
            theirs.close()
            os.close(write)
        process = WorkerProcess(
            pid, ours, read, reap, PickleByReference() if self.method == "fork" else PickleByValue()
        )
        process.channel.leases.adopt = self._adopt
        return process

    def _from_server(
        self, name: str, number: int, ours: socket.socket, theirs: socket.socket, read: int, write: int
    ) -> tuple[int, Reap]:
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            fds = [theirs.fileno(), write, self._setup_fd, *(fd if _is_open(fd) else null for fd in (1, 2))]
            for attempt in (0, 1):
                server = forkserver.current()
                try:
                    pid = server.fork(name, number, fds)
                    return pid, functools.partial(server.reap, pid)
                except ConnectionError:  # it was killed; a new one is started
                    if attempt:
                        raise
        finally:
            os.close(null)
        raise AssertionError("unreachable")

    def _spawn(
        self, name: str, number: int, ours: socket.socket, theirs: socket.socket, read: int, write: int
    ) -> tuple[int, Reap]:
        fds = [theirs.fileno(), write, self._setup_fd]
        process = subprocess.Popen(
            forkserver.interpreter("worker.spawn_main", *fds, name, number),
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **forkserver.ONE_THREAD},
        )

        def reap(patience: float) -> int | None:
            try:
                return process.wait(patience)
            except subprocess.TimeoutExpired:
                process.returncode = -signal.SIGKILL  # suppresses the warning when the object is collected
                return None

        return process.pid, reap

    def _fork(
        self, name: str, number: int, ours: socket.socket, theirs: socket.socket, read: int, write: int
    ) -> tuple[int, Reap]:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()  # otherwise the child would print it again
            except Exception:
                pass
        with thread_limits.pause_opencv_threads(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads: the user requested it
            pid = os.fork()
            if pid == 0:
                try:
                    ours.close()
                    os.close(read)
                    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                    worker.worker_main(theirs, write, self._runner, name, number, start_method="fork")
                finally:
                    os._exit(1)
        return pid, functools.partial(_wait, pid)

    def close(self) -> None:
        fd, self._setup_fd = self._setup_fd, -1
        if fd >= 0:
            os.close(fd)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _wait(pid: int, patience: float) -> int | None:
    """Wait for a child of this process. None if another handler has taken its exit status."""
    deadline, pause = time.monotonic() + patience, 0.0005
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return None
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            return None
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def process_limit_error(wanted: int, started: int, error: BaseException) -> ResourceError:
    """The error when the system starts no more processes: the limits, and what to do."""

    def shown(which: int) -> str:
        both = resource.getrlimit(which)
        soft, hard = ("unlimited" if limit == resource.RLIM_INFINITY else str(limit) for limit in both)
        return f"{soft} (hard {hard})"

    try:
        held: Any = len(os.listdir("/proc/self/fd"))
    except OSError:
        held = "an unknown number of"
    return ResourceError(
        f"cannot start worker processes: wanted {wanted}, started {started}: {error}. "
        f"Limit on processes (ulimit -u) {shown(resource.RLIMIT_NPROC)}, on open files (ulimit -n) "
        f"{shown(resource.RLIMIT_NOFILE)}, of which this process holds {held}. "
        "Lower num_parallel_workers, raise the limit, or use python_multiprocessing=False."
    )


_HINTS = {
    signal.SIGKILL: "often the out-of-memory killer: use fewer workers, smaller batches or max_rowsize",
    signal.SIGSEGV: "a crash in native code",
    signal.SIGABRT: "native code gave up",
    signal.SIGBUS: "a mapped file shrank, or the memory for it ran out",
    signal.SIGILL: "native code built for another processor",
    signal.SIGFPE: "an arithmetic fault in native code",
}


def describe_exit(code: int | None) -> str:
    """A description of an exit code.

    >>> describe_exit(3)
    'exited with status 3 (does user code call sys.exit or os._exit?)'
    """
    if code is None:
        return "vanished"
    if code >= 0:
        return f"exited with status {code} (does user code call sys.exit or os._exit?)"
    try:
        number = signal.Signals(-code)
    except ValueError:
        return f"was killed by signal {-code}"
    hint = _HINTS.get(number)
    return f"was killed by {number.name}" + (f" ({hint})" if hint else "")
