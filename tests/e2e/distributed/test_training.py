"""Data-parallel training in two processes over gloo."""

import pytest

pytest.importorskip("torch")

from .process_group_runs import checks_of, results

MODULE = "tests.e2e.distributed.check_training"


@pytest.mark.parametrize("name", checks_of(MODULE))
def test_in_two_processes(name):
    for rank, wrong in enumerate(results(MODULE)[name]):
        assert wrong == "", f"rank {rank}:\n{wrong}"
