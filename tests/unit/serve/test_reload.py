"""Models are loaded anew while they are asked: no request fails, and each is answered by one version as a whole."""

import os
import shutil
import threading

import numpy as np
import pytest

from millrace.serve import Client, Servable, start
from tests.unit.serve.example_models import Pair, any_rows, config


def save(times, path):
    Servable(Pair(times), inputs=[any_rows(3), any_rows(3)]).save(str(path) + ".new.mindir")
    os.replace(str(path) + ".new.mindir", path)


@pytest.mark.parametrize("reloads", [3, pytest.param(20, marks=pytest.mark.nightly)])
def test_no_request_fails_while_models_are_loaded_anew(tmp_path, reloads):
    path = tmp_path / "pair.mindir"
    save(1.0, path)
    with start(config({"pair": str(path)}, max_wait_ms=0)) as server:
        ended, failed, answers = threading.Event(), [], []

        def load():
            rows = np.ones((1, 3), np.float32)
            with Client(server.url) as client:
                while not ended.is_set():
                    try:
                        answers.append(client.infer("pair", {"left": rows, "right": rows})["y0"][0].tolist())
                    except Exception as error:
                        failed.append(error)

        threads = [threading.Thread(target=load) for _ in range(4)]
        for each in threads:
            each.start()
        try:
            with Client(server.url) as client:
                for number in range(2, reloads + 2):
                    save(float(number), path)
                    client.reload("pair")
                    rows = np.ones((1, 3), np.float32)
                    made = client.infer("pair", {"left": rows, "right": rows})
                    assert made["y0"].tolist() == [[2.0 * number] * 3]  # what was loaded answers from now on
        finally:
            ended.set()
            for each in threads:
                each.join(60)
    assert failed == []
    assert len(answers) >= reloads
    assert all(
        each == [each[0]] * 3 and each[0] in {2.0 * n for n in range(1, reloads + 2)} for each in answers
    )


def test_a_damaged_file_leaves_what_serves(tmp_path):
    path = tmp_path / "pair.mindir"
    save(1.0, path)
    rows = np.ones((1, 3), np.float32)
    with start(config({"pair": str(path)})) as server, Client(server.url) as client:
        path.write_bytes(b"damaged")
        with pytest.raises(RuntimeError, match="the previous one is still served: no archive") as failed:
            client.reload("pair")
        assert failed.value.status == 500
        assert client.infer("pair", {"left": rows, "right": rows})["y0"].tolist() == [[2.0] * 3]
        with pytest.raises(RuntimeError, match="there is no model 'pears'"):
            client.reload("pears")


def test_versions_come_and_go(tmp_path):
    folder = tmp_path / "pair"
    (folder / "1").mkdir(parents=True)
    save(1.0, folder / "1" / "model.mindir")
    rows = {name: np.ones((1, 3), np.float32) for name in ("left", "right")}
    with start(config({"pair": str(folder)})) as server, Client(server.url) as client:
        (folder / "3").mkdir()
        save(3.0, folder / "3" / "model.mindir")
        assert client.reload("pair") == [1, 3]
        assert client.infer("pair", rows)["y0"][0, 0] == 6.0
        assert client.infer("pair", rows, version=1)["y0"][0, 0] == 2.0
        shutil.rmtree(folder / "1")
        assert client.reload("pair") == [3]
        with pytest.raises(RuntimeError, match="has no version '1'; there are 3"):
            client.infer("pair", rows, version=1)
        assert [each["version"] for each in client.models()] == ["3"]
