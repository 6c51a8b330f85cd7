"""Access checks of requests: token, Host and Origin headers, rule for administrative calls."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from millrace._src.core.errors import ArgumentValueError, ServeError

if TYPE_CHECKING:
    from .config import Config

__all__ = ["Guard", "check_host_name", "check_origin"]

# health routes are public: load balancers request them under any name, without a token
_OPEN = ("/v2/health/live", "/v2/health/ready")
_READS = ("GET", "HEAD", "OPTIONS")
_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104  names of all interfaces, compared with
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_CACHED = 64


def check_host_name(name: str) -> str:
    """A name of `allowed_hosts`: a host without a port, or "*"."""
    host = name if name == "*" or _parse_address(name) is not None else _split_authority(name)[0]
    if not host or host != name.lower() or set(host) & set("/@ ,"):
        raise ArgumentValueError(
            f"allowed_hosts: expected a host name or an address without a port, got {name!r}. "
            "Write 'models.example.com', or '*' for every name"
        )
    return host


def check_origin(origin: str) -> str:
    """An entry of `allowed_origins`: scheme://host[:port], or "*"."""
    scheme, separator, authority = origin.partition("://")
    if origin != "*" and (not separator or not scheme or not authority or set(authority) & set("/@ ,?#")):
        raise ArgumentValueError(
            f"allowed_origins: expected an origin, got {origin!r}. Write 'https://app.example.com', or '*' for every "
            "origin"
        )
    return origin.lower()


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _is_loopback(text: str) -> bool:
    address = _parse_address(text)
    if address is None:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _split_authority(authority: str) -> tuple[str, str]:
    """The host, in lower case and without brackets, and the port of "host[:port]"; ("", "") where it is neither."""
    text = authority.strip().lower()
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")) or _parse_address(host) is None:
            return "", ""
        port = rest[1:]
    else:
        host, _, port = text.partition(":")
    if port and not (port.isascii() and port.isdigit() and len(port) <= 5):
        return "", ""
    return host.removesuffix("."), port


class Guard:
    """The checks of one server, for HTTP and gRPC."""

    def __init__(self, config: Config) -> None:
        self._expected = None if config.token is None else f"Bearer {config.token}".encode()
        self._any_host = config.token is not None or "*" in config.allowed_hosts
        self._any_address = config.host in _WILDCARDS
        self._hosts = {"localhost", config.host.lower(), *config.allowed_hosts} - set(_WILDCARDS)
        self._origins = {origin.lower() for origin in config.allowed_origins}
        self._accepted: set[bytes] = set()

    # --- HTTP -------------------------------------------------------------------------------------------

    def check_request(self, scope: MutableMapping[str, Any]) -> None:
        """Raise ServeError if this HTTP request is not allowed."""
        if scope["path"] in _OPEN:
            return
        host = origin = authorization = None
        for name, value in scope["headers"]:
            if name == b"host":
                if host is not None:
                    raise ServeError("the request: expected one Host header, got several", 400)
                host = value
            elif name == b"origin":
                origin = value
            elif name == b"authorization":
                authorization = value
        if self._expected is not None:
            self._check_token(authorization)
        if not self._any_host and host not in self._accepted:
            self._check_host(host, scope.get("http_version", "1.1"))
        if origin is not None and scope["method"] not in _READS:
            self._check_origin(origin, host)

    def check_admin(self, scope: MutableMapping[str, Any]) -> None:
        """Raise ServeError if this HTTP client may not load models; `check_request` has passed."""
        if self._expected is not None:
            return
        client = scope.get("client")
        if client is None or not _is_loopback(str(client[0])):
            raise _needs_token()

    def _check_token(self, token: bytes | None) -> None:
        assert self._expected is not None
        if not hmac.compare_digest(token or b"", self._expected):
            what = "another one" if token else "none"
            raise ServeError(
                f"expected the header 'Authorization: Bearer TOKEN' with the server's token, got {what}", 401
            )

    def _check_host(self, host: bytes | None, version: str) -> None:
        """Refuse names of other hosts, which a web page may have pointed to this server (DNS rebinding)."""
        if host is None:
            if version == "1.0":  # browsers do not send it
                return
            raise ServeError("the request: expected a Host header, got none", 400)
        name = _split_authority(host.decode("latin-1"))[0]
        known = (
            name in self._hosts
            or _is_loopback(name)
            or (self._any_address and _parse_address(name) is not None)
        )
        if not known:
            raise ServeError(
                f"Host: expected one of {', '.join(sorted(self._hosts))}, got {name[:80]!r}. "
                "Start the server with --allowed-host NAME, or with a token",
                403,
            )
        if len(self._accepted) < _CACHED:
            self._accepted.add(host)

    def _check_origin(self, origin: bytes, host: bytes | None) -> None:
        """Refuse requests that a web page of another origin sends through a browser (CSRF)."""
        text = origin.decode("latin-1").strip().lower()
        if text in self._origins or "*" in self._origins:
            return
        scheme, _, authority = text.partition("://")
        name, port = _split_authority(authority)
        host_name, host_port = _split_authority((host or b"").decode("latin-1"))
        default = _DEFAULT_PORTS.get(scheme, "")
        if not name or (name, port or default) != (host_name, host_port or default):
            raise ServeError(
                f"Origin: expected the server's own, got {text[:80]!r}. "
                "Start the server with --allowed-origin ORIGIN to accept calls from that page",
                403,
            )

    # --- gRPC -------------------------------------------------------------------------------------------

    def check_metadata(self, metadata: Any) -> None:
        """Raise ServeError if the metadata of a gRPC call lack the server's token."""
        if self._expected is None:
            return
        authorization = next((value for name, value in metadata or () if name == "authorization"), "")
        data = authorization if isinstance(authorization, bytes) else str(authorization).encode()
        if not hmac.compare_digest(data, self._expected):
            raise ServeError(
                "expected the metadata 'authorization: Bearer TOKEN' with the server's token", 401
            )

    def check_admin_peer(self, peer: str) -> None:
        """Raise ServeError if this gRPC client may not load models. Browsers cannot send gRPC."""
        if self._expected is not None or peer.startswith("unix:"):
            return
        network, _, rest = peer.partition(":")
        address = unquote(rest).rpartition(":")[0].strip("[]")
        if network not in ("ipv4", "ipv6") or not _is_loopback(address):
            raise _needs_token()


def _needs_token() -> ServeError:
    return ServeError(
        "loading a model: expected a client on the server's machine, or a token, got neither. "
        "Start the server with --token TEXT",
        403,
    )
