"""Fork server: a single-threaded helper process that forks workers, and the parent's handle on it.

It is started once per parent process, without the parent's ``__main__`` and with the modules that every worker needs
already imported. It stays single-threaded, so forking from it is fast and safe. It ends when the parent ends: the
socket between them closes, and the server kills its workers first.
"""

from __future__ import annotations

import atexit
import errno
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any, NoReturn

from millrace._src.core.errors import ResourceError

__all__ = ["ForkServer", "current", "interpreter", "serve"]

# Libraries that start threads when loaded would make the server unsafe to fork.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_RESPONSE_SECONDS = 60.0  # timeout; a running server responds within milliseconds


def interpreter(entry: str, *arguments: object) -> list[str]:
    """The command line of a fresh interpreter that calls ``entry`` of this package with our import path."""
    if not sys.executable:
        raise ResourceError("no Python interpreter to start workers with (sys.executable is empty)")
    module, _, function = entry.rpartition(".")
    # Set the path first, so that no module, not even one of the standard library, comes from the current folder.
    code = (
        f"import sys; sys.path[:] = {[str(entry) for entry in sys.path]!r}; "
        f"from millrace._src.data.engine.executors.processes.{module} import {function}; {function}(*{arguments!r})"
    )
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, "-c", code]


class ForkServer:
    """The parent's handle on one server process; one request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.alive = True
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = subprocess.Popen(
                interpreter("forkserver.serve", theirs.fileno()),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **ONE_THREAD},
            )
        except BaseException:
            self.sock.close()
            raise
        finally:
            theirs.close()
        self.pid = self._process.pid

    def fork(self, name: str, number: int, fds: list[int]) -> int:
        """Fork a worker that receives these descriptors. Returns its pid; OSError when the system refuses."""
        response = self._request({"op": "fork", "name": name, "number": number}, fds)
        if "errno" in response:
            raise OSError(response["errno"], os.strerror(response["errno"]))
        return int(response["pid"])

    def reap(self, pid: int, patience: float) -> int | None:
        """The exit code (negative: the signal) of a worker that is ending; None if unknown."""
        try:
            return self._request({"op": "reap", "pid": pid, "patience": patience}, [])["code"]  # type: ignore[no-any-return]
        except ConnectionError:
            return None

    def _request(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        with self._lock:
            if not self.alive:
                raise ConnectionResetError("the fork server has ended")
            try:
                socket.send_fds(self.sock, [json.dumps(request).encode()], fds)
                waiter = select.poll()
                waiter.register(self.sock, select.POLLIN)
                data = self.sock.recv(4096) if waiter.poll(_RESPONSE_SECONDS * 1000) else b""
            except OSError as error:
                if error.errno == errno.ETOOMANYREFS:
                    raise
                data = b""
            if not data:
                self._end()
                raise ConnectionResetError("the fork server has ended")
            response: dict[str, Any] = json.loads(data)
            return response

    def _end(self) -> None:
        """End the server; the kernel then ends its workers."""
        self.alive = False
        self.sock.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        with self._lock:
            if self.alive:
                self._end()

    def forget(self) -> None:
        """In a forked child of the parent: drop the inherited handles and touch nothing else."""
        self.alive = False
        self.sock.close()
        self._process.returncode = 0  # not our child: no warning that it still runs


_lock = threading.Lock()
_server: ForkServer | None = None
_exiting = False


def current() -> ForkServer:
    """The fork server of this process; started if none is running."""
    global _server
    with _lock:
        if _exiting:
            raise ResourceError("the interpreter is ending: no more worker processes")
        if _server is None or not _server.alive:
            _server = ForkServer()
        return _server


def helper() -> tuple[int, int] | None:
    """Pid and descriptor of the running server, for tests that check for leftovers."""
    server = _server
    return (server.pid, server.sock.fileno()) if server is not None and server.alive else None


def stop() -> None:
    """Stop the server if there is one; the next worker starts another."""
    global _server
    with _lock:
        server, _server = _server, None
    if server is not None:
        server.stop()


def _at_exit() -> None:
    global _exiting
    _exiting = True
    stop()


def _after_fork() -> None:
    global _lock, _server
    _lock = threading.Lock()
    server, _server = _server, None
    if server is not None:
        server.forget()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)


# --------------------------------------------------------------------------------------------------
# inside the server process


def serve(control: int) -> NoReturn:
    """Main loop of the server: handle requests until the parent is gone."""
    from . import worker

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Blocked, not ignored: sigtimedwait then waits for a child's exit without a race and without polling.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    worker.prctl(15, b"millrace-forks")
    gc.collect()
    gc.freeze()  # the collector then writes to no page that is shared with the workers
    sock = socket.socket(fileno=control)
    workers: set[int] = set()
    while True:
        try:
            data, fds, flags, _ = socket.recv_fds(sock, 4096, 8, socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            break
        if not data:
            break
        request = json.loads(data)
        if request["op"] == "fork":
            response = _fork(sock, request, fds, flags, workers)
        else:
            response = {"code": _reap(request["pid"], request["patience"], workers)}
        for fd in fds:
            os.close(fd)
        try:
            sock.send(json.dumps(response).encode())
        except OSError:
            break
    for pid in workers:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(0)


def _fork(
    control: socket.socket, request: dict[str, Any], fds: list[int], flags: int, workers: set[int]
) -> dict[str, Any]:
    if flags & socket.MSG_CTRUNC or len(fds) != 5:
        return {"errno": errno.EMFILE}
    server = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        return {"errno": error.errno or errno.EAGAIN}
    if not pid:
        _run_worker(control, request["name"], request["number"], fds, server)
    workers.add(pid)
    return {"pid": pid}


def _run_worker(control: socket.socket, name: str, number: int, fds: list[int], server: int) -> NoReturn:
    """In the child: restore the parent's standard streams and run the worker's main loop."""
    from . import worker

    try:
        control.close()
        sock, stacks, setup_fd, out, err = fds
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.close(out)
        os.close(err)
        worker.worker_main(
            socket.socket(fileno=sock),
            stacks,
            setup_fd,
            name,
            number,
            start_method="forkserver",
            parent_pid=server,
        )
    finally:
        os._exit(1)


def _reap(pid: int, patience: float, workers: set[int]) -> int | None:
    if pid not in workers:
        return None
    deadline = time.monotonic() + patience
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            workers.discard(pid)
            return os.waitstatus_to_exitcode(status)
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        signal.sigtimedwait([signal.SIGCHLD], left)
