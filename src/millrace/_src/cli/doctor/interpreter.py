"""The interpreter: version, kind of build, the global lock."""

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
            "record files and shared memory are mapped, and do not fit into 32 bits",
            "install a 64-bit Python and make a new environment with it: python3 -m venv .venv",
        )
    if hasattr(sys, "gettotalrefcount"):
        yield Finding(
            "warning",
            "this Python is a debug build",
            "every object costs several times as much",
            "make the environment with a release build: python3 -m venv .venv",
        )
    for name in ("PYTHONDEVMODE", "PYTHONMALLOC", "PYTHONASYNCIODEBUG", "PYTHONTRACEMALLOC"):
        if machine.environ.get(name):
            yield Finding(
                "note",
                f"{name}={machine.environ[name]}",
                "a setting for finding bugs; the interpreter is slower with it",
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
            "on, although this build can do without",
            "a library that is not ready for it, or PYTHON_GIL=1, switched it on",
            "PYTHON_GIL=0 python script.py",
        )
    else:
        yield Finding(
            "ok",
            "on: the built-in transforms run in parallel on threads, your own Python functions in turn "
            "(python_multiprocessing=True changes that)",
        )


def clock(machine: Machine) -> Iterator[Finding]:
    folder = "sys/devices/system/clocksource/clocksource0"
    source = machine.read(f"{folder}/current_clocksource").strip() or "unknown"
    available = machine.read(f"{folder}/available_clocksource").split()
    cost = machine.clock_cost()
    shown = f"{source}, {cost * 1e9:.0f} ns a look"
    if cost < 1e-6 and source not in ("hpet", "acpi_pm", "jiffies"):
        yield Finding("ok", shown)
        return
    fast = next((name for name in ("tsc", "kvm-clock", "arch_sys_counter") if name in available), None)
    yield Finding(
        "warning",
        shown,
        "the clock asks the system each time; whatever measures small steps is slowed by it",
        f"echo {fast} | sudo tee /{folder}/current_clocksource"
        if fast and fast != source
        else "boot with the kernel option tsc=reliable, or use another kind of virtual machine",
    )
