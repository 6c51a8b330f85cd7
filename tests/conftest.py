"""Hypothesis profiles and the leak check. The root conftest.py isolates the settings."""

import gc
import os
import signal
import sys
import threading
import time

import pytest
from hypothesis import HealthCheck, settings

from millrace._src.core import stable_ids
from tests.support.cache_server import cache_home
from tests.support.leaks import MARK, Footprint
from tests.support.ray_nodes import local_ray

# No deadline: a shared two-core machine pauses a process for longer than any example takes.
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,  # a red CI run must be red again on a desk
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("nightly", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))

# A shell that starts us in the background has us ignore Ctrl-C, and so would every program that a test starts and
# interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Every process started from here inherits this, so that an orphan is still known as ours.
os.environ[MARK] = str(os.getpid())


# Modules that were loaded when the collector was last told to leave out what is there.
_modules_seen = 0


def _leave_out_what_stays():
    """Let the collector pass over what lives as long as this process: libraries, and every test that was collected.

    It would look at all of that (a second's work) before and after each test that is asked what it leaves behind.
    """
    global _modules_seen
    gc.collect()
    gc.freeze()
    _modules_seen = len(sys.modules)


def pytest_collection_finish(session):
    _leave_out_what_stays()


@pytest.fixture
def no_leaks():
    """Fail the test if it leaves behind a thread, a process, an open descriptor or a shared-memory block.

    The check collects garbage and looks again until nothing is left or thirty seconds have passed, so a thread
    that is just ending is not a leak, and one that never ends is.
    """
    if len(sys.modules) > _modules_seen + 100:  # PyTorch, JAX
        _leave_out_what_stays()
    before = Footprint.take()
    yield
    left = before.wait_until_back(seconds=30)
    assert not left, "the test left behind:\n" + "\n".join(f"  {line}" for line in left)


@pytest.fixture(scope="session")
def ray_instance():
    """One small Ray instance for all tests of this process that want one."""
    with local_ray() as ray:
        yield ray


@pytest.fixture
def home(monkeypatch):
    """A place for cache servers of this test alone, for commands and for this process."""
    with cache_home() as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made.folder))
        monkeypatch.delenv("MS_CACHE_PORT", raising=False)
        monkeypatch.delenv("MS_CACHE_HOST", raising=False)
        yield made


@pytest.fixture(autouse=True)
def caps_given_back():
    """Fail the test after which the threads of OpenCV and BLAS stay limited: what follows would run under its limits.

    A worker that is just ending has thirty seconds to give them back.
    """
    yield
    budget = sys.modules.get("millrace._src.data.engine.thread_limits")
    deadline = time.monotonic() + 30
    while budget is not None and budget._caps._users and time.monotonic() < deadline:
        gc.collect()
        threading.Event().wait(0.02)
    users = 0 if budget is None else budget._caps._users
    names = [thread.name for thread in threading.enumerate()]
    if users:
        budget._caps = budget._ThreadPoolLimits()  # the tests after it are not to blame
    assert users == 0, f"{users} workers hold the threads of libraries limited; threads: {names}"


@pytest.fixture(autouse=True)
def nothing_is_stored_without_an_id():
    """A class or function of Millrace that a fingerprint met must have a stable id."""
    before = set(stable_ids.unregistered)
    yield
    assert stable_ids.unregistered - before == set(), "give it an id: core/stable_ids.py"
