"""What a client may send: the server lives on, others are served, and its memory stays as it was."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millrace._src.core.errors import CacheError
from millrace._src.data.cache import protocol
from millrace._src.data.cache import server as server_of
from millrace._src.data.cache import server_admin as admin
from millrace._src.data.cache.client import Connection
from millrace._src.data.cache.protocol import MAX_PACKET_BYTES, VERSION, receive, send
from millrace._src.data.cache.server import CacheServer
from millrace._src.data.cache.session_manager import SessionManager

from .server_fixture import Served, runtime_folder, until


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    from .server_fixture import serving

    with serving() as found:
        yield found


@contextlib.contextmanager
def raw(served: Served, *, greeted: bool = True) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(20)
        sock.connect(served.address)
        if greeted:
            send(sock, {"do": "hello", "version": VERSION, "boot": ""})
            assert receive(sock)[0] is not None
        yield sock


def lives(served: Served) -> None:
    """Another client is served as before."""
    session = served.session()
    with contextlib.closing(Connection(served.address)) as other:
        shelf = other.open_store(session, "key", 10, None, False)
        from .test_memory_blocks import chunk_of, got, numbers, same

        assert shelf.put(chunk_of([3]), numbers(3)) == 1
        assert same(got(shelf, [3]), [3])
        shelf.close()
    admin.destroy(port=served.port, session=session)


RAW = {
    "no JSON": b"\x00\xff" * 20,
    "cut JSON": b'{"do": "he',
    "a list": b"[1, 2]",
    "a number": b"17",
    "null": b"null",
    "deep": b"[" * 20_000,
    "deep object": b'{"a":' * 6_000,
    "not UTF-8": b'{"do": "\xff\xfe"}',
    "long": b'{"do": "' + b"x" * (MAX_PACKET_BYTES * 2) + b'"}',
    "as long as may be, of bytes that grow": b'{"do": "' + b"\\u0000" * 5_000 + b'"}',
}


@pytest.mark.parametrize("name", RAW)
@pytest.mark.parametrize("greeted", [True, False])
def test_bytes_that_are_no_request(served: Served, name: str, greeted: bool) -> None:
    with raw(served, greeted=greeted) as sock:
        sock.send(RAW[name])
        reply, _ = receive(sock)
        assert reply is None or "error" in reply
    lives(served)


REQUESTS: list[Any] = [
    {},
    {"do": None},
    {"do": 7},
    {"do": ["open"]},
    {"do": "fly"},
    {"do": "__class__"},
    {"do": "open"},
    {"do": "open", "session": [], "key": "k", "rows": 1, "limit": None, "spilling": False},
    {"do": "open", "session": 99, "key": "k", "rows": 1, "limit": None, "spilling": False},
    {"do": "lease", "shelf": 0, "need": 1},
    {"do": "lease", "shelf": {}, "need": 1},
    {"do": "slab", "shelf": "x", "slab": -1},
    {"do": "note", "shelf": None},
    {"do": "stat", "session": 1, "keys": 7},
    {"do": "stat"},
    {"do": "destroy", "session": "all"},
    {"do": "sessions", "after": "x"},
    {"do": "hello"},
]
WITH_A_SHELF: list[Any] = [
    {"do": "open", "key": "", "rows": 1, "limit": None, "spilling": False},
    {"do": "open", "key": "k" * 500, "rows": 1, "limit": None, "spilling": False},
    {"do": "open", "key": 5, "rows": 1, "limit": None, "spilling": False},
    {"do": "open", "key": "k", "rows": -1, "limit": None, "spilling": False},
    {"do": "open", "key": "k", "rows": 1 << 60, "limit": None, "spilling": False},
    {"do": "open", "key": "k", "rows": 1.5, "limit": None, "spilling": False},
    {"do": "open", "key": "k", "rows": 1, "limit": -5, "spilling": False},
    {"do": "open", "key": "k", "rows": 1, "limit": "x", "spilling": False},
    {"do": "lease", "need": 0},
    {"do": "lease", "need": 10**30},
    {"do": "lease", "need": "much"},
    {"do": "lease", "need": 64, "done": -1},
    {"do": "lease", "need": 64, "done": 1e300},
    {"do": "slab", "slab": 10**9},
    {"do": "slab", "slab": None},
    {"do": "note", "hits": float("inf")},
    {"do": "note", "hits": float("nan")},
    {"do": "note", "hits": "many", "seconds": []},
    {"do": "note", "hits": 10**400},
]


def test_requests_that_make_no_sense(served: Served) -> None:
    session = served.session()
    for request in [*REQUESTS, *WITH_A_SHELF]:
        with raw(served) as sock:
            send(
                sock,
                {
                    "do": "open",
                    "session": session,
                    "key": "k",
                    "rows": 4,
                    "limit": 1 << 20,
                    "spilling": False,
                },
            )
            opened, fd = receive(sock)
            assert opened is not None
            assert fd is not None
            os.close(fd)
            mine = {"shelf": opened["shelf"], "session": session}
            send(sock, mine | request if request in WITH_A_SHELF else request)
            send(sock, {"do": "info"})  # a note has no answer when it is well
            reply, fd = receive(sock)
            if fd is not None:
                os.close(fd)
            assert reply is not None
    lives(served)


def test_keys_that_grow_in_an_answer(served: Served) -> None:
    """A list of sessions fits into its packet whatever their keys are made of."""
    session = served.session()
    with raw(served) as sock:
        for number in range(120):
            send(
                sock,
                {"do": "open", "session": session, "key": f"{number}" + "\x01" * 100, "rows": 1, "limit": None,
                 "spilling": False},
            )  # fmt: skip
            _, fd = receive(sock)
            assert fd is not None
            os.close(fd)
    assert len(next(s for s in admin.sessions(port=served.port) if s.session == session).caches) > 50
    admin.destroy(port=served.port, session=session)


def test_a_descriptor_that_nobody_asked_for_is_closed(served: Served) -> None:
    pid = admin.info(port=served.port).pid

    def held() -> int:
        return len(os.listdir(f"/proc/{pid}/fd"))

    before = held()
    with raw(served) as sock, open(os.devnull, "rb") as file:
        for _ in range(50):
            send(sock, {"do": "info"}, file.fileno())
            receive(sock)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, np.full(9, file.fileno(), np.int32).tobytes())]
        sock.sendmsg([b'{"do": "info"}'], rights)
        receive(sock)
    until(lambda: held() <= before, "the closing of descriptors")
    lives(served)


def test_a_client_that_never_reads(served: Served) -> None:
    with raw(served) as sock:
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(10_000):
                send(sock, {"do": "info"})
    lives(served)


def test_a_thousand_connections(served: Served) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    socks: list[socket.socket] = []
    try:
        for _ in range(min(1000, hard - 200)):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            socks.append(sock)
            sock.connect(served.address)
        lives(served)
    finally:
        for sock in socks:
            sock.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    until(lambda: admin.info(port=served.port).clients == 0, "the end of connections")


def test_memory_is_given_back(served: Served) -> None:
    """Sessions that come and go, clients that ask for all there is and leave: nothing stays."""
    before = admin.info(port=served.port)
    for _ in range(20):
        session = served.session()
        with contextlib.closing(Connection(served.address)) as client:
            shelf = client.open_store(session, "key", 10, None, False)
            for _ in range(3):
                client.request(do="lease", shelf=shelf.number, need=1 << 20)
        admin.destroy(port=served.port, session=session)
    after = admin.info(port=served.port)
    assert (after.memory_used, after.sessions) == (before.memory_used, before.sessions)


# versions and users -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [VERSION + 1, None, "1", [1]])
def test_a_client_of_another_version_is_told(served: Served, version: Any) -> None:
    with raw(served, greeted=False) as sock:
        send(sock, {"do": "hello", "version": version, "boot": ""})
        reply, _ = receive(sock)
        assert reply is not None
        assert "same release of Millrace" in reply["error"].replace("\n", " ")
        assert receive(sock) == (None, None)  # and hangs up
    lives(served)


def test_a_client_of_another_machine_is_told(served: Served) -> None:
    with raw(served, greeted=False) as sock:
        send(sock, {"do": "hello", "version": VERSION, "boot": "another"})
        reply, _ = receive(sock)
        assert reply is not None
        assert "another machine" in reply["error"]


ANSWERS: dict[str, Any] = {
    "another version": {"error": protocol.version_mismatch_message(7), "kind": "version", "version": 7},
    "a version without an error": {"version": 7},
    "nothing": None,
    "no JSON": b"\xff\xff",
    "a list": [1],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_server_of_another_kind_is_refused(name: str) -> None:
    with runtime_folder() as folder:
        path = str(folder / "s")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path)
            listener.listen(1)

            def answer() -> None:
                sock, _ = listener.accept()
                with sock:
                    receive(sock)
                    said = ANSWERS[name]
                    if said is not None:
                        sock.send(said if isinstance(said, bytes) else json.dumps(said).encode())

            thread = threading.Thread(target=answer)
            thread.start()
            with pytest.raises(CacheError) as caught:
                Connection(path)
            thread.join()
    if "version" in name:
        assert "same release of Millrace" in str(caught.value)


def test_a_server_that_lies_gives_no_row() -> None:
    """No descriptor, a table that is none, a slab that is shorter than was said."""
    for lie in ({"shelf": 0}, {"shelf": 0, "fd": True}):
        with runtime_folder() as folder:
            path = str(folder / "s")
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(path)
                listener.listen(1)

                def answer(lie: dict[str, Any] = lie, listener: socket.socket = listener) -> None:
                    sock, _ = listener.accept()
                    with sock, open(__file__, "rb") as file:
                        receive(sock)
                        send(sock, {"version": VERSION})
                        receive(sock)
                        send(
                            sock,
                            {k: v for k, v in lie.items() if k != "fd"},
                            file.fileno() if "fd" in lie else None,
                        )

                thread = threading.Thread(target=answer)
                thread.start()
                with (
                    contextlib.closing(Connection(path)) as client,
                    pytest.raises((CacheError, OSError, RuntimeError)),
                ):
                    client.open_store(1, "key", 10, None, False)
                thread.join()


def test_another_users_client_is_refused(monkeypatch: pytest.MonkeyPatch, no_leaks: None) -> None:
    with runtime_folder() as folder, in_thread(folder / "s"):
        monkeypatch.setattr(server_of, "peer_credentials", lambda sock: (os.getpid(), os.getuid() + 1))
        with pytest.raises(CacheError, match=r"another user|gone"):
            Connection(str(folder / "s"))


def test_another_users_server_is_refused(monkeypatch: pytest.MonkeyPatch, no_leaks: None) -> None:
    with runtime_folder() as folder, in_thread(folder / "s"):
        monkeypatch.setattr(
            "millrace._src.data.cache.client.peer_credentials", lambda sock: (os.getpid(), os.getuid() + 1)
        )
        with pytest.raises(CacheError, match="belongs to another user"):
            Connection(str(folder / "s"))


@contextlib.contextmanager
def in_thread(path: Path) -> Iterator[CacheServer]:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    listener.listen(8)
    made = CacheServer(listener, SessionManager(64 << 20, None))
    thread = threading.Thread(target=made.serve)
    thread.start()
    try:
        yield made
    finally:
        made.stop()
        thread.join()


def test_a_server_without_descriptors_hangs_up_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, no_leaks: None
) -> None:
    accept, full = socket.socket.accept, [True]

    def refusing(self: socket.socket) -> Any:
        if full:
            full.pop()
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(self)

    with runtime_folder() as folder, in_thread(folder / "s"):
        monkeypatch.setattr(socket.socket, "accept", refusing)
        with pytest.raises(CacheError, match="gone"):
            Connection(str(folder / "s"))
        with contextlib.closing(Connection(str(folder / "s"))) as client:
            assert client.request(do="info")["clients"] == 0


# the folder -------------------------------------------------------------------------------------------


def test_a_foreign_runtime_folder_is_refused(tmp_path: Path) -> None:
    with runtime_folder() as folder:
        (folder / "millrace").symlink_to(tmp_path)
        with pytest.raises(CacheError, match="only you may enter"):
            admin.start(port=50999)
        (folder / "millrace").unlink()
        (folder / "millrace").mkdir(mode=0o755)
        (folder / "millrace").chmod(0o755)
        with pytest.raises(CacheError, match="only you may enter"):
            admin.start(port=50999)
        (folder / "millrace").rmdir()
        (folder / "millrace").write_text("a file")
        with pytest.raises(CacheError, match="only you may enter"):
            admin.stop(port=50999)


def test_a_name_that_is_too_long_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with pytest.raises((CacheError, OSError), match=r"shorter XDG_RUNTIME_DIR|too long"):
        admin.start(port=50998)
