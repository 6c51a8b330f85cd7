"""The page's server over real HTTP: who is let in, what is told, and that all of it ends."""

from __future__ import annotations

import http.client
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from millrace._src.core.errors import FormatError
from millrace._src.observe.live import dashboard_server as serving
from millrace._src.observe.live.dashboard_server import FILES, DashboardServer
from millrace._src.observe.live.request_head_limits import MOST_HEADS, Heads
from tests.unit.observe.live.http_client import events, get, here
from tests.unit.observe.live.long_run import write_run


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardServer]:
    path = tmp_path_factory.mktemp("page") / "run.history"
    write_run(path, seconds=20)
    with DashboardServer(path) as made:
        yield made


def test_only_this_machine_can_reach_it(server: DashboardServer) -> None:
    assert server._http.socket.getsockname()[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.port}/{server.token}/"
    assert len(server.token) >= 32


@pytest.mark.parametrize("name", ["", *FILES, "metrics"])
def test_the_page_and_its_parts_are_given_to_who_has_the_token(server: DashboardServer, name: str) -> None:
    status, headers, body = get(server, here(server, name))
    assert status == 200
    assert body
    assert headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Server"].strip() == "millrace"  # says nothing of versions
    status, headers, nothing = get(server, here(server, name), method="HEAD")
    assert (status, nothing, int(headers["Content-Length"])) == (200, b"", len(body))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/metrics",
        "/events",
        "/app.js",
        "//",
        "/x/",
        "/x/events",
        "/{token}x/",
        "/{short}/",
        "/%2e%2e/{token}/",
    ],
)
def test_without_the_token_nothing_is_told(server: DashboardServer, path: str) -> None:
    asked = path.format(token=server.token, short=server.token[:-1])
    status, _, body = get(server, asked)
    assert status == 403
    assert b"token" in body
    assert server.token.encode() not in body
    assert b"train.py" not in body


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost.evil", "0.0.0.0"]
)
def test_another_name_for_this_machine_is_refused(server: DashboardServer, host: str) -> None:
    status, _, body = get(server, here(server), Host=host)
    assert (status, b"only for the machine" in body) == (403, True)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000"])
def test_a_tunnel_may_come_in_at_any_port(server: DashboardServer, host: str) -> None:
    assert get(server, here(server), Host=host)[0] == 200


def test_a_page_from_elsewhere_is_refused(server: DashboardServer) -> None:
    assert get(server, here(server, "events"), Origin="https://evil.example")[0] == 403
    assert get(server, here(server), Origin=f"http://127.0.0.1:{server.port}")[0] == 200


@pytest.mark.parametrize(
    "name",
    [
        "../server.py",
        "..%2fserver.py",
        "%2e%2e/%2e%2e/server.py",
        "/etc/passwd",
        "index.html",
        "app.js/",
        "app.js%00",
        "run.history",
    ],
)
def test_no_other_file_is_given_out(server: DashboardServer, name: str) -> None:
    assert get(server, here(server, name))[0] == 404


def test_an_address_without_its_last_stroke_is_mended(server: DashboardServer) -> None:
    status, headers, _ = get(server, f"/{server.token}")
    assert (status, headers["Location"]) == (301, here(server))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_written(server: DashboardServer, method: str) -> None:
    assert get(server, here(server), method=method)[0] == 501


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET //[ HTTP/1.0\r\nHost: localhost\r\n\r\n",
        b"G" * 70_000 + b"\r\n\r\n",
    ],
)
def test_garbage_harms_nobody(server: DashboardServer, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 60) as raw:
        try:
            raw.sendall(sent)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(65536):
                pass
        except TimeoutError:
            raise
        except OSError:
            pass  # a long request is not read to its end: the connection is reset
    assert get(server, here(server))[0] == 200


# what is told ---------------------------------------------------------------------------------------


def test_a_run_that_has_ended_is_told_whole_and_then_it_is_over(server: DashboardServer) -> None:
    told = list(events(server))
    assert [kind for kind, _ in told] == ["begin", "points", "now", "over"]
    points, now = told[1][1], told[2][1]
    assert len(points) == 3 * 80
    assert now["status"] == "finished"
    assert now["pipelines"][0]["rows"] == points[-3]["rows"]
    assert now["file"].endswith("run.history")


def test_what_is_written_later_comes_as_it_is_written(tmp_path: Path, no_leaks: None) -> None:
    book = write_run(tmp_path / "run.history", seconds=2, over=False)
    with DashboardServer(tmp_path / "run.history") as server:
        told = events(server)
        assert [next(told)[0] for _ in range(3)] == ["begin", "points", "now"]
        book.add({"is": "over", "t": 3.0, "why": "ValueError: no"})
        book.flush()
        kind, now = next(told)
        assert (kind, now["status"], now["why"]) == ("now", "failed", "ValueError: no")
        book.close()
        assert [kind for kind, _ in told][-1] == "over"


def test_a_process_that_died_is_seen(tmp_path: Path, no_leaks: None) -> None:
    write_run(tmp_path / "run.history", seconds=2, over=False).forget()  # as the kernel does
    with DashboardServer(tmp_path / "run.history") as server:
        assert list(events(server))[-2][1]["status"] == "gone"


def test_a_file_that_is_thinned_out_begins_anew(tmp_path: Path, no_leaks: None) -> None:
    book = write_run(tmp_path / "run.history", seconds=10, over=False)
    with DashboardServer(tmp_path / "run.history") as server:
        told = events(server)
        first = [next(told) for _ in range(3)]
        book._thin()
        again = [next(told) for _ in range(2)]
        assert [kind for kind, _ in again] == ["begin", "points"]
        assert again[1][1][-1] == first[1][1][-1]
        book.close()
        assert [kind for kind, _ in told][-1] == "over"


def test_open_pages_end_with_the_server(tmp_path: Path, no_leaks: None) -> None:
    book = write_run(tmp_path / "run.history", seconds=2, over=False)
    server = DashboardServer(tmp_path / "run.history")
    told = events(server)
    next(told)
    ender = threading.Thread(target=server.close)
    ender.start()
    assert [kind for kind, _ in told][-1] == "over"
    ender.join(60)
    server.close()
    book.close()


def test_there_are_only_so_many_pages(
    tmp_path: Path, no_leaks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_PAGES", 1)
    book = write_run(tmp_path / "run.history", seconds=2, over=False)
    with DashboardServer(tmp_path / "run.history") as server:
        first = events(server)
        next(first)
        assert get(server, here(server, "events"))[0] == 503
        book.close()
        assert [kind for kind, _ in first][-1] == "over"


def test_a_page_that_goes_away_is_forgotten(
    tmp_path: Path, no_leaks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "ALIVE", 0.25)
    book = write_run(tmp_path / "run.history", seconds=2, over=False)
    with DashboardServer(tmp_path / "run.history") as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", here(server, "events"))
        connection.getresponse().read(10)
        connection.close()
        for thread in list(server._http._request_threads):
            thread.join(60)
            assert not thread.is_alive()
    book.close()


def test_a_file_that_is_none_is_refused_at_once(tmp_path: Path, no_leaks: None) -> None:
    (tmp_path / "x").write_text("hello")
    with pytest.raises(FormatError, match="is not the history of a run"):
        DashboardServer(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        DashboardServer(tmp_path / "missing")


# metrics --------------------------------------------------------------------------------------------


def test_prometheus_reads_the_metrics(server: DashboardServer) -> None:
    for path, headers in (
        (here(server, "metrics"), {}),
        ("/metrics", {"Authorization": f"Bearer {server.token}"}),
    ):
        status, answered, body = get(server, path, **headers)
        assert status == 200
        assert answered["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        families = {family.name: family for family in text_string_to_metric_families(body.decode())}
        assert families["millrace_up"].samples[0].value == 0
        assert families["millrace_rows"].type == "counter"
        assert families["millrace_loss"].samples[0].labels == {"training": "1", "network": "ResNet50"}
        assert {sample.labels["ring"] for sample in families["millrace_ring_batches"].samples} == {
            "host",
            "device",
        }
        stages = [sample.labels["stage"] for sample in families["millrace_stage_busy_ratio"].samples]
        assert stages[1] == "1 map(mixup)"
    assert get(server, "/metrics", Authorization="Bearer nonsense")[0] == 403
    assert get(server, "/metrics", Authorization=server.token)[0] == 403


def test_names_that_need_escaping_come_back_as_they_were() -> None:
    from millrace._src.observe.live.prometheus import prometheus_text

    name = 'a "b"\\ \n c'
    training = {"number": 1, "network": name, "loss": "nan", "rate": "-inf"}
    training |= dict.fromkeys(
        ("steps", "step", "epoch", "steps_rate", "step_seconds", "wait_share", "waited"), 0.5
    )
    now = {"status": "live", "elapsed": 1.0, "pipelines": [], "channels": [], "trainings": [training]}
    families = {family.name: family for family in text_string_to_metric_families(prometheus_text(now))}
    assert families["millrace_loss"].samples[0].labels["network"] == name
    assert families["millrace_learning_rate"].samples[0].value == float("-inf")


def test_nothing_comes_from_anywhere_else() -> None:
    folder = Path(serving.__file__).parent / "page"
    for file in folder.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"https?:|//[a-z]+\.|@import|url\(|innerHTML|eval\(", text) == [], file.name
    assert {file.name for file in folder.iterdir()} == {name for name, _ in FILES.values()}


# connections that say nothing, or too much -------------------------------------------------------------


def test_silent_connections_take_a_fixed_number_of_threads(tmp_path: Path, no_leaks: None) -> None:
    write_run(tmp_path / "run.history", seconds=3)
    with DashboardServer(tmp_path / "run.history") as made:
        before = threading.active_count()
        silent = [socket.create_connection(("127.0.0.1", made.port), timeout=30) for _ in range(200)]
        for sock in silent[::2]:
            sock.send(b"GET / HT")
        assert get(made, here(made, "metrics"))[0] == 200  # and who has a request is answered
        for sock in silent[:-MOST_HEADS]:
            with sock:
                assert ended(sock)  # since newer ones came
        until(lambda: threading.active_count() <= before + MOST_HEADS)
        assert len(made._http.heads) <= MOST_HEADS
        for sock in silent[-MOST_HEADS:]:
            sock.close()


def test_a_request_has_one_deadline(tmp_path: Path, no_leaks: None) -> None:
    now = [0.0]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        heads = Heads(seconds=10.0, clock=lambda: now[0])
        heads.add(ours)
        now[0] = 9.9
        heads.close_late()
        assert len(heads) == 1
        now[0] = 10.0
        heads.close_late()
        assert len(heads) == 0
        assert theirs.recv(1) == b""
    write_run(tmp_path / "run.history", seconds=3)
    with DashboardServer(tmp_path / "run.history") as made:
        made._http.heads._seconds = 0.0
        with socket.create_connection(("127.0.0.1", made.port), timeout=30) as sock:
            assert ended(sock)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"a" * 2000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"414"),
        (b"GET /?" + b"a" * 2000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + (b"a: " + b"b" * 400 + b"\r\n") * 60, b""),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\na: " + b"b" * 30_000, b""),
        (b"a" * 60_000, b""),
    ],
)
def test_a_long_request_is_refused(server: DashboardServer, sent: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as sock:
        try:
            sock.sendall(sent)
            received = sock.recv(4096)
        except ConnectionError:
            received = b""
    assert status in received
    assert bool(received) == bool(status)


def test_there_are_only_so_many_responses(server: DashboardServer) -> None:
    taken = 0
    while server._http.responses.acquire(blocking=False):
        taken += 1
    try:
        assert get(server, here(server, "metrics"))[0] == 503
    finally:
        server._http.responses.release(taken)
    assert taken == serving.MOST_RESPONSES
    assert get(server, here(server, "metrics"))[0] == 200


def ended(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True  # it had sent something that was not read


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)
