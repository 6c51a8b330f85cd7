"""Main loop of a worker process: loads the runner once, then processes chunks until the channel closes.

The user's ``__main__`` is never imported here; what the runner needs from it was pickled by value.
"""

from __future__ import annotations

import ctypes
import faulthandler
import io
import os
import select
import signal
import socket
import sys
import threading
from typing import Any, NoReturn

from millrace._src.core.errors import PlanError
from millrace._src.core.log import collect_warnings
from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.core.machine.worker_devices import set_start_method
from millrace._src.core.random.rng import reseed_after_fork
from millrace._src.data.engine import thread_limits
from millrace._src.data.engine.executors.base import ChunkFunction
from millrace._src.data.engine.executors.worker_pool import worker_setup
from millrace._src.data.engine.executors.worker_pool.remote_traceback import pack_error
from millrace._src.data.engine.executors.worker_pool.serialization import (
    PickleByReference,
    WorkerPickle,
    flat_dumps,
)
from millrace._src.data.engine.transport.channel import MessageChannel, RawMessage
from millrace._src.data.engine.transport.chunk_codec import (
    EncodedChunk,
    ObjectCodec,
    decode_chunk,
    encode_chunk,
)

__all__ = ["CHUNK", "ERROR", "RESULT", "STACKS", "UNLOADABLE", "worker_main", "spawn_main"]

# Message types: a chunk to the worker; a result, an error, or "the runner does not load" from it.
CHUNK, RESULT, ERROR, UNLOADABLE = range(4)

# Ignored unless handled, so that a stack request does not end a worker that is still starting.
STACKS = signal.SIGURG

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


def worker_main(
    sock: socket.socket,
    stacks: int,
    source: int | ChunkFunction,
    name: str,
    number: int,
    *,
    start_method: str,
    parent_pid: int | None = None,
) -> NoReturn:
    """Run the worker and exit. ``source`` is the descriptor of a worker setup, or after a plain fork the runner."""
    status = 1
    try:
        _set_up_process(sock, stacks, name, parent_pid)
        _serve_chunks(MessageChannel(sock), source, number, start_method)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # the reader of a pipe may be gone
                pass
        # Not sys.exit: the parent's exit handlers must not run here, and threads must not delay the exit.
        os._exit(status)


def spawn_main(sock: int, stacks: int, setup_fd: int, name: str, number: int) -> NoReturn:
    """Entry point of a fresh interpreter."""
    worker_main(socket.socket(fileno=sock), stacks, setup_fd, name, number, start_method="spawn")


def _set_up_process(sock: socket.socket, stacks: int, name: str, parent_pid: int | None) -> None:
    """Set up signals, streams and random state for a worker, whatever it was forked from."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent coordinates
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    faulthandler.enable(file=2)  # a crash in native code then shows the Python stack
    faulthandler.register(STACKS, file=stacks, all_threads=True, chain=False)
    prctl(_PR_SET_NAME, name[:15].encode())
    if parent_pid is None:
        threading.Thread(target=_end_with_parent, args=(sock,), name="millrace-lifeline", daemon=True).start()
    else:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent_pid:
            os._exit(1)
    # A process that user code forks here must not keep the channel open after this worker has ended.
    os.register_at_fork(after_in_child=sock.close)
    for fd, stream in ((1, "stdout"), (2, "stderr")):
        raw = io.FileIO(fd, "w", closefd=False)
        writer: Any = raw if fd == 2 else io.BufferedWriter(raw)
        old = getattr(sys, f"__{stream}__", None)
        encoding = getattr(old, "encoding", None) or "utf-8"
        text = io.TextIOWrapper(
            writer, encoding, errors="backslashreplace", line_buffering=True, write_through=fd == 2
        )
        setattr(sys, stream, text)
    reseed_after_fork()


def prctl(option: int, value: int | bytes) -> None:
    """Call prctl; an option that the kernel does not support is ignored, because it is only a convenience."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end_with_parent(sock: socket.socket) -> None:
    """Exit when the parent's end of the socket closes, even while user code runs forever in the main thread."""
    waiter = select.poll()
    # No events are requested, so only the hang-up of a closed socket is reported: not data, and not a parent that has
    # merely stopped sending because it closes in order.
    waiter.register(sock, 0)
    waiter.poll()
    os.kill(os.getpid(), signal.SIGKILL)


def _serve_chunks(
    channel: MessageChannel, source: int | ChunkFunction, number: int, start_method: str
) -> None:
    objects: ObjectCodec
    collect_warnings()
    try:
        set_start_method(start_method)
        if isinstance(source, int):
            objects = WorkerPickle()
            worker_setup.apply_environment(worker_setup.read_environment(source))
            thread_limits.limit_process_threads()
            runner = worker_setup.load_runner(source)
            os.close(source)
        else:
            objects, runner = PickleByReference(), source
            thread_limits.limit_process_threads()
        runner.init_worker(number)
    except BaseException as error:
        channel.send(UNLOADABLE, RawMessage(pack_error(_load_error(error), WorkerPickle())))
        # A chunk may be in flight: exiting with it unread would reset the connection before the parent has the error.
        while channel.receive() is not None:
            pass
        return
    try:
        while _process_chunk(channel, runner, objects):
            pass
    finally:
        runner.close()


def _load_error(error: BaseException) -> PlanError:
    hint = ""
    if isinstance(error, ImportError):
        hint = (
            f" The module {error.name!r} cannot be imported in a worker process: put its folder on sys.path "
            "or PYTHONPATH, or call cloudpickle.register_pickle_by_value(module)."
        )
    failed = PlanError(f"a worker process cannot load the pipeline: {type(error).__name__}: {error}.{hint}")
    failed.__cause__ = error
    return failed


def _process_chunk(channel: MessageChannel, runner: ChunkFunction, objects: ObjectCodec) -> bool:
    """Process one chunk; False when there are no more.

    The memory of the chunk is released before the response is sent, so that the response can report the free blocks.
    """
    message = channel.receive()
    if message is None:
        return False
    data = [message[1]]
    del message
    try:
        copied, message_type = channel.copy(_run_chunk(runner, objects, data)), RESULT
    except BaseException as error:
        copied, message_type = channel.copy(RawMessage(pack_error(error, objects))), ERROR
    try:
        channel.post(message_type, copied)
    except ConnectionError:
        return False
    return True


def _run_chunk(runner: ChunkFunction, objects: ObjectCodec, data: list[ByteArray]) -> EncodedChunk:
    chunk, _ = decode_chunk(data.pop(), objects)
    result, report = runner(chunk)
    return encode_chunk(result, flat_dumps(objects, report), objects)
