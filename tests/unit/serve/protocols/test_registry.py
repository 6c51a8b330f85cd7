"""The registry of serving protocols: every protocol is served, and the servers know none by name."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("starlette")
pytest.importorskip("msgspec")

from millrace._src.serve import protocols
from millrace._src.serve.grpc import server as grpc_server
from millrace._src.serve.http import app
from millrace._src.serve.protocols import registry


def test_every_module_registers_once():
    names = [each.name for each in (*registry.http_protocols(), *registry.grpc_services())]
    assert names == ["v2-http", "mindspore-http", "v2-grpc", "mindspore-grpc"]
    modules = {path.stem for path in Path(protocols.__file__).parent.glob("*.py")}
    helpers = {"__init__", "registry", "mindspore_instances"}
    assert modules - helpers == set(registry.MODULES)


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v2/models/m/infer", ("v2-http", ("m", ""))),
        ("/v2/models/m/versions/3/infer", ("v2-http", ("m", "3"))),
        ("/model/m:predict", ("mindspore-http", ("m", ""))),
        ("/model/m/version/3:predict", ("mindspore-http", ("m", "3"))),
        ("/v2/models/m", None),
        ("/model/m", None),
        ("/metrics", None),
    ],
)
def test_paths_match_one_protocol(path, model):
    matches = [
        (each.name, match) for each in registry.http_protocols() if (match := each.match(path)) is not None
    ]
    assert matches == ([] if model is None else [model])


@pytest.mark.parametrize("module", [app, grpc_server])
def test_the_servers_know_no_protocol_by_name(module):
    source = inspect.getsource(module)
    for name in registry.MODULES:
        assert name not in source
    for protocol in (*registry.http_protocols(), *registry.grpc_services()):
        assert protocol.name not in source
