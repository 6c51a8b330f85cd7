"""Q39: how do I get more detailed logs? Levels for everything, for one module, and for single events."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")

SCRIPT = """
import millrace as ms
ms.set_context(enable_graph_kernel=True)
ms.runtime.set_kernel_launch_group(2, 8)
ms.set_context(device_target="Ascend")
"""
KEPT = "set_context(enable_graph_kernel=...) is kept and changes nothing here"
LAUNCH = "set_kernel_launch_group is kept and changes nothing here"
NO_ASCEND = "there is no Ascend here"


def said(**environment: str) -> str:
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("GLOG", "MS_", "MILLRACE"))
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=plain | environment,
        check=True,
        timeout=120,
    )
    return done.stderr


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, (False, False, True)),  # as ever in Python: warnings only
        ({"GLOG_v": "1"}, (True, True, True)),
        ({"GLOG_v": "3"}, (False, False, False)),
        ({"MILLRACE_LOG": "{tensor.context:1}"}, (True, False, True)),
        ({"GLOG_v": "3", "MILLRACE_LOG": "{tensor.threads:1}"}, (False, True, False)),
    ],
    ids=str,
)
def test_levels_from_the_environment(environment, wanted) -> None:
    text = said(**environment)
    assert tuple(words in text for words in (KEPT, LAUNCH, NO_ASCEND)) == wanted


def test_levels_and_events_from_python(caplog) -> None:
    """Loggers are Python's: one per module, and a filter chooses events."""
    from millrace import runtime

    logger = logging.getLogger("millrace.tensor.threads")
    with caplog.at_level(logging.INFO, logger="millrace.tensor.threads"):
        runtime.set_kernel_launch_group(2, 8)
        runtime.set_kernel_launch_capture(True)
        logger.addFilter(only := lambda record: "capture" in record.getMessage())
        try:
            runtime.set_kernel_launch_group(2, 8)
            runtime.set_kernel_launch_capture(True)
        finally:
            logger.removeFilter(only)
    assert [("capture" in record.getMessage()) for record in caplog.records] == [False, True, True]
