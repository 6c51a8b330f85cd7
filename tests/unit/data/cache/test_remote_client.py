"""A server that its user opened to other machines with a key. Another address of the loopback stands for one."""

import os
import socket
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

import millrace.dataset as ds
from millrace._src.core.errors import CacheError
from millrace._src.data.cache import server_admin as admin
from millrace._src.data.cache.authenticated_connection import AuthenticatedConnection, read_key

HOST = "127.0.0.2"


def _free_port():
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        return sock.getsockname()[1]


def _key(folder, text="0123456789abcdef0123456789abcdef"):
    path = folder / "key"
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def server(tmp_path, monkeypatch):
    with tempfile.TemporaryDirectory(prefix="mr-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        key = _key(tmp_path)
        found = admin.start(host=HOST, port=_free_port(), key_file=key)
        try:
            yield found, key
        finally:
            admin.stop(port=found.port)


def _twice(x):
    sum(range(100_000))  # a row that takes much longer to make than to fetch
    return np.full((50,), x * 2)


def _rows(cache):
    data = ds.NumpySlicesDataset({"x": np.arange(60)}, shuffle=False).map(_twice, "x").cache(cache).batch(7)
    return [b["x"].tolist() for b in data.create_dict_iterator(num_epochs=1, output_numpy=True)], data


def _plain():
    data = ds.NumpySlicesDataset({"x": np.arange(60)}, shuffle=False).map(_twice, "x").batch(7)
    return [b["x"].tolist() for b in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_rows_come_and_go_over_the_network(server, monkeypatch):
    info, key = server
    session = admin.generate(port=info.port)
    monkeypatch.setenv("MILLRACE_CACHE_KEY", key)
    cache = ds.DatasetCache(session, hostname=HOST, port=info.port)
    first, _ = _rows(cache)
    second, data = _rows(cache)
    assert first == second == _plain()
    assert "60 rows fetched" in str(data.report())
    assert cache.get_stat().num_mem_cached == 60


def test_batches_come_and_go_over_the_network(server, monkeypatch):
    info, key = server
    session = admin.generate(port=info.port)
    monkeypatch.setenv("MILLRACE_CACHE_KEY", key)
    cache = ds.DatasetCache(session, hostname=HOST, port=info.port)
    data = ds.NumpySlicesDataset({"x": np.arange(60)}, shuffle=False).map(_twice, "x").batch(7).cache(cache)
    for _ in range(2):
        got = [b["x"].tolist() for b in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
        assert got == _plain()
    assert "9 batches fetched" in str(data.report())


def test_without_a_key_another_machine_is_refused(server, monkeypatch):
    info, _ = server
    monkeypatch.delenv("MILLRACE_CACHE_KEY", raising=False)
    with pytest.raises(CacheError, match="on another machine") as error:
        _rows(ds.DatasetCache(admin.generate(port=info.port), hostname=HOST, port=info.port))
    assert error.value.kind == "host"


def test_another_key_is_refused_on_both_sides(server, tmp_path, monkeypatch):
    info, _ = server
    (tmp_path / "b").mkdir()
    monkeypatch.setenv("MILLRACE_CACHE_KEY", _key(tmp_path / "b", "f" * 32))
    with pytest.raises(CacheError, match="does not have the same key"):
        _rows(ds.DatasetCache(admin.generate(port=info.port), hostname=HOST, port=info.port))
    assert admin.info(port=info.port).pid == info.pid  # it serves on


def test_a_key_that_others_may_read_is_refused(tmp_path):
    path = _key(tmp_path)
    os.chmod(path, 0o644)
    with pytest.raises(CacheError, match="chmod 600"):
        read_key(path)
    with pytest.raises(CacheError, match="needs 16"):
        read_key(_key(tmp_path, "short"))


@pytest.mark.parametrize(
    "noise", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\x05\0\0\0" + b"\0" * 8 + b"[1,2]"]
)
def test_a_stranger_at_the_door_disturbs_nobody(server, noise):
    info, key = server
    with socket.create_connection((HOST, info.port)) as sock:
        sock.sendall(noise)
    wire = AuthenticatedConnection(socket.create_connection((HOST, info.port)), read_key(key), serves=False)
    wire.send({"do": "stat", "session": admin.generate(port=info.port), "keys": []})
    assert wire.receive()[0]["hits"] == 0
    wire.close()


def test_a_changed_message_is_noticed():
    tcp = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(tcp.getsockname())
    other, _ = tcp.accept()
    key = b"k" * 32
    ends = []
    thread = threading.Thread(target=lambda: ends.append(AuthenticatedConnection(other, key, serves=True)))
    thread.start()
    mine = AuthenticatedConnection(client, key, serves=False)
    thread.join()
    mine._out = 5  # a message that was left out, or is repeated, has another number
    mine.send({"do": "note"})
    with pytest.raises(CacheError, match="changed in transit"):
        ends[0].receive()
    for sock in (tcp, client, other):
        sock.close()


def test_a_server_without_a_key_listens_to_no_network(tmp_path, monkeypatch):
    with tempfile.TemporaryDirectory(prefix="mr-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        port = _free_port()
        with pytest.raises(CacheError, match="pass a key"):
            admin.start(host=HOST, port=port)
        admin.start(port=port)
        try:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), timeout=5)
        finally:
            admin.stop(port=port)


def test_a_second_process_finds_the_rows_of_the_first(server, monkeypatch):
    info, key = server
    session = admin.generate(port=info.port)
    monkeypatch.setenv("MILLRACE_CACHE_KEY", key)
    code = (
        "import sys, numpy as np, millrace.dataset as ds\n"
        "def twice(x):\n    sum(range(100_000))\n    return np.full((50,), x * 2)\n"
        f"cache = ds.DatasetCache({session}, hostname={HOST!r}, port={info.port})\n"
        "data = ds.NumpySlicesDataset({'x': np.arange(60)}, shuffle=False).map(twice, 'x').cache(cache).batch(7)\n"
        "rows = [b['x'].tolist() for b in data.create_dict_iterator(num_epochs=1, output_numpy=True)]\n"
        "print(len(rows), data.report())\n"
    )
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert "60 rows made" in said[0]
    assert "60 rows fetched" in said[1]
