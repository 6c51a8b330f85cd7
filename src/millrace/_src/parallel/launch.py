"""Start the processes of a training on this machine with PyTorch's elastic agent, and stop them together.

On one machine all sockets are on loopback (`rendezvous`), and the ranks meet through a file in a folder with mode 700.

The output of each rank goes to a file and, prefixed with the rank, to the terminal. If a rank fails, the others are
stopped; the last lines show the first failure with its traceback.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import RendezvousError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.core.machine.cores import available_cores
from millrace._src.runtime.distributed.addresses import (
    connect_store,
    find_public_hosts,
    interface_of,
    resolve,
    resolves_to_loopback,
    route_to,
)
from millrace._src.runtime.distributed.cluster_environment import RENDEZVOUS_VARIABLE

from .process_failure import ProcessFailure, first_failure, last_traceback
from .rendezvous import DYNAMIC, LOCAL, STATIC, register, split_endpoint

__all__ = ["LaunchRequest", "launch"]

PORT = 29400
# seconds that a process has to exit after SIGTERM
GRACE = 5


@dataclasses.dataclass
class LaunchRequest:
    """What to launch, and where."""

    command: list[str]
    processes: int = 0  # 0: one per GPU, or one
    hosts: tuple[str, ...] = ()
    node: int | None = None
    master: str = ""
    rdzv: str = ""
    nodes: tuple[int, int] = (1, 1)
    job: str = ""
    logs: str = ""
    restarts: int = 0
    insecure: bool = False


def launch(request: LaunchRequest) -> int:
    """Run the processes until they end; 0 if all succeeded."""
    count = request.processes or max(1, torch.cuda.device_count())
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, available_cores() // count)))
    logging.getLogger("torch.distributed").setLevel(
        logging.CRITICAL
    )  # the essential messages are printed below
    register()
    with _private_folder() as private:
        folder = Path(request.logs) if request.logs else private
        folder.mkdir(parents=True, exist_ok=True)
        config = _build_config(request, count, folder)
        if config.rdzv_backend == LOCAL:
            os.environ[RENDEZVOUS_VARIABLE] = f"{config.run_id}:{private}"
        with _watch_peers(config, request):
            try:
                elastic_launch(config, sys.executable)(*request.command)
            except (RendezvousError, OperationError) as error:
                sys.stderr.write(f"millrace run: the rendezvous of the machines failed: {error}\n")
                return 1
            except ChildFailedError as error:
                sys.stdout.flush()
                sys.stderr.write(_report(error, folder, request))
                return 1
            except SignalException as error:
                if _peers_ended.is_set():
                    sys.stderr.write("millrace run: ended, since another machine of this run has ended\n")
                    return 1
                sys.stderr.write(f"millrace run: ended by {error.sigval.name}\n")
                return 128 + int(error.sigval)
    return 0


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder with mode 700 that is removed after the run."""
    folder = Path(tempfile.mkdtemp(prefix="millrace-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _build_config(wanted: LaunchRequest, count: int, folder: Path) -> LaunchConfig:
    machines = bool(len(wanted.hosts) > 1 or wanted.rdzv)
    several = count > 1 or machines
    shared: dict[str, Any] = {
        "nproc_per_node": count,
        # identifies the run on all machines
        "run_id": wanted.job or ("millrace" if machines else uuid.uuid4().hex),
        "max_restarts": wanted.restarts,
        "monitor_interval": 0.1,
        "logs_specs": DefaultLogsSpecs(str(folder), redirects=Std.ALL, tee=Std.ALL),
        "log_line_prefix_template": "[rank ${rank}] " if several else "",
        "shutdown_timeout": GRACE,
    }
    if wanted.rdzv:
        least, most = wanted.nodes
        endpoint = _with_port(wanted.rdzv, "--rdzv")
        host, port = split_endpoint(endpoint)
        address = _checked_address(wanted, host, port, [host])
        return LaunchConfig(
            least,
            most,
            rdzv_backend=DYNAMIC,
            rdzv_endpoint=endpoint,
            rdzv_configs={"any_address": resolves_to_loopback(host)},
            local_addr=address or None,
            **shared,
        )
    if len(wanted.hosts) < 2:
        return LaunchConfig(1, 1, rdzv_backend=LOCAL, local_addr="localhost", **shared)
    node, endpoint = _node_rank(wanted), _with_port(wanted.master or wanted.hosts[0], "--master")
    host, port = split_endpoint(endpoint)
    _checked_address(wanted, host, port, [host, *wanted.hosts])
    return LaunchConfig(
        len(wanted.hosts),
        len(wanted.hosts),
        rdzv_backend=STATIC,
        rdzv_endpoint=endpoint,
        rdzv_configs={"rank": node, "timeout": 900, "any_address": wanted.insecure},
        local_addr=wanted.hosts[node],
        **shared,
    )


def _with_port(endpoint: str, option: str) -> str:
    endpoint = endpoint if ":" in endpoint else f"{endpoint}:{PORT}"
    host, _, port = endpoint.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ArgumentValueError(f"{option}: expected HOST or HOST:PORT, got {endpoint}")
    return endpoint


def _checked_address(wanted: LaunchRequest, host: str, port: int, hosts: list[str]) -> str:
    """This machine's address in the network of the run, "" where it is unknown.

    The stores and the connections of a run have no password: they belong in a private network.
    """
    address = route_to(host, port)
    public = find_public_hosts(dict.fromkeys([*hosts, *([address] if address else [])]))
    if public and not wanted.insecure:
        raise ArgumentValueError(
            f"expected addresses of a private network, got {', '.join(public)}: whoever reaches the ports of a run can "
            "change it. Name private addresses, connect the machines with a VPN, or add --insecure"
        )
    if resolves_to_loopback(host):
        if not wanted.insecure:
            raise ArgumentValueError(
                f"expected an address that other machines reach, got {host}, which is {resolve(host)[0]} here: name "
                "this machine's address in the private network with --master or --rdzv, or add --insecure to listen "
                "on all addresses"
            )
        return ""
    if interface := interface_of(address):  # or gloo would listen on whatever address this machine's name has
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    return address


def _node_rank(wanted: LaunchRequest) -> int:
    """Index of this machine in the hosts."""
    if wanted.node is not None:
        if not 0 <= wanted.node < len(wanted.hosts):
            raise ArgumentValueError(
                f"--node {wanted.node} is none of the {len(wanted.hosts)} hosts, counted from 0"
            )
        return wanted.node
    local_names = {socket.gethostname(), socket.getfqdn(), *_local_addresses()}
    matches = [
        index
        for index, host in enumerate(wanted.hosts)
        if host in local_names or _resolve_host(host) & local_names
    ]
    if len(matches) != 1:
        raise ArgumentValueError(
            f"this machine ({socket.gethostname()}) is {'none' if not matches else 'several'} of --hosts "
            f"{','.join(wanted.hosts)}. Set its index with --node K, counted from 0"
        )
    return matches[0]


def _local_addresses() -> set[str]:
    try:
        return set(socket.gethostbyname_ex(socket.gethostname())[2])
    except OSError:
        return set()


def _resolve_host(host: str) -> set[str]:
    try:
        return {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return set()


def _report(error: ChildFailedError, folder: Path, wanted: LaunchRequest) -> str:
    deaths = [
        ProcessFailure(rank, failure.pid, failure.exitcode, last_traceback(folder, failure.local_rank))
        for rank, failure in error.failures.items()
    ]
    first = first_failure(deaths)
    terminated_ranks = sorted(death.rank for death in deaths if death is not first)
    lines = [f"\nmillrace run: {first.sentence(socket.gethostname())}"]
    lines += [f"  {line}" for line in first.traceback.splitlines()]
    if terminated_ranks:
        lines.append(f"  ended with it: rank {', '.join(map(str, terminated_ranks))}")
    if wanted.logs:
        lines.append(f"  output of every rank: {folder}")
    return "\n".join(lines) + "\n"


# Several machines: notify the others on exit ----------------------------------------------------------

_peers_ended = threading.Event()


@contextmanager
def _watch_peers(config: LaunchConfig, wanted: LaunchRequest) -> Iterator[None]:
    """On several machines, watch the store of the rendezvous: stop if a machine has failed or the store is gone."""
    if len(wanted.hosts) < 2:
        yield
        return
    host, port = split_endpoint(config.rdzv_endpoint)
    done = threading.Event()
    thread = threading.Thread(target=_watch_store, args=(host, port, done), daemon=True)
    thread.start()
    try:
        yield
    except BaseException:
        _notify_peers(host, port)
        raise
    finally:
        done.set()
        thread.join(timeout=2 * GRACE)


def _notify_peers(host: str, port: int) -> None:
    try:
        connect_store(host, port, timedelta(seconds=2)).set("millrace/ended", "1")
    except (RuntimeError, ValueError):
        return  # the store is gone, which the others notice


def _watch_store(host: str, port: int, done: threading.Event) -> None:
    try:
        store = connect_store(host, port, timedelta(seconds=900))
    except (RuntimeError, ValueError):
        return  # the rendezvous failed: the agent reports it
    while not done.wait(1.0):
        try:
            ended = store.check(["millrace/ended"])
        except (RuntimeError, ValueError):
            ended = True
        if ended:
            if not done.wait(1.0):  # all may just have finished successfully
                _peers_ended.set()
                os.kill(os.getpid(), signal.SIGTERM)
            return
