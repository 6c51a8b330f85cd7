"""Every collective, in two processes: values, types, gradients, both modes."""

import numpy as np
import pytest

import millrace as ms
from millrace import Tensor, mint, ops
from millrace.communication import (
    comm_func,
    create_group,
    destroy_group,
    get_group_rank_from_world_rank,
    get_group_size,
    get_rank,
    get_world_rank_from_group_rank,
)

CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


def rank():
    return get_rank()


def mine(*values, dtype=np.float32):
    """Values of this rank: those given, plus ten times the rank."""
    return Tensor(np.array(values, dtype) + np.array(10 * rank(), dtype))


def same(got, wanted):
    got = got.asnumpy() if isinstance(got, Tensor) else got
    np.testing.assert_array_equal(got, np.array(wanted))


def raises(kind, call, words=""):
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


@check
def ranks_and_groups():
    assert get_group_size() == 2
    create_group("all", [1, 0])
    assert get_group_size("all") == 2
    assert get_rank("all") == 1 - rank()
    assert get_world_rank_from_group_rank("all", 0) == 1
    assert get_group_rank_from_world_rank(1, "all") == 0
    create_group("one", [0])
    if rank() == 0:
        same(ops.AllReduce(group="one")(mine(1, 2)), [1, 2])
    else:
        raises(RuntimeError, lambda: ops.AllReduce(group="one")(mine(1)), "not in group")
    same(ops.Broadcast(0, "all")((mine(1),))[0], [11])  # place 0 of it is rank 1
    destroy_group("one")
    destroy_group("all")
    raises(ValueError, lambda: get_group_size("all"), "create_group")
    raises(ValueError, lambda: create_group("x", [0, 7]), "[0, 2)")


@check
def all_reduce():
    same(ops.AllReduce()(mine(1, 2)), [12, 14])
    same(ops.AllReduce("max")(mine(1, 2)), [11, 12])
    same(ops.AllReduce(ops.ReduceOp.MIN)(mine(1, 2)), [1, 2])
    same(ops.AllReduce("prod")(mine(1, 2)), [11, 24])
    raises(ValueError, lambda: ops.AllReduce("median")(mine(1)), "'median'")
    raises(TypeError, lambda: ops.AllReduce()(Tensor([True])), "bool")


@check
def every_type():
    for name in ("float16", "float32", "float64", "bfloat16", "int8", "uint8", "int16", "int32", "int64"):
        dtype = getattr(ms, name)
        made = ops.AllReduce()(Tensor([1, 2], dtype))
        assert made.dtype == dtype
        same(made.astype(ms.float32), [2, 4])
        same(ops.AllGather()(Tensor([rank()], dtype)).astype(ms.float32), [0, 1])
        same(ops.Broadcast(1)((Tensor([rank()], dtype),))[0].astype(ms.float32), [1])
    same(ops.AllGather()(Tensor([rank() == 0])), [True, False])
    same(ops.AllReduce()(Tensor(np.array([1 + 2j], np.complex64))), [2 + 4j])


@check
def gathers_and_scatters():
    same(ops.AllGather()(mine(1, 2)), [1, 2, 11, 12])
    uneven = Tensor(np.arange(rank() + 1, dtype=np.float32))
    same(ops.AllGatherV()(uneven, [1, 2]), [0, 0, 1])
    same(ops.ReduceScatter()(mine(1, 2)), [12] if rank() == 0 else [14])
    same(ops.ReduceScatterV()(mine(1, 2, 3), [1, 2]), [12] if rank() == 0 else [14, 16])
    same(ops.CollectiveGather(1)(mine(1)), [1, 11] if rank() == 1 else [0, 0])
    same(ops.CollectiveScatter(1)(mine(1, 2)), [11] if rank() == 0 else [12])
    same(ops.Reduce(0)(mine(1)), [12] if rank() == 0 else [11])
    same(ops.Broadcast(1)((mine(1), mine(2, 3)))[1], [12, 13])
    ops.Barrier()()


@check
def from_each_to_each():
    x = Tensor(np.arange(4, dtype=np.float32).reshape(2, 2) + 10 * rank())
    same(ops.AlltoAll(2, 0, 1)(x), [[0, 1, 10, 11]] if rank() == 0 else [[2, 3, 12, 13]])
    sent = [[1, 2], [0, 1]][rank()]
    received = [[1, 0], [2, 1]][rank()]
    x = Tensor(np.arange(sum(sent), dtype=np.float32) + 10 * rank())
    same(ops.AlltoAllV()(x, sent, received), [0] if rank() == 0 else [1, 2, 10])
    raises(ValueError, lambda: ops.AlltoAll(3, 0, 0)(x), "split_count")


@check
def from_one_to_another():
    other = 1 - rank()
    if rank() == 0:
        ops.Send(7, 1)(mine(1, 2))
    else:
        same(ops.Receive(7, 0, [2], ms.float32)(), [1, 2])
    swap = ops.NeighborExchange([other], [other], [[2]], [[2]], ms.float32)
    same(swap((mine(1, 2),))[0], [1 + 10 * other, 2 + 10 * other])
    batch = ops.BatchISendIRecv(["isend", "irecv"], [other, other], [[1]], [ms.float32])
    same(batch((mine(5),))[1], [5 + 10 * other])
    handle = comm_func.isend(mine(3), other)
    got, arrived = comm_func.irecv(mine(0), other)
    handle.wait()
    arrived.wait()
    same(got, [3 + 10 * other])
    pair = [
        comm_func.P2POp("isend", mine(4), other),
        comm_func.P2POp("irecv", (1,), other, recv_dtype=ms.float32),
    ]
    same(comm_func.batch_isend_irecv(pair)[1], [4 + 10 * other])
    if rank():
        comm_func.send(mine(1), 0)
    else:
        same(comm_func.recv(mine(0), 1), [11])
    raises(ValueError, lambda: comm_func.send(mine(1), rank()), "rank of itself")


@check
def borders_of_pictures():
    """Two pictures, one above the other: each gets a row of the other, and its gradient goes back."""
    none = [-1] * 8
    below, above = [*none], [*none]
    below[4], above[0] = 1, 0  # rank 0 has a neighbour at the bottom, rank 1 at the top
    ranks, lens = (below, [0, 1, 0, 0]) if rank() == 0 else (above, [1, 0, 0, 0])
    x = Tensor(np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2) + 10 * rank())
    wide = ops.NeighborExchangeV2(ranks, lens, ranks, lens, "NCHW")
    same(wide(x)[0, 0], [[[0, 1], [2, 3], [10, 11]], [[2, 3], [10, 11], [12, 13]]][rank()])
    factor = Tensor(np.array([1.0, 10.0, 100.0], np.float32).reshape(1, 1, 3, 1) * (1 + rank()))
    found = ms.grad(lambda x: (wide(x) * factor).sum())(x)
    same(found[0, 0, :, 0], [[1, 12], [120, 200]][rank()])
    # one way only: rank 0 sends, rank 1 receives
    way = (below, none, [0, 1, 0, 0], [0] * 4) if rank() == 0 else (none, above, [0] * 4, [1, 0, 0, 0])
    one = ops.NeighborExchangeV2(way[0], way[2], way[1], way[3], "NCHW")
    assert one(x).shape == ((1, 1, 2, 2) if rank() == 0 else (1, 1, 3, 2))
    found = ms.grad(lambda x: one(x).sum())(x)
    same(found[0, 0, :, 0], [[1, 2], [1, 1]][rank()])
    raises(RuntimeError, lambda: ops.Push(), "DATA_PARALLEL")


@check
def functions_that_give():
    same(comm_func.all_reduce(mine(1))[0], [12])
    made, handle = comm_func.all_reduce(mine(1), "max", async_op=True)
    handle.wait()
    same(made, [11])
    same(comm_func.all_gather_into_tensor(mine(1))[0], [1, 11])
    same(comm_func.reduce_scatter_tensor(mine(1, 2))[0], [[12], [14]][rank()])
    same(comm_func.reduce(mine(1), 1), [[1], [12]][rank()])
    same(comm_func.broadcast(mine(1), 1), [11])
    same(comm_func.gather_into_tensor(mine(1), 0), [[1, 11], [0, 0]][rank()])
    same(comm_func.scatter_tensor(mine(1, 2), 0), [[1], [2]][rank()])
    comm_func.barrier()
    made, _ = comm_func.all_to_all_with_output_shape([(1,), (1,)], [mine(1), mine(2)])
    assert [each.asnumpy().tolist() for each in made] == ([[1], [11]] if rank() == 0 else [[2], [12]])
    same(comm_func.all_to_all_single_with_output_shape((2,), mine(1, 2))[0], [[1, 11], [2, 12]][rank()])


@check
def functions_that_write():
    dist = mint.distributed
    assert (dist.is_initialized(), dist.get_rank(), dist.get_world_size()) == (True, rank(), 2)
    x = mine(1, 2)
    assert dist.all_reduce(x) is None
    same(x, [12, 14])
    x = mine(1)
    dist.all_reduce(x, "avg", async_op=True).wait()
    same(x, [6])
    x = mine(1)
    dist.broadcast(x, 1)
    same(x, [11])
    x = mine(1)
    dist.reduce(x, 0)
    same(x, [[12], [11]][rank()])
    out = Tensor(np.zeros(2, np.float32))
    dist.all_gather_into_tensor(out, mine(1))
    same(out, [1, 11])
    parts = [Tensor(np.zeros(1, np.float32)), Tensor(np.zeros(1, np.float32))]
    dist.all_gather(parts, mine(1), async_op=True).wait()
    assert [each.asnumpy().tolist() for each in parts] == [[1], [11]]
    dist.gather(mine(2), parts if rank() == 0 else None, 0)
    if rank() == 0:
        assert [each.asnumpy().tolist() for each in parts] == [[2], [12]]
    x = mine(0)
    dist.scatter(x, [mine(1), mine(2)] if rank() == 0 else None, 0)
    same(x, [[1], [2]][rank()])
    out = Tensor(np.zeros(3, np.float32))
    dist.all_gather_into_tensor_uneven(out, Tensor(np.ones(rank() + 1, np.float32)), [1, 2])
    same(out, [1, 1, 1])
    out = Tensor(np.zeros(1, np.float32))
    dist.reduce_scatter_tensor(out, mine(1, 2))
    same(out, [[12], [14]][rank()])
    dist.reduce_scatter(out, [mine(3), mine(4)])
    same(out, [[16], [18]][rank()])
    out = Tensor(np.zeros(rank() + 1, np.float32))
    dist.reduce_scatter_tensor_uneven(out, mine(1, 2, 3), [1, 2])
    same(out, [[12], [14, 16]][rank()])
    outs = [Tensor(np.zeros(1, np.float32)), Tensor(np.zeros(1, np.float32))]
    dist.all_to_all(outs, [mine(1), mine(2)])
    assert [each.asnumpy().tolist() for each in outs] == ([[1], [11]] if rank() == 0 else [[2], [12]])
    out = Tensor(np.zeros(2, np.float32))
    dist.all_to_all_single(out, mine(1, 2))
    same(out, [[1, 11], [2, 12]][rank()])
    dist.barrier()
    other = 1 - rank()
    out = mine(0)
    for handle in dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, mine(1), other), dist.P2POp(dist.irecv, out, other)]
    ):
        handle.wait()
    same(out, [1 + 10 * other])
    name = dist.new_group([0, 1])
    assert dist.get_process_group_ranks(name) == [0, 1]
    raises(ValueError, lambda: dist.all_gather_into_tensor(Tensor(np.zeros(5, np.float32)), mine(1)), "(5,)")


@check
def objects():
    dist = mint.distributed
    values = [None, None]
    dist.all_gather_object(values, {"rank": rank(), "a": (1, b"x", np.arange(3))})
    assert [value["rank"] for value in values] == [0, 1]
    assert values[1]["a"][2].tolist() == [0, 1, 2]
    values = [rank(), "x" * (1 + rank())]
    dist.broadcast_object_list(values, 1)
    assert values == [1, "xx"]
    values = [None, None]
    dist.gather_object(rank(), values if rank() == 0 else None, 0)
    assert values == ([0, 1] if rank() == 0 else [None, None])
    out = [None]
    dist.scatter_object_list(out, [["a"], ["b"]] if rank() == 0 else None, 0)
    assert out == [["a"] if rank() == 0 else ["b"]]
    raises(TypeError, lambda: dist.all_gather_object([None, None], object()), "cannot be sent")


def gradient(function, *values):
    return ms.grad(function)(mine(*values)).asnumpy().tolist()


@check
def gradients():
    weight = Tensor(np.array([1.0, 2.0], np.float32) * (1 + rank()))
    assert gradient(lambda x: (ops.AllReduce()(x) * weight).sum(), 1, 2) == [3, 6]
    assert gradient(lambda x: (ops.AllReduce("max")(x) * weight).sum(), 1, 2) == [[0, 0], [3, 6]][rank()]
    long = ops.concat([weight, weight * 10])
    assert gradient(lambda x: (ops.AllGather()(x) * long).sum(), 1, 2) == [[3, 6], [30, 60]][rank()]
    one = weight[:1]
    assert gradient(lambda x: (ops.ReduceScatter()(x) * one).sum(), 1, 2) == [1, 2]
    assert gradient(lambda x: (ops.Broadcast(0)((x,))[0] * weight).sum(), 1, 2) == weight.asnumpy().tolist()
    assert gradient(lambda x: (ops.AlltoAll(2, 0, 0)(x) * weight).sum(), 1, 2) == [[1, 2], [2, 4]][rank()]
    other = 1 - rank()
    swap = ops.NeighborExchange([other], [other], [[2]], [[2]], ms.float32)
    assert gradient(lambda x: (swap((x,))[0] * weight).sum(), 1, 2) == [[2, 4], [1, 2]][rank()]
    assert gradient(lambda x: (comm_func.all_reduce(x)[0] * weight).sum(), 1, 2) == [3, 6]


@check
def recorded():
    """In graph mode the same, and anew in every replay."""
    other = 1 - rank()
    swap = ops.NeighborExchange([other], [other], [[2]], [[2]], ms.float32)

    def step(x):
        ops.Barrier()()
        y = ops.AllReduce()(x) + ops.AllGather()(x)[2:] + swap((x,))[0]
        ops.ReduceScatter()(x)  # nobody uses it, and the other process waits for it
        return (y * y).sum()

    inputs = [mine(k, k + 1) for k in range(4)]
    plain = [ms.value_and_grad(step)(x) for x in inputs]
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        graph = ms.value_and_grad(step)
        replayed = [graph(x) for x in inputs]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    for (a, b), (c, d) in zip(plain, replayed, strict=True):
        same(c, a.asnumpy())
        same(d, b.asnumpy())
    [row] = [row for row in ms.graph_report().to_dict() if row["name"] == "step"]
    assert (row["replayed"], row["fell_back"]) == (2, 0), row
