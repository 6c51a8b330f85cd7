"""Check what the model server needs: libraries and a free port."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from importlib.util import find_spec

from millrace._src.core.optional import install_command

from .dependencies import version_of
from .finding import Finding, Machine

__all__ = ["serving"]

PORT, EXTRA = 8000, "serve"
# distribution -> module
NEEDED = {
    "starlette": "starlette",
    "uvicorn": "uvicorn",
    "prometheus-client": "prometheus_client",
    "torch": "torch",
    "safetensors": "safetensors",
}
GRPC = {"grpcio": "grpc", "protobuf": "google.protobuf"}
QUICK = {"httptools": "httptools"}
ONNX = {"onnxruntime": "onnxruntime"}
MNN = {"MNN": "MNN"}


def serving(machine: Machine) -> Iterator[Finding]:
    """Check whether ``millrace serve`` can start, and which features are missing."""
    there = [name for name in (NEEDED | GRPC | QUICK | ONNX | MNN) if version_of(name) is not None]
    lacking = _missing_libraries(NEEDED)
    if "starlette" in lacking and "uvicorn" in lacking:
        yield Finding(
            "ok", f"not installed, needed only for `millrace serve`: {install_command(EXTRA, 'uvicorn')}"
        )
        return
    if lacking:
        yield Finding(
            "warning",
            f"{', '.join(lacking)} missing",
            "`millrace serve` does not start",
            install_command(EXTRA, lacking[0]),
        )
        return
    shown = ", ".join(f"{name} {version_of(name)}" for name in there)
    yield Finding("ok", f"{shown}; port {PORT} {_check_port(PORT)}")
    for libraries, means in (
        (GRPC, "--grpc-port fails; HTTP works without it"),
        (QUICK, "HTTP requests are parsed several times more slowly"),
        (ONNX, "ONNX files cannot be served; archives can"),
    ):
        if absent := _missing_libraries(libraries):
            yield Finding("note", f"{', '.join(absent)} missing", means, f"pip install {' '.join(absent)}")


def _missing_libraries(libraries: dict[str, str]) -> list[str]:
    missing = []
    for name, module in libraries.items():
        try:
            there = find_spec(module) is not None
        except ModuleNotFoundError:  # of the parent package
            there = False
        if not there:
            missing.append(name)
    return missing


def _check_port(number: int) -> str:
    """Whether the default port is free."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", number))
        except OSError:
            return "is in use: choose another with --port"
    return "is free"
