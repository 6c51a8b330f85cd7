"""Q51: serving beside or with the framework. One extra, one command, no paths to set."""

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("uvicorn")

from millrace import Tensor, export, float32, nn
from millrace.dataset.transforms import TypeCast
from millrace.serve import ArgMax, Client, Labels, Servable


def test_one_extra_brings_all_that_a_server_needs():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    names = " ".join(project["optional-dependencies"]["serve"])
    for each in ("starlette", "uvicorn", "grpcio", "prometheus-client", "onnxruntime", "millrace[train]"):
        assert each in names


def test_a_model_is_served_in_an_environment_with_nothing_set(tmp_path):
    net = nn.Dense(2, 1, weight_init="ones", has_bias=False)
    export(
        net, Tensor(shape=[None, 2], dtype=float32), file_name=str(tmp_path / "model"), file_format="MINDIR"
    )
    # with transforms around it: the server's process has imported nothing of theirs
    servable = Servable(
        net, [Tensor(shape=[None, 2], dtype=float32)], pre=[TypeCast(np.float32)], takes=("INT32", (2,)),
        post=[ArgMax(), Labels(["yes"])],
    )  # fmt: skip
    servable.save(str(tmp_path / "named.mindir"))
    command = [sys.executable, "-m", "millrace", "serve", "model.mindir", "named.mindir", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("serving model, named at http"), line
            with Client(line.split()[-1]) as client:
                assert client.infer("model", np.array([[1, 2]], np.float32)).tolist() == [[3.0]]
                assert client.infer("named", np.array([[1, 2]], np.int32)).tolist() == [b"yes"]
            process.terminate()
            process.communicate(timeout=60)
            assert process.returncode == 0
        finally:
            process.kill()
