"""The whole suite in settings in which a suite that depends on luck fails: `make settings ARGS="--only offline"`.

Each setting is one run of pytest (two for `twice`). Ends with 1 where one of them fails.
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

PYTEST = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider"]
FAKE_CORES = '''"""As many cores as MILLRACE_TEST_CORES says, in this process and its children."""
import os
_cores = set(range(int(os.environ["MILLRACE_TEST_CORES"])))
_allowed = [_cores]
os.cpu_count = lambda: len(_cores)
os.sched_getaffinity = lambda pid: set(_allowed[0])
os.sched_setaffinity = lambda pid, mask: _allowed.__setitem__(0, set(mask) & _cores)
'''


class Setting(NamedTuple):
    """How the suite is run."""

    summary: str
    options: tuple[str, ...] = ()
    cores: int | None = None
    busy: int = 0
    copies: int = 1
    isolated: bool = False  # no network but loopback, read-only home folder, TMPDIR on another file system
    no_interrupt: bool = False


SETTINGS = {
    "order": Setting("random order", ("--random-order",)),
    "busy": Setting("two busy loops next to it", busy=2),
    "background": Setting("SIGINT ignored, as in a background job", no_interrupt=True),
    "twice": Setting("twice at the same time", copies=2),
    "offline": Setting("no network, read-only home folder, TMPDIR on another file system", isolated=True),
    "one-core": Setting("1 core reported", cores=1),
    "many-cores": Setting("16 cores reported", cores=16),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make settings", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help="names of settings, separated by commas; joined by + they are one run")
    parser.add_argument("--list", action="store_true", help="name the settings and stop")
    parser.add_argument("tests", nargs="*", help="files or folders; default: the whole suite")
    args = parser.parse_args()
    if args.list:
        for name, setting in SETTINGS.items():
            print(f"{name:12} {setting.summary}")
        return 0
    rows = [(name, *run(joined(name), args.tests)) for name in (args.only or ",".join(SETTINGS)).split(",")]
    print("\n| setting | result | minutes |\n|---|---|---:|")
    for name, result, code, seconds in rows:
        print(f"| {name} | {result if code == 0 else f'FAILED: {result}'} | {seconds / 60:.1f} |")
    return int(any(code for _, _, code, _ in rows))


def joined(names: str) -> Setting:
    """One setting from several names joined by +."""
    unknown = [name for name in names.split("+") if name not in SETTINGS]
    if unknown:
        raise SystemExit(f"make settings: expected names of {sorted(SETTINGS)}, got {unknown}. See --list.")
    setting = Setting(names)
    for name in names.split("+"):
        chosen = SETTINGS[name]
        changes = {
            field: value
            for field, value in chosen._asdict().items()
            if value != Setting._field_defaults.get(field) and field != "summary"
        }
        setting = setting._replace(**changes)
    return setting


def run(setting: Setting, tests: list[str]) -> tuple[str, int, float]:
    """Run the suite in a setting: its closing lines, its exit status, and the time in seconds."""
    start = time.monotonic()
    with ExitStack() as stack:
        environment = {**os.environ, "CI": "true"}
        if setting.cores is not None:
            environment |= stack.enter_context(fake_cores(setting.cores))
        if setting.isolated:  # not /dev/shm itself: tests look there for shared memory that others left
            environment["TMPDIR"] = stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm"))
        for _ in range(setting.busy):
            stack.enter_context(busy_loop())
        prepare = functools.partial(prepare_child, setting)
        command = isolation() if setting.isolated else []
        command += [*PYTEST, *setting.options, *tests]
        logs = [stack.enter_context(tempfile.NamedTemporaryFile("w+")) for _ in range(setting.copies)]
        print(f"--- {setting.summary}; follow it in {', '.join(log.name for log in logs)}", flush=True)
        running = [
            subprocess.Popen(command, env=environment, preexec_fn=prepare, stdout=log, stderr=log)
            for log in logs
        ]
        codes = [process.wait() for process in running]
        lines = []
        for log, code in zip(logs, codes, strict=True):
            text = Path(log.name).read_text(errors="replace").rstrip()
            lines.append(text.rpartition("\n")[2])
            if code:
                print(
                    text[text.find("= FAILURES =") :] if "= FAILURES =" in text else text[-20_000:],
                    flush=True,
                )
    return "; ".join(lines), max(codes), time.monotonic() - start


def prepare_child(setting: Setting) -> None:
    """What a child does between fork and exec."""
    if setting.no_interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def fake_cores(count: int) -> Iterator[dict[str, str]]:
    """Environment variables under which every Python process believes in so many cores."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(FAKE_CORES)
        yield {"MILLRACE_TEST_CORES": str(count), "PYTHONPATH": folder}


@contextmanager
def busy_loop() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def isolation() -> list[str]:
    """The command that starts another one without network and with a read-only home folder."""
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *rights, "--net", "--mount", sys.executable, __file__, "--inside"]


def inside(command: list[str]) -> None:
    """In the new namespaces: switch loopback on, make the home folder read-only, and become the command."""
    interface = struct.pack("16sh", b"lo", 0x1 | 0x40)  # IFF_UP | IFF_RUNNING
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, interface)  # SIOCSIFFLAGS
    home = str(Path.home())
    subprocess.run(["mount", "--bind", home, home], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", home], check=True)
    os.execv(command[0], command)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
    sys.exit(main())
