"""Cores as a container grants them."""

import os

import pytest

from millrace._src.core.machine.cores import available_cores, cgroup_quota


def tree(tmp_path, files, membership):
    for name, text in files.items():
        path = tmp_path / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "cgroup").write_text(membership)
    return cgroup_quota(str(tmp_path / "fs"), str(tmp_path / "cgroup"))


@pytest.mark.parametrize(
    ("files", "membership", "want"),
    [
        ({"cpu.max": "200000 100000\n"}, "0::/\n", 2.0),
        ({"cpu.max": "max 100000\n"}, "0::/\n", None),
        ({"a/b/cpu.max": "50000 100000\n"}, "0::/a/b\n", 0.5),
        # the parent is tighter
        ({"a/cpu.max": "100000 100000\n", "a/b/cpu.max": "900000 100000\n"}, "0::/a/b\n", 1.0),
        # the path is the host's, only the top is mounted
        ({"cpu.max": "300000 100000\n"}, "0::/docker/1234\n", 3.0),
        ({"cpu.max": "300000 100000\n"}, "0::/../../x\n", 3.0),
        ({"cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "100000\n"}, "3:cpu,cpuacct:/\n", 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, "3:cpu,cpuacct:/\n", None),
        ({"cpu.max": "rubbish\n"}, "0::/\n", None),
        ({"cpu.max": "1 0\n"}, "0::/\n", None),
        ({}, "", None),
    ],
)
def test_quota(tmp_path, files, membership, want):
    assert tree(tmp_path, files, membership) == want


def test_affinity_counts():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, [min(before)])
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
