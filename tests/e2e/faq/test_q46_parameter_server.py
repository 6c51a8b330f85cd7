"""Q46: parameter-server mode must be set before `init`; large tables are divided among the processes."""

import pytest

pytest.importorskip("torch")

import millrace as ms
from millrace import Tensor
from millrace.communication import init, release
from millrace.parallel import ShardedEmbedding


@pytest.fixture
def together():
    ms.reset_ps_context()
    yield
    release()
    ms.reset_ps_context()


def test_the_order_is_checked_and_the_reason_given(together):
    ms.set_ps_context(enable_ps=True)  # before: fine
    assert ms.get_ps_context("enable_ps")
    ms.reset_ps_context()
    init()
    with pytest.raises(RuntimeError, match=r"before init.*assigns the roles.*release"):
        ms.set_ps_context(enable_ps=True)
    release()
    ms.set_ps_context(enable_ps=True)


def test_a_table_divided_by_rows(together):
    """Over two processes: tests/e2e/distributed/check_training.py."""
    init()
    table = ShardedEmbedding(6, 2, Tensor([[float(row)] * 2 for row in range(6)]))
    assert table(Tensor([5, 0])).asnumpy().tolist() == [[5.0, 5.0], [0.0, 0.0]]
