"""Hypothesis profiles and the leak check. The root conftest.py isolates the settings."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.leaks import MARK, Footprint

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

# Every process started from here inherits this, so that an orphan is still known as ours.
os.environ[MARK] = str(os.getpid())


@pytest.fixture
def no_leaks():
    """Fail the test if it leaves behind a thread, a process, an open descriptor or a shared-memory block.

    The check collects garbage and looks again until nothing is left or ten seconds have passed, so a thread
    that is just ending is not a leak, and one that never ends is.
    """
    before = Footprint.take()
    yield
    left = before.wait_until_back(seconds=10)
    assert not left, "the test left behind:\n" + "\n".join(f"  {line}" for line in left)
