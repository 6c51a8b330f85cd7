"""Run a command as in a terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import termios


def on_terminal(command, columns=80, **options):
    """(exit status, everything that was shown)"""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=env | {"TERM": "xterm"}, **options
    )
    os.close(follower)
    seen = b""
    try:
        while part := os.read(leader, 65536):
            seen += part
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    return process.wait(60), seen.decode()
