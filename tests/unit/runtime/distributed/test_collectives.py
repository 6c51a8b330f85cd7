"""Collective operations in two processes over gloo."""

import pytest

pytest.importorskip("torch")

from tests.e2e.distributed.process_group_runs import checks_of, results

MODULE = "tests.unit.runtime.distributed.check_collectives"


@pytest.mark.parametrize("name", checks_of(MODULE))
def test_in_two_processes(name):
    for rank, wrong in enumerate(results(MODULE)[name]):
        assert wrong == "", f"rank {rank}:\n{wrong}"


def test_nothing_is_left_behind():
    assert results(MODULE)["left behind"] == []
