"""Q42: the collective library cannot be loaded. `millrace doctor` names what is missing, and how to install it."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch")


def test_the_doctor_looks_at_what_processes_need_to_train_together():
    done = subprocess.run(
        [sys.executable, "-m", "millrace", "doctor", "--json"], capture_output=True, text=True, timeout=100
    )
    found = {each["check"]: each for each in json.loads(done.stdout)["findings"]}
    assert "gloo" in found["processes that train together"]["found"]
    assert {"GPUs", "network interfaces"} <= set(found)


def test_init_says_what_is_missing(monkeypatch):
    import torch.distributed as dist

    from millrace._src.runtime.distributed import process_groups as communication
    from millrace._src.runtime.distributed.cluster_environment import ClusterEnvironment

    monkeypatch.setattr(dist, "is_nccl_available", lambda: False)
    with pytest.raises(RuntimeError, match=r"built without NCCL.*millrace doctor"):
        communication._join(ClusterEnvironment("none", 0, 1, 0, 1), "nccl", None)
