"""``Client``: send inference requests from Python with NumPy arrays. Needs neither PyTorch nor the extra ``serve``."""

from __future__ import annotations

import http.client
import json
import reprlib
import ssl
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, ServeError
from millrace._src.core.public import public

from .tensor_codec import DATATYPES, Array, TensorSpec, datatype_of, from_bytes, join_bytes

__all__ = ["Client"]


@public("serve")
class Client:
    """Client of a server of the Open Inference Protocol; arrays are sent as binary tensors.

    `token` is the token of the server; `ca` is a file with the CA certificate, if it is not in the system's store.
    Each thread keeps its connection open. Failures raise ``ServeError`` with the server's message.

    >>> client = Client("http://127.0.0.1:8000", token="secret")
    >>> client.close()
    """

    def __init__(
        self, url: str, token: str | None = None, ca: str | None = None, timeout: float = 60.0
    ) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ArgumentValueError(
                f"a server's address is http://HOST:PORT or https://HOST:PORT, but got {url!r}"
            )
        self.url, self.timeout = url, timeout
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path.rstrip("/")
        self._tls = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._here = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._inputs: dict[tuple[str, str], list[TensorSpec]] = {}

    def infer(self, model: str, inputs: Any, version: str | int = "", outputs: Sequence[str] = ()) -> Any:
        """Compute the outputs of a model: an array for a single output, else a dict by name.

        `inputs` is an array for a single input, or a dict from names to arrays; a BYTES input is a list of bytes or of
        text.
        """
        path = self._path(model, version)
        specs = self._specs(model, str(version), path)
        values_by_name = inputs if isinstance(inputs, Mapping) else {specs[0].name: inputs}
        if not isinstance(inputs, Mapping) and len(specs) != 1:
            raise ArgumentTypeError(
                f"model '{model}' takes {', '.join(s.name for s in specs)}: give a dict of arrays"
            )
        datatypes = {spec.name: spec.datatype for spec in specs}
        head, parts = [], []
        for name, value in values_by_name.items():
            array, data = _encode_value(value, datatypes.get(name))
            parts.append(data)
            head.append(
                {
                    "name": name,
                    "shape": list(array.shape),
                    "datatype": datatype_of(array.dtype),
                    "parameters": {"binary_data_size": len(data)},
                }
            )
        request: dict[str, Any] = {"inputs": head, "parameters": {"binary_data_output": True}}
        if outputs:
            request["outputs"] = [{"name": name, "parameters": {"binary_data": True}} for name in outputs]
        text = json.dumps(request).encode()
        headers = {
            "Inference-Header-Content-Length": str(len(text)),
            "Content-Type": "application/octet-stream",
        }
        body, response_headers = self._request("POST", f"{path}/infer", b"".join([text, *parts]), headers)
        arrays = _decode_response(body, response_headers)
        return next(iter(arrays.values())) if len(arrays) == 1 else arrays

    def ready(self, model: str | None = None) -> bool:
        """Whether the server, or one of its models, is ready."""
        path = "/v2/health/ready" if model is None else f"{self._path(model, '')}/ready"
        try:
            self._request("GET", path)
        except ServeError:
            return False
        return True

    def metadata(self, model: str, version: str | int = "") -> Any:
        """Metadata of a model: inputs, outputs and properties, as the protocol defines them."""
        return json.loads(self._request("GET", self._path(model, version))[0])

    def models(self) -> list[dict[str, str]]:
        """The models of the server and their versions."""
        models: list[dict[str, str]] = json.loads(self._request("POST", "/v2/repository/index", b"{}")[0])
        return models

    def reload(self, model: str) -> list[int]:
        """Reload a model without dropping requests; returns its versions."""
        response = json.loads(self._request("POST", f"/v2/repository/models/{quote(model)}/load", b"{}")[0])
        self._inputs.clear()
        return [int(number) for number in response.get("versions", ())]

    def close(self) -> None:
        """Close all connections."""
        for connection in self._open:
            connection.close()
        self._open.clear()
        self._here = threading.local()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _path(self, model: str, version: str | int) -> str:
        number = f"/versions/{quote(str(version))}" if version != "" else ""
        return f"/v2/models/{quote(model)}{number}"

    def _specs(self, model: str, version: str, path: str) -> list[TensorSpec]:
        specs = self._inputs.get((model, version))
        if specs is None:
            descriptions = json.loads(self._request("GET", path)[0])["inputs"]
            specs = [
                TensorSpec(each["name"], each["datatype"], tuple(each["shape"])) for each in descriptions
            ]
            self._inputs[model, version] = specs
        return specs

    def _request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[bytes, http.client.HTTPMessage]:
        for fresh in (False, True):
            connection = self._connection()
            idle = connection.sock is not None
            try:
                connection.request(method, self._base + path, body, {**self._headers, **(headers or {})})
                response = connection.getresponse()
                data = response.read()
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # the server may have closed an idle connection; only then was no request processed
                gone = isinstance(
                    error, (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected)
                )
                if idle and gone and not fresh:
                    continue
                raise ServeError(
                    f"no response from {self.url}: {error or type(error).__name__}", 503
                ) from error
        if response.status >= 400:
            raise ServeError(_error_text(data, response), response.status)
        return data, response.headers

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._here, "connection", None)
        if connection is None:
            if self._tls is None:
                connection = http.client.HTTPConnection(self._host, self._port, timeout=self.timeout)
            else:
                connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=self.timeout, context=self._tls
                )
            self._here.connection = connection
            self._open.add(connection)
        return connection


def _encode_value(value: Any, datatype: str | None) -> tuple[Array, Any]:
    """A value as an array of the model's datatype, and its encoded bytes."""
    if datatype == "BYTES":
        listed = [value] if isinstance(value, (bytes, str)) else value
        array = np.array(listed, object)
        return array, join_bytes(array.reshape(-1))
    array = np.asarray(value)
    if not isinstance(value, np.ndarray) and datatype in DATATYPES:
        try:
            array = array.astype(DATATYPES[datatype])  # a list of numbers has no dtype
        except (TypeError, ValueError):
            raise ArgumentTypeError(f"the model takes {datatype}, but got {reprlib.repr(value)}") from None
    return array, np.ascontiguousarray(array).tobytes()


def _decode_response(body: bytes, headers: Any) -> dict[str, Array]:
    size = int(headers.get("Inference-Header-Content-Length") or len(body))
    head = json.loads(body[:size])
    arrays, at = {}, size
    for description in head["outputs"]:
        name, shape = description["name"], description["shape"]
        spec = TensorSpec(name, description["datatype"], tuple(shape))
        count = int(np.prod(shape, dtype=np.int64))
        length = description.get("parameters", {}).get("binary_data_size")
        if length is None:
            arrays[name] = np.array(description["data"], DATATYPES[spec.datatype]).reshape(shape)
        else:
            arrays[name] = from_bytes(spec, count, body[at : at + length], shape)
            at += length
    return arrays


def _error_text(data: bytes, response: http.client.HTTPResponse) -> str:
    try:
        content = json.loads(data)
        return str(content.get("error") or content.get("error_msg") or content)
    except (ValueError, AttributeError):
        return data.decode("utf-8", "replace")[:500] or f"{response.status} {response.reason}"
