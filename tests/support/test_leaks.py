"""The leak check itself: it must see each kind of leak, and must not cry over what has ended."""

import multiprocessing
import subprocess
import sys
import threading
from multiprocessing import shared_memory

import pytest

from tests.support.leaks import Footprint

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_a_thread_that_goes_on_is_seen_and_one_that_ends_is_not():
    before = Footprint.take()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="left-over")
    thread.start()
    try:
        assert "left-over" in before.wait_until_back(seconds=0)[0]
    finally:
        stop.set()
    assert before.wait_until_back(seconds=10) == []


def test_a_child_process_is_seen():
    before = Footprint.take()
    child = subprocess.Popen(SLEEPER)
    try:
        assert [line for line in before.wait_until_back(seconds=0) if f"process {child.pid}" in line]
    finally:
        child.kill()
        child.wait(10)
    assert before.wait_until_back(seconds=10) == []


def test_an_orphan_is_seen():
    before = Footprint.take()
    middle = f"from subprocess import *; print(Popen({SLEEPER!r}, stdout=DEVNULL, stderr=DEVNULL).pid)"
    pid = int(
        subprocess.run([sys.executable, "-c", middle], capture_output=True, check=True, text=True).stdout
    )
    try:
        assert [line for line in before.wait_until_back(seconds=0) if f"process {pid}" in line]
    finally:
        subprocess.run(["kill", "-9", str(pid)], check=True)
    assert before.wait_until_back(seconds=10) == []


def test_an_open_file_is_seen(tmp_path):
    before = Footprint.take()
    file = open(tmp_path / "left-open", "w")  # noqa: SIM115 - left open on purpose
    try:
        assert "left-open" in before.wait_until_back(seconds=0)[0]
    finally:
        file.close()
    assert before.wait_until_back(seconds=10) == []


def test_a_shared_block_is_seen():
    before = Footprint.take()
    block = shared_memory.SharedMemory(create=True, size=64)
    try:
        assert [line for line in before.wait_until_back(seconds=0) if line.endswith(block.name)]
    finally:
        block.close()
        block.unlink()
    assert before.wait_until_back(seconds=10) == []


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_that_were_joined_are_no_leak(method, no_leaks):
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(abs, (-3,)) == 3
    pool.join()
