"""Check the interpreter: version, build, global interpreter lock, clock."""

from __future__ import annotations

import platform
import sys
import sysconfig
from collections.abc import Iterator

from millrace import __version__

from .finding import Finding, Machine

__all__ = ["interpreter", "lock"]


def interpreter(machine: Machine) -> Iterator[Finding]:
    yield Finding(
        "ok",
        f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, Millrace {__version__}",
    )
    if sys.maxsize < 1 << 32:
        yield Finding(
            "problem",
            "this Python is a 32-bit build",
            "memory-mapped record files do not fit into a 32-bit address space",
            "install a 64-bit Python and create a new environment with it: python3 -m venv .venv",
        )
    if hasattr(sys, "gettotalrefcount"):
        yield Finding(
            "warning",
            "this Python is a debug build",
            "every operation is several times slower",
            "create the environment with a release build: python3 -m venv .venv",
        )
    for name in ("PYTHONDEVMODE", "PYTHONMALLOC", "PYTHONASYNCIODEBUG", "PYTHONTRACEMALLOC"):
        if machine.environ.get(name):
            yield Finding(
                "note",
                f"{name}={machine.environ[name]}",
                "a debugging setting that slows the interpreter",
                f"unset {name}",
            )


def lock(machine: Machine) -> Iterator[Finding]:
    free_build = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    held = getattr(sys, "_is_gil_enabled", lambda: True)()
    if not held:
        yield Finding("ok", "off: Python functions run in parallel on threads")
    elif free_build:
        yield Finding(
            "note",
            "on, although this is a free-threaded build",
            "a library without free-threading support, or PYTHON_GIL=1, enabled it",
            "PYTHON_GIL=0 python script.py",
        )
    else:
        yield Finding(
            "ok",
            "on: built-in transforms run in parallel on threads, Python functions one at a time "
            "(python_multiprocessing=True changes that)",
        )


def clock(machine: Machine) -> Iterator[Finding]:
    folder = "sys/devices/system/clocksource/clocksource0"
    source = machine.read(f"{folder}/current_clocksource").strip() or "unknown"
    available = machine.read(f"{folder}/available_clocksource").split()
    cost = machine.clock_cost()
    shown = f"{source}, {cost * 1e9:.0f} ns per read"
    if cost < 1e-6 and source not in ("hpet", "acpi_pm", "jiffies"):
        yield Finding("ok", shown)
        return
    fast = next((name for name in ("tsc", "kvm-clock", "arch_sys_counter") if name in available), None)
    yield Finding(
        "warning",
        shown,
        "each clock read is a system call; measuring short steps slows them down",
        f"echo {fast} | sudo tee /{folder}/current_clocksource"
        if fast and fast != source
        else "boot with the kernel option tsc=reliable, or use another type of virtual machine",
    )
