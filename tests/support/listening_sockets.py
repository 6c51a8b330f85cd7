"""Which addresses the processes of a test listen on, from /proc."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path

LISTEN = "0A"


def processes_with(variable: str, value: str) -> list[int]:
    """Processes whose environment has this variable: those that a test started, and theirs."""
    wanted = f"{variable}={value}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if wanted in environment.split(b"\0"):
                found.append(int(entry.name))
    return found


def listening(pids: list[int]) -> dict[int, list[str]]:
    """Process -> the TCP addresses it listens on."""
    addresses = _listeners()
    found: dict[int, list[str]] = {}
    for pid in pids:
        try:
            descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
        except OSError:
            continue  # it has ended
        inodes = [
            match[1] for link in map(_link, descriptors) if (match := re.fullmatch(r"socket:\[(\d+)\]", link))
        ]
        found[pid] = [addresses[inode] for inode in inodes if inode in addresses]
    return found


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""  # closed meanwhile


def beyond_loopback(pids: list[int]) -> dict[int, list[str]]:
    """The part of `listening` that other machines may reach."""
    return {
        pid: outside
        for pid, addresses in listening(pids).items()
        if (outside := [address for address in addresses if not _is_loopback(address)])
    }


def _is_loopback(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def _listeners() -> dict[str, str]:
    """Inode -> address."""
    found = {}
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == LISTEN:
                raw = bytes.fromhex(parts[1].partition(":")[0])
                words = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
                found[parts[9]] = str(ipaddress.ip_address(words))
    return found
