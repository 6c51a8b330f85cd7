"""Control groups, in the layouts that containers and systemd leave behind."""

from pathlib import Path

import pytest

from millrace._src.core.machine.cgroup import cgroup_memory, group_folders, read_number


@pytest.fixture
def groups(tmp_path):
    def make(membership, files):
        for name, text in files.items():
            path = tmp_path / "fs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "cgroup").write_text(membership)
        return str(tmp_path / "fs"), str(tmp_path / "cgroup")

    return make


def test_version_2_takes_the_tightest_of_the_parents(groups):
    files = {"memory.max": "max", "a/memory.max": "3000", "a/b/memory.max": "5000"}
    assert cgroup_memory(*groups("0::/a/b\n", files)) == 3000


def test_version_1_has_a_folder_per_controller(groups):
    files = {"memory/job/memory.limit_in_bytes": "7000", "cpu/job/x": "1"}
    assert cgroup_memory(*groups("4:memory:/job\n1:cpu:/job\n", files)) == 7000


def test_the_largest_number_of_version_1_is_no_limit(groups):
    files = {"memory/memory.limit_in_bytes": "9223372036854771712"}
    assert cgroup_memory(*groups("4:memory:/\n", files)) is None


def test_a_group_of_the_host_falls_back_to_the_top(groups):
    root, membership = groups("0::/../../elsewhere\n", {"memory.max": "42"})
    assert group_folders("memory", root, membership) == [(2, Path(root))]
    assert cgroup_memory(root, membership) == 42


def test_a_number_that_is_none(tmp_path):
    (tmp_path / "x").write_text("max\n")
    assert read_number(tmp_path / "x") is None
    (tmp_path / "x").write_text("12\n")
    assert read_number(tmp_path / "x") == 12
