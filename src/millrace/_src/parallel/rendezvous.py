"""Rendezvous of launchers for PyTorch's elastic agent. Nothing from a socket is unpickled, and no store listens on more
than one address.

PyTorch's rendezvous opens stores on all interfaces and unpickles a value from them. These classes replace it:

- `LocalRendezvous`, one machine: the agent's store is in this process's memory. Scripts that call
  ``torch.distributed.init_process_group`` themselves get a store on loopback.
- `StaticRendezvous`, a fixed list of machines: a store on the address of the first one.
- `open_dynamic`, machines that join and leave: PyTorch's algorithm, with its state as JSON in the store.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import socket
import time
from collections.abc import Iterator
from typing import Any, cast

import torch.distributed as dist
from torch.distributed.elastic.rendezvous import (
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousStoreInfo,
    rendezvous_handler_registry,
)
from torch.distributed.elastic.rendezvous.api import RendezvousConnectionError
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import (
    DynamicRendezvousHandler,
    RendezvousBackend,
    RendezvousSettings,
    RendezvousTimeout,
)

from millrace._src.core.errors import OperationError
from millrace._src.runtime.distributed.addresses import LOOPBACK, connect_store, open_store
from millrace._src.runtime.tensor.backend.torch_private import elastic_classes

__all__ = [
    "DYNAMIC",
    "LOCAL",
    "STATIC",
    "StateStore",
    "decode_state",
    "encode_state",
    "register",
    "split_endpoint",
]

StateHolder: Any
NodeDescription: Any
RendezvousState: Any
StateHolder, NodeDescription, RendezvousState = elastic_classes()
LOCAL, STATIC, DYNAMIC = "millrace-local", "millrace-static", "millrace-dynamic"
STORE_TIMEOUT = datetime.timedelta(seconds=60)
# a launcher without three consecutive heartbeats is gone
KEEP_ALIVE, KEEP_ALIVE_ATTEMPTS = datetime.timedelta(seconds=5), 3
MAX_STATE_LENGTH, MAX_NODES, MAX_NAME = 1 << 20, 4096, 1024
EMPTY = "none yet"


def register() -> None:
    """Register the rendezvous handlers with PyTorch's launcher."""
    for name, create in ((LOCAL, LocalRendezvous), (STATIC, StaticRendezvous), (DYNAMIC, open_dynamic)):
        rendezvous_handler_registry.register(name, create)


class _FixedRendezvous(RendezvousHandler):
    """Base of rendezvous with a fixed number of machines."""

    def __init__(self, parameters: RendezvousParameters) -> None:
        self._run_id = parameters.run_id

    @property
    def use_agent_store(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def set_closed(self) -> None:
        pass

    def num_nodes_waiting(self) -> int:
        return 0

    def get_run_id(self) -> str:
        return self._run_id

    def shutdown(self) -> bool:
        return True


class LocalRendezvous(_FixedRendezvous):
    """One machine."""

    def __init__(self, parameters: RendezvousParameters) -> None:
        super().__init__(parameters)
        self._store = open_store(LOOPBACK, 0, STORE_TIMEOUT)

    def get_backend(self) -> str:
        return LOCAL

    def next_rendezvous(self) -> RendezvousInfo:
        return RendezvousInfo(dist.HashStore(), 0, 1, RendezvousStoreInfo(LOOPBACK, self._store.port))


class StaticRendezvous(_FixedRendezvous):
    """A fixed list of machines; the first opens the store."""

    def __init__(self, parameters: RendezvousParameters) -> None:
        super().__init__(parameters)
        self._host, self._port = split_endpoint(parameters.endpoint)
        self._rank, self._size = int(parameters.config["rank"]), parameters.max_nodes
        self._timeout = datetime.timedelta(seconds=int(parameters.config["timeout"]))
        self._any_address = bool(parameters.config.get("any_address"))
        self._store: dist.TCPStore | None = None

    def get_backend(self) -> str:
        return STATIC

    def next_rendezvous(self) -> RendezvousInfo:
        if self._store is None and self._rank == 0:
            self._store = open_store(self._host, self._port, self._timeout, any_address=self._any_address)
        elif self._store is None:
            self._store = connect_store(self._host, self._port, self._timeout)
        where = RendezvousStoreInfo(self._host, self._port)
        return RendezvousInfo(dist.PrefixStore(self._run_id, self._store), self._rank, self._size, where)


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """Host and port of HOST:PORT.

    >>> split_endpoint("node1:29400")
    ('node1', 29400)
    """
    host, _, port = endpoint.rpartition(":")
    return host.strip("[]"), int(port)


# Machines that join and leave -------------------------------------------------------------------------


class StateStore:
    """The state of a rendezvous, as text in a store that all launchers share."""

    def __init__(self, store: dist.Store, run_id: str) -> None:
        self._store, self._key = store, f"millrace/rendezvous/{run_id}"
        self.exchange("", EMPTY)  # a store has no query for a missing key

    def read(self) -> str:
        with _translate_errors():
            return bytes(self._store.get(self._key)).decode(errors="replace")

    def exchange(self, expected: str, text: str) -> str:
        """Compare and set: write `text` if the value is `expected`; returns the current value."""
        with _translate_errors():
            return bytes(self._store.compare_set(self._key, expected, text)).decode(errors="replace")


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (ValueError, RuntimeError) as error:
        raise RendezvousConnectionError(f"the store of the rendezvous is gone: {error}") from error


class _JsonStateHolder(StateHolder):
    """PyTorch's state holder with validated JSON in the store."""

    _dirty: bool
    _state: Any
    _last_sync_time: float

    def __init__(self, texts: StateStore, settings: RendezvousSettings) -> None:
        super().__init__(cast(RendezvousBackend, None), settings)  # no backend: `sync` is overridden
        self._texts, self._text = texts, EMPTY

    def sync(self) -> bool | None:
        """Write the state if it changed here, else read it; returns whether it was written, None if it was read."""
        written = None
        if self._dirty:
            wanted = encode_state(self._state)
            self._text = self._texts.exchange(self._text, wanted)
            written = self._text == wanted
        elif self._last_sync_time >= max(time.monotonic() - self._cache_duration, 0):
            return None  # read recently
        else:
            self._text = self._texts.read()
        self._state = RendezvousState() if self._text == EMPTY else decode_state(self._text)
        self._dirty, self._last_sync_time = False, time.monotonic()
        self._sanitize()
        return written


class _OneAddressHandler(DynamicRendezvousHandler):
    """PyTorch's handler with the store of the ranks on the address of this machine only."""

    any_address = False

    def _create_tcp_store_server(self, master_addr: str, master_port: int) -> dist.TCPStore:
        return open_store(master_addr, master_port, STORE_TIMEOUT, any_address=self.any_address)


def open_dynamic(parameters: RendezvousParameters) -> RendezvousHandler:
    """Rendezvous of machines that join and leave. The machine with the endpoint's address opens the store."""
    host, port = split_endpoint(parameters.endpoint)
    any_address = bool(parameters.config.get("any_address"))
    try:
        store = open_store(host, port, STORE_TIMEOUT, any_address=any_address)
    except OperationError:  # not this machine, or another launcher on it has opened the store
        try:
            store = connect_store(host, port, STORE_TIMEOUT)
        except (RuntimeError, ValueError) as error:
            raise RendezvousConnectionError(
                f"no store is reachable at {host}:{port}, and this machine cannot open one there: {error}"
            ) from error
    settings = RendezvousSettings(
        parameters.run_id,
        parameters.min_nodes,
        parameters.max_nodes,
        RendezvousTimeout(),
        keep_alive_interval=KEEP_ALIVE,
        keep_alive_max_attempt=KEEP_ALIVE_ATTEMPTS,
    )
    holder = _JsonStateHolder(StateStore(store, parameters.run_id), settings)
    node = NodeDescription(parameters.local_addr or socket.getfqdn(), os.getpid(), 0)
    handler = _OneAddressHandler(node, settings, DYNAMIC, store, holder)
    handler.any_address = any_address
    return handler


def encode_state(state: Any) -> str:
    """Encode a state as JSON; equal states give equal text.

    >>> decode_state(encode_state(RendezvousState())).round
    0
    """
    return json.dumps(
        {
            "round": state.round,
            "complete": state.complete,
            "deadline": None if state.deadline is None else state.deadline.isoformat(),
            "closed": state.closed,
            "participants": sorted([*_encode_node(node), rank] for node, rank in state.participants.items()),
            "wait_list": sorted(map(_encode_node, state.wait_list)),
            "redundancy_list": sorted(map(_encode_node, state.redundancy_list)),
            "last_heartbeats": sorted(
                [*_encode_node(node), moment.isoformat()] for node, moment in state.last_heartbeats.items()
            ),
        },
        separators=(",", ":"),
    )


def decode_state(text: str) -> Any:
    """Decode a state from untrusted JSON; anything else is refused."""
    try:
        if len(text) > MAX_STATE_LENGTH:
            raise ValueError(f"{len(text)} characters")
        values = json.loads(text)
        state = RendezvousState()
        if not isinstance(values, dict) or set(values) != set(vars(state)):
            raise ValueError("other fields")
        state.round = _check_integer(values["round"])
        state.complete, state.closed = _check_boolean(values["complete"]), _check_boolean(values["closed"])
        state.deadline = None if values["deadline"] is None else _parse_time(values["deadline"])
        state.participants = {
            _decode_node(entry[:3]): _check_integer(entry[3])
            for entry in _check_entries(values["participants"], 4)
        }
        state.wait_list = {_decode_node(entry) for entry in _check_entries(values["wait_list"], 3)}
        state.redundancy_list = {
            _decode_node(entry) for entry in _check_entries(values["redundancy_list"], 3)
        }
        state.last_heartbeats = {
            _decode_node(entry[:3]): _parse_time(entry[3])
            for entry in _check_entries(values["last_heartbeats"], 4)
        }
    except (ValueError, RecursionError) as error:
        raise RendezvousStateError(
            "the store of the rendezvous: expected the state of this run, got something else "
            f"({str(error)[:80]!r}). Does another program use this port?"
        ) from None
    return state


def _encode_node(node: Any) -> list[Any]:
    return [node.addr, node.pid, node.local_id]


def _decode_node(parts: list[Any]) -> Any:
    if not isinstance(parts[0], str) or len(parts[0]) > MAX_NAME:
        raise ValueError("no address")
    return NodeDescription(parts[0], _check_integer(parts[1]), _check_integer(parts[2]))


def _check_entries(value: Any, length: int) -> list[list[Any]]:
    if not isinstance(value, list) or len(value) > MAX_NODES:
        raise ValueError("no list of machines")
    if any(not isinstance(entry, list) or len(entry) != length for entry in value):
        raise ValueError("no machine")
    return value


def _check_integer(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError("no number")
    return value


def _check_boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("neither true nor false")
    return value


def _parse_time(value: Any) -> datetime.datetime:
    if not isinstance(value, str) or len(value) > 64:
        raise ValueError("no time")
    moment = datetime.datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return moment
