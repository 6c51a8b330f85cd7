"""Network addresses of a run: which address a process listens on, and whether it is public.

A store of PyTorch has no password. It therefore listens on one address and never on all of them: on loopback
if the run uses one machine, else on the address by which the machines reach each other.
"""

from __future__ import annotations

import datetime
import errno
import fcntl
import ipaddress
import os
import socket
import struct
from collections.abc import Iterable

import torch.distributed as dist

from millrace._src.core.errors import OperationError
from millrace._src.core.log import get_logger

__all__ = [
    "LOOPBACK",
    "connect_store",
    "interface_of",
    "is_loopback",
    "resolves_to_loopback",
    "is_public",
    "loopback_interface",
    "open_store",
    "find_public_hosts",
    "resolve",
    "route_to",
]

logger = get_logger(__name__)

LOOPBACK = "127.0.0.1"
BACKLOG = 1024
_SIOCGIFADDR = 0x8915


def is_loopback(host: str) -> bool:
    """Whether a host is loopback by its own name or address.

    A name that only resolves to loopback on this machine is not: other machines may resolve it differently.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("node1")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def resolves_to_loopback(host: str) -> bool:
    """Whether a name resolves to loopback on this machine: it names this machine, and others resolve it
    differently.

    >>> resolves_to_loopback("127.0.0.1")
    False
    """
    return not is_loopback(host) and bool(addresses := resolve(host)) and all(map(is_loopback, addresses))


def resolve(host: str) -> list[str]:
    """The addresses of a host, IPv4 first; an empty list for an unknown name.

    >>> resolve("127.0.0.1")
    ['127.0.0.1']
    """
    if host.lower() == "localhost":
        return [LOOPBACK]
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(host.strip("[]"), None)}
    except OSError:
        return []
    return sorted(addresses, key=lambda address: (":" in address, address))


def is_public(address: str) -> bool:
    """Whether an address is reachable from the Internet: not loopback, link-local or in a private network.

    >>> is_public("10.0.0.1"), is_public("fd00::1"), is_public("8.8.8.8")
    (False, False, True)
    """
    return ipaddress.ip_address(address.partition("%")[0]).is_global


def route_to(host: str, port: int) -> str:
    """The local address that is used to reach a host; "" if there is no route. Sends nothing."""
    for address in resolve(host):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((address, port or 1))
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return ""


def loopback_interface() -> str:
    """The name of the loopback interface; "" if unknown."""
    return interface_of(LOOPBACK)


def interface_of(address: str) -> str:
    """The name of the network interface with an IPv4 address; "" if none has it.

    >>> interface_of("")
    ''
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                response = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
            except OSError:
                continue  # it has no IPv4 address
            if socket.inet_ntoa(response[20:24]) == address:
                return name
    return ""


def open_store(
    host: str, port: int, timeout: datetime.timedelta, *, any_address: bool = False
) -> dist.TCPStore:
    """Open a store that listens only on the address of `host`; port 0 selects a free port.

    The address may not belong to this machine, as behind network address translation, or it may be loopback
    under a name that other machines resolve differently. With `any_address` the store then listens on all
    addresses. Without it that is an error.
    """
    listener = _listen(host, port, any_address)
    bound_address, bound_port = listener.getsockname()[:2]
    self_address = LOOPBACK if bound_address in ("0.0.0.0", "::") else bound_address  # noqa: S104  compared, not bound
    return dist.TCPStore(
        self_address,
        bound_port,
        None,
        True,
        timeout=timeout,
        wait_for_workers=False,
        master_listen_fd=listener.detach(),
    )


def connect_store(host: str, port: int, timeout: datetime.timedelta) -> dist.TCPStore:
    """Connect to a store of another process."""
    return dist.TCPStore(host, port, None, False, timeout=timeout, wait_for_workers=False)


def _listen(host: str, port: int, any_address: bool) -> socket.socket:
    addresses = resolve(host)
    if not is_loopback(host):
        # the name of this machine is often loopback in its /etc/hosts and another address on other machines
        addresses = [address for address in addresses if not is_loopback(address)]
    error: OSError = OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    for address in addresses:
        try:
            return _create_server(address, port)
        except OSError as reason:
            error = reason
            if reason.errno != errno.EADDRNOTAVAIL:
                break
    if error.errno == errno.EADDRNOTAVAIL and any_address:
        logger.warning(
            "%s is not an address of a network interface of this machine: the store of the run listens on all "
            "interfaces, port %d. Name an address of a private network in MASTER_ADDR.",
            host,
            port,
        )
        return _create_server("", port)
    resolution = f"resolves to {', '.join(addresses)}" if addresses else "resolves to no address but loopback"
    raise OperationError(
        f"open a store: expected the address of a network interface of this machine, got {host}:{port}, which "
        f"{resolution} ({error.strerror}). Name an address of this machine that the other machines can reach."
    ) from error


def _create_server(address: str, port: int) -> socket.socket:
    if not address and socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=BACKLOG)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, port), family=family, backlog=BACKLOG)


def find_public_hosts(hosts: Iterable[str]) -> list[str]:
    """The hosts with a public address, each with that address."""
    return [
        f"{host} ({address})" if host != address else host
        for host in hosts
        for address in resolve(host)
        if is_public(address)
    ]
