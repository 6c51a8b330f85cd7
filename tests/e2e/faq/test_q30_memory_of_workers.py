"""Q30: device memory runs out with many worker processes. A cap in each of them; the error names who holds the card."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch")

import millrace as ms  # noqa: E402
from millrace._src.runtime.tensor import out_of_memory as exhausted  # noqa: E402
from millrace._src.runtime.tensor.backend import gpu_processes as holders  # noqa: E402

CARD = "GPU-01234567"
GIB = 2**30


@pytest.fixture
def full(monkeypatch):
    """A card that is full, as PyTorch describes it."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (GIB, 8 * GIB))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Test card")
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: GIB // 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    card = types.SimpleNamespace(uuid="01234567", total_memory=8 * GIB)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    return torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has ...")


@pytest.fixture
def worker():
    code = "print(flush=True); input()"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()  # its command can be read once it runs
    yield process
    process.communicate(b"\n", timeout=60)


class Nvml(types.ModuleType):
    """The driver's library, with the processes that it is told of."""

    class NVMLError(Exception):
        pass

    def __init__(self, running):
        super().__init__("pynvml")
        self.running, self.open = running, 0

    def nvmlInit(self):
        self.open += 1

    def nvmlShutdown(self):
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid):
        if uuid != CARD:
            raise self.NVMLError("no such card")
        return uuid

    def nvmlDeviceGetComputeRunningProcesses(self, card):
        return [types.SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in self.running]


def test_the_error_names_the_processes_that_hold_the_card(full, worker, monkeypatch):
    library = Nvml([(os.getpid(), GIB), (worker.pid, 5 * GIB), (999_999_999, None)])
    monkeypatch.setitem(sys.modules, "pynvml", library)
    lines = exhausted.out_of_memory_report(full, capped=2 * GIB)
    start = lines.index("  processes on the GPU:")
    first, second, third = (line.strip() for line in lines[start + 1 : start + 4])
    assert first.startswith(f"5.0 GiB  process {worker.pid} ")
    assert first.endswith("-c print(flush=True); input() (a worker of this process)")
    assert second.startswith(f"1.0 GiB  process {os.getpid()} ")
    assert second.endswith("(this process)")
    assert third == "unknown  process 999999999 (in another process namespace)"
    assert library.open == 0


def test_without_the_library_the_command_is_asked(full, monkeypatch, tmp_path):
    command = tmp_path / "nvidia-smi"
    command.write_text(
        "#!/bin/sh\n"
        f"echo '{CARD}, {os.getpid()}, 2048, python'\n"
        "echo 'GPU-another, 17, 4096, python'\n"
        f"echo '{CARD}, 999999999, [N/A], /usr/bin/other'\n"
    )
    command.chmod(0o755)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = holders.gpu_processes(CARD)
    assert [(holder.pid, holder.bytes) for holder in found] == [(os.getpid(), 2 * GIB), (999_999_999, None)]
    assert found[1].command == "/usr/bin/other"


def test_where_nobody_can_tell_the_error_is_the_same_without_them(full, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("PATH", "")
    lines = exhausted.out_of_memory_report(full)
    assert lines[0].startswith("  wanted: 3.0 GiB; free: 1.0 GiB")
    assert not any("processes on the GPU" in line for line in lines)


def test_a_cap_of_a_worker_is_one_of_its_card(monkeypatch):
    """What `ms.runtime.set_memory` asks of PyTorch, in whatever process it is called."""
    asked = []
    monkeypatch.setattr("millrace._src.runtime.tensor.backend.memory.get_device", lambda: "cuda:0")
    card = types.SimpleNamespace(total_memory=8 * GIB)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda *given: asked.append(given))
    ms.runtime.set_memory(max_size="2GB")
    ms.runtime.set_memory()
    assert asked == [(0.25, "cuda:0"), (1.0, "cuda:0")]
