"""``millrace serve`` as a process: how it starts, what it says, how it ends."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from millrace import nn, save_checkpoint
from millrace._src.cli.main import main
from millrace.serve import Client
from tests.unit.serve.example_models import write

NET = """\
import numpy as np
from millrace import nn, Tensor

def net():
    return nn.SequentialCell([nn.Dense(2, 2), nn.ReLU()])
"""


@pytest.fixture(name="files")
def served_files(tmp_path):
    return write(tmp_path)


class Process:
    """The command in a process of its own, until its first line."""

    def __init__(self, *words, **options):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "millrace", "serve", *words, "--port", "0", "--threads", "1"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip
        self.line = self.process.stdout.readline()
        self.url = next((word.rstrip(",") for word in self.line.split() if word.startswith("http")), "")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


def test_a_request_on_its_way_is_answered_before_the_end(files):
    """SIGTERM while a request waits for others to join it: it is answered, and the process ends with 0."""
    with Process(f"d={files['dense']}", "--max-wait", "3000", "--drain", "0.2") as served:
        assert served.line.startswith("serving d at http://127.0.0.1:"), served.line
        with Client(served.url) as client:
            assert client.ready()
            answers = []
            asking = threading.Thread(
                target=lambda: answers.append(client.infer("d", np.ones((1, 4), np.float32)))
            )
            client.metadata("d")
            asking.start()
            waits = Counters(served.url)
            while waits.read("millrace_serve_waiting") < 1:
                time.sleep(0.01)
            served.process.send_signal(signal.SIGTERM)
            while client.ready():  # it says so while it still answers
                time.sleep(0.01)
            code, said = served.end()
            asking.join(60)
            assert (code, said, len(answers)) == (0, "stopped\n", 1)
            np.testing.assert_allclose(answers[0][0], [6, 22, 38])


class Counters:
    def __init__(self, url):
        self.host = url.removeprefix("http://")

    def read(self, name):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return next((float(line.split()[-1]) for line in lines if line.startswith(name)), 0.0)


def test_a_net_and_its_checkpoint(tmp_path):
    (tmp_path / "nets.py").write_text(NET)
    net = nn.SequentialCell([nn.Dense(2, 2), nn.ReLU()])
    save_checkpoint(net, str(tmp_path / "net.ckpt"))
    words = ["m", "--net", "nets:net", "--ckpt", "net.ckpt", "--input", "FP32:-1,2", "--token", "secret"]
    with Process(*words, cwd=tmp_path) as served:
        rows = np.array([[1.0, -2.0]], np.float32)
        with Client(served.url, token="secret") as client:
            from millrace import Tensor

            np.testing.assert_allclose(client.infer("m", rows), net(Tensor(rows)).asnumpy(), rtol=1e-5)
        with (
            Client(served.url) as stranger,
            pytest.raises(RuntimeError, match=r"Bearer TOKEN.*got none") as refused,
        ):
            stranger.infer("m", rows)
        assert refused.value.status == 401
        with Client(served.url) as stranger:
            assert stranger.ready()
        assert served.end(signal.SIGINT)[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.mindir"], "millrace serve: nothing.mindir does not exist"),
        (["a=x.txt"], "a model is an archive, .mindir, or an ONNX file, .onnx, file: x.txt"),
        (["torn.mindir"], "no archive of Millrace, or a damaged one"),
        (["torn.onnx"], "the ONNX model is damaged"),
        (["empty"], "no model version in it"),
        (["a=x.txt", "a=x.txt"], "two models have the name 'a'"),
        (["a:b=x.txt"], "the name of a model is part of an address"),
        (["a", "--net", "no_such:net", "--input", "FP32:-1,2"], "the network 'no_such:net' cannot be imported"),
        (["a", "--net", "json:dumps"], "--net serves one model and requires --input"),
        (["a", "--net", "json:dumps", "--input", "FP33:1"], "'FP33:1' is no valid input"),
        (["a", "--ckpt", "x"], "--ckpt and --input require --net"),
        (["a=x.txt", "--certificate", "x"], "TLS needs both"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_said_in_one_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").write_text("text")
    (tmp_path / "torn.mindir").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "torn.onnx").write_bytes(b"nothing")
    (tmp_path / "empty").mkdir()
    assert main(["serve", *words, "--port", "0"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_port_that_is_taken_is_named(files, capsys):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["serve", files["dense"], "--port", port]) == 2
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


def test_help_is_quick_and_needs_no_torch():
    code = "import sys; from millrace._src.cli.main import main\ntry: main(['serve', '--help'])\n"
    code += "except SystemExit: pass\n"
    code += "assert 'torch' not in sys.modules and 'uvicorn' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_client_needs_no_torch():
    code = "import sys, json; from millrace.serve import Client; print(json.dumps('torch' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) is False


def test_the_process_freezes_imported_modules_and_shortens_the_switch_interval():
    code = (
        "import gc, sys; from millrace._src.serve import server; server._shorten_pauses(); "
        "print(gc.get_freeze_count() > 100_000, sys.getswitchinterval() == server.SWITCH_INTERVAL < 0.005)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
