"""Where a server listens: a socket for it, and its address as a client takes it."""

from __future__ import annotations

import socket

from millrace._src.core.errors import ResourceError

from .config import Config

__all__ = ["bind_socket", "url_of"]


def bind_socket(host: str, port: int, shared: bool = False) -> socket.socket:
    """A socket at this address, which nobody else has; `shared`, it only keeps the port for another that is shared."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small packets at once only on a socket that says that it is TCP's
    server_socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT if shared else socket.SO_REUSEADDR, 1)
    try:
        server_socket.bind((host, port))
    except OSError as error:
        server_socket.close()
        raise ResourceError(
            f"cannot listen on {host}:{port}: {error.strerror}; --port 0 takes any free one"
        ) from error
    return server_socket


def url_of(config: Config, port: int) -> str:
    """The address of a server that listens on this port."""
    host = f"[{config.host}]" if ":" in config.host else config.host
    return f"{'https' if config.certificate else 'http'}://{host}:{port}"
