"""Q29: why did GetNext time out? The status that MindSpore shows, and a verdict that names the situation.

Each of the five situations is planted at random speeds in tests/unit/transfer/test_simulated_faults.py.
"""

from __future__ import annotations

import re
import threading
import time

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
import millrace.dataset as ds
from millrace import ops
from millrace._src.core.errors import StallError
from millrace._src.observe.transfer_diagnosis import SITUATIONS
from tests.unit.transfer.log_capture import logged


def numbers(count=40):
    return ds.NumpySlicesDataset({"x": np.arange(count, dtype=np.float32)}, shuffle=False).batch(2)


def test_the_status_of_a_channel(no_leaks):
    began = time.time()
    queue = numbers().device_que(queue_name="status")
    queue.send(num_epochs=1)
    for _ in range(15):
        next(queue)
    info = queue.get_send_info()
    assert info["channel_name"] == "status"
    assert info["have_sent"] >= info["have_taken"] == 15
    for name in ("host_queue", "device_queue", "push_start_time"):
        assert len(info[name]) == 10  # the last ten
    assert began <= info["push_first_start_time"] <= info["push_first_end_time"]
    assert info["push_start_time"] == sorted(info["push_start_time"])
    assert set(info["situation"]) == {"situation", "evidence", "advice", "stage"}
    queue.release()


MINDSPORE = re.compile(
    r"channel_name: q29\n"
    r"have_sent: \d+;\n"
    r"host_queue: [\d, ]*;\n"
    r"device_queue: [\d, ]*;\n"
    r" +push_first_start_time -> push_first_end_time\n"
    r" *\S+ -> \S+\n"
    r" +push_start_time -> push_end_time"
)


def test_a_step_that_waits_has_it_in_the_log_and_then_times_out(no_leaks):
    """The layout of MindSpore's log, once, when the limit of a step has passed; GetNext fails after op_timeout."""
    go_on = threading.Event()

    def stuck(x):
        assert x < 3 or go_on.wait(60)
        return x

    data = ds.NumpySlicesDataset({"x": np.arange(6.0)}, shuffle=False).map(stuck, "x").batch(1)
    queue = data.device_que(queue_name="q29")
    ms.set_context(op_timeout=1)
    try:
        queue.send(num_epochs=1)
        queue._feed._patience = 0.2
        take = ops.GetNext([ms.float64], [[1]], 1, "q29")
        with (
            logged("millrace.transfer.prefetcher") as said,
            pytest.raises(StallError, match="within 1 s") as caught,
        ):
            list(iter(take, None))
        assert MINDSPORE.search(said[-1])
        assert MINDSPORE.search(str(caught.value))
        assert any(f" {situation}" in said[-1] for situation in SITUATIONS)
    finally:
        ms.set_context(op_timeout=1900)
        go_on.set()
        queue.release()
