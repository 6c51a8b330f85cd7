"""``millrace serve --ray``: two replicas on a real Ray Serve, asked, loaded anew and killed while they are asked."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("ray.serve")

from millrace._src.cli.main import main
from millrace._src.core.errors import ArgumentValueError, ResourceError, ServeError
from millrace._src.serve.ray.deployment import application
from millrace.serve import Client, Config, Servable, start_on_ray
from tests.support.ray_nodes import QUIET
from tests.unit.serve.conftest import Asked
from tests.unit.serve.example_models import Pair, any_rows, dense

pytestmark = pytest.mark.timeout(300)  # a busy machine needs a while for Ray, Ray Serve and two replicas

TOKEN = "secret"
ENV = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"} | QUIET
ONES = np.ones((1, 3), np.float32)
PAIR = {"left": ONES, "right": ONES}


def save(times, path):
    Servable(Pair(times), inputs=[any_rows(3), any_rows(3)]).save(f"{path}.new.mindir")
    os.replace(f"{path}.new.mindir", path)


def until(look, seconds=60):
    """What `look` gives, once it gives something."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)
    return found


def family(pid):
    """The processes below a process: number to command line."""
    below, lines = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                below.setdefault(parent, []).append(int(entry.name))
                lines[int(entry.name)] = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
    found, left = {}, [pid]
    while left:
        for child in below.get(left.pop(), ()):
            found[child] = lines[child]
            left.append(child)
    return found


class Served:
    """The command as a process, with TLS and a token."""

    def __init__(self, changing, ca, *words):
        self.changing, self.ca = changing, ca
        self.process = subprocess.Popen(
            [sys.executable, "-m", "millrace", "serve", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, start_new_session=True,
        )  # fmt: skip
        self.line = self.process.stdout.readline()
        self.url = next((word.rstrip(",") for word in self.line.split() if word.startswith("http")), "")
        self.port = int(self.url.rpartition(":")[2] or 0)
        self.server = self

    def client(self, token=TOKEN):
        return Client(self.url, token=token, ca=self.ca)

    def replicas(self):
        return sorted(pid for pid, line in family(self.process.pid).items() if "ray::ServeReplica" in line)

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.communicate()


@pytest.fixture(scope="module")
def served(files, certificate, tmp_path_factory):
    """Two replicas. At the end a request that is on its way when SIGINT comes is answered, and nothing is left."""
    changing = tmp_path_factory.mktemp("changing") / "changing.mindir"
    save(1.0, changing)
    cert, key = certificate
    words = [f"pair={files['pair']}", f"dense={files['dense']}", str(changing), "--ray", "--replicas", "2"]
    words += ["--port", "0", "--token", TOKEN, "--max-body", "1", "--max-wait", "20", "--timeout", "60"]
    made = Served(changing, cert, *words, "--certificate", cert, "--key", key, "--drain", "0.1")
    try:
        assert made.line.endswith(", 2 replicas on Ray\n"), made.line + made.end()[1]
        yield made
        _ends_well(made)
    finally:
        made.end()


def _ends_well(made):
    processes = family(made.process.pid)
    folder = next(word for line in processes.values() for word in line.split("/") if word.startswith("mray-"))
    body = json.dumps({"instances": [{"x": [1, 1, 1, 1]}]}).encode()
    head = f"POST /model/dense:predict HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Expect: 100-continue\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    plain = socket.create_connection(("127.0.0.1", made.port), timeout=60)
    with tls(made.ca).wrap_socket(plain, server_hostname="127.0.0.1") as line:
        line.sendall(head.encode())
        assert b"100 Continue" in line.recv(1000)  # the request has begun
        os.killpg(made.process.pid, signal.SIGINT)  # as Ctrl-C does: to all processes of the terminal
        with made.client() as client:
            until(lambda: not client.ready())
        line.sendall(body)
        answer = b"".join(iter(lambda: line.recv(10_000), b""))
    out, said = made.process.communicate(timeout=100)
    assert answer.startswith(b"HTTP/1.1 200"), answer
    assert b"[6.0,22.0,38.0]" in answer
    assert made.process.returncode == 0, said
    assert said.endswith("stopped\n")
    assert "Traceback" not in out + said
    assert not os.path.exists(f"/tmp/{folder}")
    until(lambda: not [pid for pid in processes if os.path.exists(f"/proc/{pid}")])


def tls(ca):
    return ssl.create_default_context(cafile=ca)


@pytest.fixture
def client(served):
    with served.client() as made:
        yield made


@pytest.fixture
def ask(served):
    return Asked(served, TOKEN, tls(served.ca))


# --- requests ---------------------------------------------------------------------------------------------


def test_both_protocols_answer_as_without_ray(client, ask):
    np.testing.assert_allclose(client.infer("dense", np.ones((2, 4), np.float32)), [[6, 22, 38]] * 2)
    assert client.infer("pair", PAIR)["total"].tolist() == [[4.0] * 3]  # the highest version
    assert client.infer("pair", PAIR, version=1)["total"].tolist() == [[2.0] * 3]
    given = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 1, 1, 1]}
    name = client.metadata("dense")["inputs"][0]["name"]
    status, said, _ = ask("POST", "/v2/models/dense/infer", {"inputs": [{**given, "name": name}]})
    assert (status, said["outputs"][0]["data"]) == (200, [6.0, 22.0, 38.0])
    status, said, _ = ask(
        "POST", "/model/dense:predict", {"instances": [{name: [1, 1, 1, 1]}, {name: [0, 0, 0, 0]}]}
    )
    assert status == 200
    assert [list(each.values()) for each in said["instances"]] == [[[6.0, 22.0, 38.0]], [[0.0, 0.0, 0.0]]]


def test_health_needs_no_token_and_all_else_does(served, client):
    with served.client(token=None) as stranger:
        assert stranger.ready()
        with pytest.raises(RuntimeError, match="Bearer TOKEN") as refused:
            stranger.infer("pair", PAIR)
    assert refused.value.status == 401
    assert {each["name"] for each in client.models()} == {"pair", "dense", "changing"}


def test_limits_and_errors_are_those_of_the_server(ask):
    status, said, _ = ask("POST", "/v2/models/dense/infer", b"x" * (3 << 20))
    assert (status, "1048576" in said["error"]) == (413, True), said
    huge = {"inputs": [{"name": "x", "shape": [1 << 40, 4], "datatype": "FP32", "data": [1]}]}
    assert ask("POST", "/v2/models/dense/infer", huge)[0] == 413
    assert ask("POST", "/v2/models/dense/infer", b"{")[0] == 400
    status, said, _ = ask("POST", "/v2/models/pears/infer", {"inputs": []})
    assert (status, said["error"]) == (404, "there is no model 'pears'; there are pair, dense, changing")
    assert ask("GET", "/nothing")[0] == 404


def test_counters_of_all_replicas_and_batches_in_each(served, client, ask):
    """Asked at once by many, rows are computed together, and the page has both replicas' lines."""

    def counted(metric):
        lines = ask("GET", "/metrics")[1].decode().splitlines()
        found = [
            line for line in lines if line.startswith(f'{metric}{{replica="') and 'model="dense"' in line
        ]
        return {line.split('"')[1] for line in found}, sum(float(line.split()[-1]) for line in found)

    def storm():
        def one():
            with served.client() as each:
                each.infer("dense", np.ones((1, 4), np.float32))

        threads = [threading.Thread(target=one) for _ in range(16)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        replicas, batches = counted("millrace_serve_batch_rows_count")
        return len(replicas) == 2 and batches < counted("millrace_serve_batch_rows_sum")[1]

    until(storm)


# --- models that change, replicas that are lost -------------------------------------------------------------


class Load:
    """Clients that ask all the time; their answers and what failed."""

    def __init__(self, served, name):
        self.answers, self.failed, self._ended = [], [], threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(served, name)) for _ in range(3)]

    def _ask(self, served, name):
        with served.client() as client:
            while not self._ended.is_set():
                try:
                    self.answers.append(next(iter(client.infer(name, PAIR).values())).tolist())
                except Exception as error:
                    self.failed.append(error)

    def __enter__(self):
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        for each in self._threads:
            each.join(60)


def test_no_request_fails_while_all_replicas_load_a_model_anew(served, client):
    def every(times):
        """Eight answers in a row: with two replicas, those of both."""
        return [client.infer("changing", PAIR)["y0"][0, 0] for _ in range(8)] == [2.0 * times] * 8

    with Load(served, "changing") as load:
        save(2.0, served.changing)
        assert client.reload("changing") == [1]
        assert every(2)  # at once: the reload ends when all have done it
        save(3.0, served.changing)
        served.process.send_signal(signal.SIGHUP)
        until(lambda: every(3))
        served.changing.write_bytes(b"damaged")
        with pytest.raises(RuntimeError, match="the previous one is still served: no archive") as failed:
            client.reload("changing")
        assert failed.value.status == 500
        assert every(3)
        save(1.0, served.changing)
        client.reload("changing")
    assert load.failed == []
    assert {tuple(each[0]) for each in load.answers} <= {(2.0 * n,) * 3 for n in (1, 2, 3)}
    assert len(load.answers) > 3


def test_a_replica_that_is_killed_is_replaced_and_no_answer_is_wrong(served, client):
    before = until(lambda: len(served.replicas()) == 2 and served.replicas())
    with Load(served, "pair") as load:
        until(lambda: load.answers)
        os.kill(before[0], signal.SIGKILL)
        after = until(lambda: len(set(served.replicas()) - {before[0]}) == 2 and served.replicas())
        seen = len(load.answers)
        until(lambda: len(load.answers) > seen + 10)
    assert before[1] in after
    assert {tuple(each[0]) for each in load.answers} == {(4.0,) * 3}
    assert all(isinstance(each, ServeError) and each.status >= 500 for each in load.failed), load.failed


def test_a_replica_loads_only_what_it_needs(served):
    for pid in until(served.replicas):
        with contextlib.suppress(FileNotFoundError):  # replaced meanwhile
            loaded = Path(f"/proc/{pid}/maps").read_text()
            assert "torch" in loaded
            assert not [name for name in ("onnxruntime", "/cv2/") if name in loaded]


# --- what cannot be served --------------------------------------------------------------------------------


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "millrace", "serve", *words, "--port", "0"],
        capture_output=True, text=True, timeout=200, env=ENV,
    )  # fmt: skip


def test_what_is_wrong_is_said_before_anything_starts(ray_instance, files, monkeypatch):
    """On a cluster that the program is connected to, which is left alone."""
    from ray import serve

    with pytest.raises(ArgumentValueError, match="only HTTP is served"):
        start_on_ray(Config({"d": files["dense"]}, grpc_port=0))
    with pytest.raises(ArgumentValueError, match=r"'d' is a Servable .* servable\.save\('d\.mindir'\)"):
        start_on_ray(Config({"d": Servable(dense(), [any_rows(4)])}))
    with pytest.raises(ArgumentValueError, match=r"a pair \(minimum, maximum\)"):
        start_on_ray(Config({"d": files["dense"]}), replicas=(3, 2))
    with pytest.raises(ResourceError, match=r"node .* cannot open /nowhere/d\.mindir"):
        start_on_ray(Config({"d": "/nowhere/d.mindir"}))
    with pytest.raises(ArgumentValueError, match="connected to the Ray cluster at"):
        start_on_ray(Config({"d": files["dense"]}), address="192.0.2.1:6379")
    assert application(Config({"d": files["dense"]}), (1, 3))  # Ray Serve takes what it is told of scaling
    assert not serve.status().proxies
    others = SimpleNamespace(applications={"llm": None}, proxies={})
    monkeypatch.setattr(serve, "status", lambda: others)
    with pytest.raises(ResourceError, match=r"Ray Serve runs already .*, with llm, .*`serve shutdown`"):
        start_on_ray(Config({"d": files["dense"]}))
    assert ray_instance.is_initialized()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ray", "--grpc-port", "0"], "only HTTP is served with Ray"),
        (["--replicas", "2"], "--replicas and --ray-address require --ray"),
        (["--ray", "--replicas", "5000"], "request fewer replicas"),
        (["--ray", "--ray-address", "ray://127.0.0.1:1"], "Make this machine a node"),
        (["--ray", "--ray-address", "127.0.0.1:1"], "cannot connect to the Ray cluster at 127.0.0.1:1"),
    ],
)  # fmt: skip
def test_the_command_says_in_one_line_why_not(words, said, files, monkeypatch, capsys):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr("ray.is_initialized", lambda: False)  # as in a process of its own
    assert main(["serve", files["dense"], *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1, error


def test_without_ray_serve_the_error_names_the_extra(monkeypatch, files, capsys):
    monkeypatch.setitem(sys.modules, "ray.serve", None)
    assert main(["serve", files["dense"], "--ray"]) == 2
    said = capsys.readouterr().err
    assert "serving on Ray needs 'ray.serve', which is not installed: pip install" in said
    assert "'ray[serve]>=2.60'" in said


@pytest.mark.nightly
def test_a_model_that_does_not_load_is_named_and_nothing_is_left(tmp_path):
    (tmp_path / "torn.mindir").write_bytes(b"PK\x03\x04 and no more")
    done = run(str(tmp_path / "torn.mindir"), "--ray")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no replica could start: no archive of Millrace, or a damaged one" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
