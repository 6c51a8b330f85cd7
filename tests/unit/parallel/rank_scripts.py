"""What the ranks of tests/unit/parallel/test_launch.py run: ``scripts.py WHAT``."""

import os
import signal
import sys
import time

from millrace import Tensor, ops
from millrace.communication import get_group_size, get_rank, init


def main(what):
    if what == "ignore and kill":
        signal.signal(signal.SIGTERM, lambda *_: None)
    init()
    total = ops.AllReduce()(Tensor([get_rank() + 1.0]))
    print(f"rank {get_rank()} of {get_group_size()}: sum {float(total[0]):g}, told {what!r}")
    if what.startswith("hold "):
        print(f"rank {get_rank()} is ready", flush=True)
        with open(f"{what[5:]}/hold-{get_rank()}") as fifo:  # until the test writes
            fifo.read()
    last = get_rank() == get_group_size() - 1
    if what == "raise once" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and last:
        raise ValueError("boom")
    if what == "raise" and last:
        raise ValueError("boom")
    if what == "ignore and kill":
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(600)  # the launcher ends it
    if what == "before init" and last:
        raise KeyError("nothing")
    ops.AllReduce()(total)  # rank 0 waits here for one that is dead


if __name__ == "__main__":
    main(sys.argv[1])
