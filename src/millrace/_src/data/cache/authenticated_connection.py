"""HMAC-authenticated message connection between machines for remote cache access.

Both sides prove that they know the key before any other message. Every message carries an authentication code computed
with a key of this connection and the message number: nobody in between can change, repeat or insert a message. Messages
are not encrypted. A message is a JSON object of at most 32 KB and a payload whose length is checked before memory is
allocated for it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import socket
import stat
import struct
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.errors import CacheError
from millrace._src.core.machine.shared_memory import ByteArray

from .protocol import MAX_PACKET_BYTES, VERSION, Packet, version_mismatch_message

__all__ = ["KEY_VARIABLE", "AuthenticatedConnection", "read_key"]

KEY_VARIABLE = "MILLRACE_CACHE_KEY"
MIN_KEY_BYTES, MAX_KEY_BYTES = 16, 4096
MAX_PAYLOAD = 1 << 28
GREETING_SECONDS = 10.0
RESPONSE_SECONDS = 120.0
_LENGTHS = struct.Struct("<IQ")
_CODE_BYTES = 32


def read_key(path: str) -> bytes:
    """Read the key from a file that only its owner may read."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise CacheError(f"others may read the key in {path}: chmod 600 {path}", "key")
            key = file.read(MAX_KEY_BYTES + 1).strip()
    except OSError as error:
        raise CacheError(f"the key in {path} cannot be read: {error.strerror}", "key") from error
    if not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        raise CacheError(
            f"the key in {path} has {len(key)} bytes; it needs {MIN_KEY_BYTES} to {MAX_KEY_BYTES}. Create one with "
            f"'openssl rand -hex 32 > {path}'",
            "key",
        )
    return key


class AuthenticatedConnection:
    """One end of a connection. ``serves`` is true on the server: proofs and codes of the two sides differ.

    The whole handshake is limited to `GREETING_SECONDS`, however the peer splits it into packets.
    """

    def __init__(
        self,
        sock: socket.socket,
        key: bytes,
        *,
        serves: bool,
        greeting_seconds: float = GREETING_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sock = sock
        self._clock = clock
        self._deadline: float | None = clock() + greeting_seconds
        self._out = self._in = 0
        self._codes = b"", b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            session_key = self._greet_client(key) if serves else self._greet_server(key)
        except CacheError:
            sock.close()
            raise
        except (OSError, KeyError, ValueError) as error:
            sock.close()
            raise CacheError(f"the peer is not a cache server or client ({error})", "version") from error
        ours, theirs = (b"server", b"client") if serves else (b"client", b"server")
        self._codes = _proof(session_key, ours), _proof(session_key, theirs)
        self._deadline = None
        sock.settimeout(RESPONSE_SECONDS)

    # handshake --------------------------------------------------------------------------------------

    def _greet_client(self, key: bytes) -> bytes:
        nonce = secrets.token_hex(16)
        self._send_plain({"version": VERSION, "nonce": nonce})
        greeting = self._receive_plain()
        nonces = f"{nonce}{greeting['nonce']}".encode()
        if not _is_proof(greeting["proof"], _proof(key, b"client" + nonces)):
            self._send_plain({"error": "the keys differ"})
            raise CacheError("a client does not know the key", "key")
        self._send_plain({"proof": _proof(key, b"server" + nonces).hex()})
        return _proof(key, b"session" + nonces)

    def _greet_server(self, key: bytes) -> bytes:
        greeting = self._receive_plain()
        if greeting.get("version") != VERSION:
            raise CacheError(version_mismatch_message(greeting.get("version")), "version")
        nonce = secrets.token_hex(16)
        nonces = f"{greeting['nonce']}{nonce}".encode()
        self._send_plain({"nonce": nonce, "proof": _proof(key, b"client" + nonces).hex()})
        response = self._receive_plain()
        if not _is_proof(response.get("proof"), _proof(key, b"server" + nonces)):
            raise CacheError(
                f"the cache server does not have the same key: copy the file that {KEY_VARIABLE} names from there",
                "key",
            )
        return _proof(key, b"session" + nonces)

    def _send_plain(self, packet: Packet) -> None:
        data = json.dumps(packet).encode()
        self._limit_wait()
        self.sock.sendall(_LENGTHS.pack(len(data), 0) + data)

    def _receive_plain(self) -> Packet:
        length, payload = _LENGTHS.unpack(self._receive_exactly(_LENGTHS.size))
        if payload or length > 1024:
            raise ValueError("the greeting is too long")
        return _parse_object(self._receive_exactly(length))

    # messages ---------------------------------------------------------------------------------------

    def send(self, packet: Packet, payload: Any = b"") -> None:
        head = json.dumps(packet, separators=(",", ":")).encode()
        body = memoryview(payload).cast("B") if len(payload) else b""
        if len(head) > MAX_PACKET_BYTES or len(body) > MAX_PAYLOAD:
            raise CacheError(f"a message of {len(head)} and {len(body)} bytes is too long")
        lengths = _LENGTHS.pack(len(head), len(body))
        code = self._code(self._codes[0], self._out, lengths, head, body)
        self._out += 1
        self.sock.sendall(lengths + head)
        if len(body):
            self.sock.sendall(body)
        self.sock.sendall(code)

    def receive(self) -> tuple[Packet, ByteArray] | None:
        """The next message; None when the peer is gone."""
        first = self._receive_first(_LENGTHS.size)
        if not first:
            return None
        lengths = first + self._receive_exactly(_LENGTHS.size - len(first))
        length, size = _LENGTHS.unpack(lengths)
        if length > MAX_PACKET_BYTES or size > MAX_PAYLOAD:
            raise CacheError(f"a message of {length} and {size} bytes is too long")
        head = self._receive_exactly(length)
        body: ByteArray = np.empty(size, np.uint8)
        self._receive_into(body.data)
        code = self._code(self._codes[1], self._in, lengths, head, body.data)
        if not hmac.compare_digest(code, self._receive_exactly(_CODE_BYTES)):
            raise CacheError("a message was changed in transit")
        self._in += 1
        return _parse_object(head), body

    @staticmethod
    def _code(key: bytes, number: int, *parts: Any) -> bytes:
        digest = hashlib.blake2b(number.to_bytes(8, "little"), key=key, digest_size=_CODE_BYTES)
        for part in parts:
            digest.update(part)
        return digest.digest()

    def _receive_first(self, most: int) -> bytes:
        try:
            return self.sock.recv(most)
        except ConnectionError:
            return b""

    def _receive_exactly(self, size: int) -> bytes:
        data = bytearray(size)
        self._receive_into(memoryview(data))
        return bytes(data)

    def _receive_into(self, buffer: memoryview) -> None:
        at = 0
        while at < len(buffer):
            self._limit_wait()
            got = self.sock.recv_into(buffer[at:])
            if not got:
                raise ConnectionError("the connection ended in the middle of a message")
            at += got

    def _limit_wait(self) -> None:
        """During the handshake, limit the wait of the next call to the remaining time."""
        if self._deadline is None:
            return
        left = self._deadline - self._clock()
        if left <= 0:
            raise TimeoutError("the greeting took too long")
        self.sock.settimeout(left)

    def close(self) -> None:
        self.sock.close()


def _is_proof(received: Any, proof: bytes) -> bool:
    return hmac.compare_digest(str(received).encode("utf-8", "replace"), proof.hex().encode())


def _proof(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


def _parse_object(data: bytes) -> Packet:
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CacheError(f"a message cannot be read: {error}") from error
    if not isinstance(message, dict):
        raise CacheError("a message must be a JSON object")
    return message
