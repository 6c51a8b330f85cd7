"""Listening sockets and URLs of servers."""

from __future__ import annotations

import socket

from millrace._src.core.errors import ResourceError

from .config import Config

__all__ = ["bind_socket", "url_of"]


def bind_socket(host: str, port: int, shared: bool = False) -> socket.socket:
    """Bind a socket to a free address; with `shared` it only reserves the port for a socket with SO_REUSEPORT."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on a socket with IPPROTO_TCP
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
    """URL of a server that listens on this port."""
    host = f"[{config.host}]" if ":" in config.host else config.host
    return f"{'https' if config.certificate else 'http'}://{host}:{port}"
