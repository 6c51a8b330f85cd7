"""Two processes that train together end where one process with the double batch does."""

import numpy as np
import pytest

import millrace as ms
import millrace.dataset as ds
from millrace import Parameter, Tensor, nn, ops
from millrace._src.runtime.distributed import gradient_buckets as buckets
from millrace._src.runtime.optim.adam import Adam
from millrace._src.runtime.optim.momentum import Momentum
from millrace.communication import get_rank
from millrace.parallel import ShardedEmbedding, broadcast_parameters, data_shard, gather_states, load_states
from millrace.train import Model
from tests.unit.runtime.distributed.check_collectives import same

CHECKS = {}
STEPS, BATCH = 4, 8


def check(function):
    CHECKS[function.__name__] = function
    return function


class Mlp(nn.Cell):
    def __init__(self, norm=None):
        super().__init__()
        self.first, self.second, self.third = nn.Dense(6, 16), nn.Dense(16, 16), nn.Dense(16, 3)

    def construct(self, x):
        return self.third(ops.tanh(self.second(ops.relu(self.first(x)))))


class Conv(nn.Cell):
    def __init__(self, norm=nn.BatchNorm2d):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 4, 3, pad_mode="same"), norm(4)
        self.flat, self.out = nn.Flatten(), nn.Dense(4 * 5 * 5, 3)

    def construct(self, x):
        return self.out(self.flat(ops.relu(self.norm(self.conv(x)))))


SHAPES = {Mlp: (6,), Conv: (2, 5, 5)}
OPTIMIZERS = {
    "momentum": lambda params: Momentum(params, 0.1, 0.9, weight_decay=0.01),
    "adam": lambda params: Adam(params, 0.01),
}


def batches(kind):
    rng = np.random.RandomState(3)
    for _ in range(STEPS):
        x = rng.randn(2 * BATCH, *SHAPES[kind]).astype(np.float32)
        yield x, rng.randint(0, 3, 2 * BATCH).astype(np.int32)


def mine(array):
    return array[get_rank() * BATCH : (get_rank() + 1) * BATCH]


def context(mode=ms.PYNATIVE_MODE, **settings):
    ms.set_context(mode=mode)
    ms.reset_auto_parallel_context()
    ms.set_auto_parallel_context(**settings)


def trained(kind, optimizer, together, step=None, norm=None):
    """The losses and the net after some steps, alone with the double batch or together."""
    ms.set_seed(5)
    net = kind(norm) if norm else kind()
    made = OPTIMIZERS[optimizer](net.trainable_params())
    loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    cell = (step or nn.TrainOneStepCell)(loss, made)
    cell.set_train()
    losses = []
    for x, y in batches(kind):
        given = (mine(x), mine(y)) if together else (x, y)
        answer = cell(*map(Tensor, given))
        value = answer[0] if isinstance(answer, tuple) else answer
        losses.append(float(ops.AllReduce()(value)) / 2 if together else float(value))
    return losses, net, made


def close(a, b):
    np.testing.assert_allclose(a[0], b[0], rtol=0, atol=1e-6)
    for ours, theirs in zip(a[1].get_parameters(), b[1].get_parameters(), strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=0, atol=1e-6, err_msg=ours.name)


def compared(kind, optimizer, norm=None, step=None, **settings):
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        context(mode)
        alone = trained(kind, optimizer, together=False, step=step)
        context(mode, parallel_mode="data_parallel", gradients_mean=True, **settings)
        pair = trained(kind, optimizer, together=True, step=step, norm=norm)
        close(pair, alone)
        if mode == ms.PYNATIVE_MODE:
            plain = pair
    # both modes give the same bits
    assert plain[0] == pair[0]
    for a, b in zip(plain[1].get_parameters(), pair[1].get_parameters(), strict=True):
        same(a, b.asnumpy())
    rows = [row for row in ms.graph_report().to_dict() if row["fell_back"]]
    assert rows == []
    context()


@check
def mlp_with_momentum():
    compared(Mlp, "momentum")


@check
def mlp_with_adam():
    compared(Mlp, "adam")


@check
def conv_net_with_sync_batch_norm():
    compared(Conv, "momentum", norm=nn.SyncBatchNorm)
    compared(Conv, "adam", norm=nn.SyncBatchNorm)


@check
def many_buckets():
    before = buckets.FIRST_BUCKET_BYTES, buckets.BUCKET_BYTES
    buckets.FIRST_BUCKET_BYTES, buckets.BUCKET_BYTES = 64, 256
    try:
        compared(Mlp, "momentum")
    finally:
        buckets.FIRST_BUCKET_BYTES, buckets.BUCKET_BYTES = before


@check
def a_scaled_loss():
    compared(Mlp, "adam", step=lambda net, opt: nn.TrainOneStepWithLossScaleCell(net, opt, Tensor(1024.0)))


@check
def parallel_optimizer():
    compared(Mlp, "adam", enable_parallel_optimizer=True)
    compared(Mlp, "momentum", enable_parallel_optimizer=True)
    context(parallel_mode="data_parallel", gradients_mean=True, enable_parallel_optimizer=True)
    _, net, made = trained(Mlp, "adam", together=True)
    held = [each.asnumpy().size for each in made.moment1]
    whole = [each.asnumpy().size for each in net.trainable_params()]
    assert [a in (0, b) for a, b in zip(held, whole, strict=True)] == [True] * len(whole)
    assert 0.3 * sum(whole) < sum(held) < 0.7 * sum(whole)
    both = ops.AllReduce()(Tensor(np.array(held, np.int32)))
    assert both.asnumpy().tolist() == whole
    # a checkpoint of it is whole, and loads where nothing is divided
    states = gather_states(made)
    context(parallel_mode="data_parallel", gradients_mean=True)
    _, _, plain = trained(Mlp, "adam", together=True)
    for each in plain.get_parameters():
        np.testing.assert_allclose(states[each.name].asnumpy(), each.asnumpy(), rtol=0, atol=1e-6)
    fresh = OPTIMIZERS["adam"](Mlp().trainable_params())
    load_states(fresh, states)
    same(fresh.moment1[0], states[fresh.moment1[0].name].asnumpy())
    load_states(made, states)
    context()


@check
def gradients_are_added_up_without_mean():
    context()
    weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    own = Parameter(Tensor([1.0]), name="own", layerwise_parallel=True)
    grads = (Tensor([1.0, float(get_rank())]), Tensor([5.0]))
    added = nn.DistributedGradReducer([weight, own], mean=False)(grads)
    assert [each.asnumpy().tolist() for each in added] == [[2.0, 1.0], [5.0]]
    mean = nn.DistributedGradReducer([weight, own], True, 2)(grads)
    assert [each.asnumpy().tolist() for each in mean] == [[1.0, 0.5], [5.0]]
    with pytest.raises(ValueError, match="degree"):
        nn.DistributedGradReducer([weight], degree=0)


@check
def all_start_from_rank_0():
    context(parallel_mode="data_parallel", gradients_mean=True, parameter_broadcast=True)
    ms.set_seed(get_rank())
    net = Mlp()
    loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    cell = nn.TrainOneStepCell(loss, OPTIMIZERS["momentum"](net.trainable_params()))
    x, y = next(batches(Mlp))
    cell(Tensor(mine(x)), Tensor(mine(y)))
    for each in net.get_parameters():
        both = ops.AllGather()(each.reshape(1, -1)).asnumpy()
        same(both[0], both[1])
    context()
    net.first.bias.set_data(Tensor(np.full(16, get_rank(), np.float32)))
    broadcast_parameters([net.first.bias], root=1)
    same(net.first.bias, np.ones(16))


class Ranked(nn.Cell):
    """A table and a layer over it."""

    def __init__(self, table):
        super().__init__()
        self.table, self.out = table, nn.Dense(4, 1, weight_init="ones", bias_init="zeros")

    def construct(self, ids):
        return ops.mean(self.out(self.table(ids)) ** 2)


@check
def rows_of_a_table_are_divided():
    whole = np.random.RandomState(1).randn(9, 4).astype(np.float32)
    ids = np.array([[0, 3, 8, 8], [5, 1, 2, 0], [7, 4, 4, 6], [12, -1, 3, 8]], np.int32)
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        context(mode)
        alone = Ranked(ShardedEmbedding(9, 4, Tensor(whole)))
        assert alone.table.parts == 2
        one = Ranked(nn.EmbeddingLookup(9, 4, Tensor(whole)))
        step = nn.TrainOneStepCell(one, Momentum(one.trainable_params(), 0.5, 0.9))
        losses = [float(step(Tensor(ids))) for _ in range(4)]
        context(mode, parallel_mode="data_parallel", gradients_mean=True)
        for table in (
            ShardedEmbedding(9, 4, Tensor(whole)),
            nn.EmbeddingLookup(9, 4, Tensor(whole), slice_mode="table_row_slice"),
        ):
            both = Ranked(table)
            assert both.table.embedding_table.shape == (5, 4)
            step = nn.TrainOneStepCell(both, Momentum(both.trainable_params(), 0.5, 0.9))
            got = [step(Tensor(ids[2 * get_rank() : 2 * get_rank() + 2])) for _ in range(4)]
            got = [float(ops.AllReduce()(each)) / 2 for each in got]
            np.testing.assert_allclose(got, losses, rtol=0, atol=1e-6)
            rows = getattr(table, "_rows", None) or table
            np.testing.assert_allclose(
                rows.gather_rows().asnumpy(), one.table.embedding_table.asnumpy(), rtol=0, atol=1e-6
            )
    context()


@check
def a_drawn_table_is_the_same_for_any_number_of_processes():
    ms.set_seed(11)
    both = ShardedEmbedding(5000, 3, "normal")
    ms.set_seed(11)
    if get_rank() == 0:
        ms.communication.create_group("zero", [0])
        one = ShardedEmbedding(5000, 3, "normal", group="zero").embedding_table.asnumpy()
    else:
        ms.communication.create_group("zero", [0])
        one = None
    rows = both.gather_rows().asnumpy()
    if one is not None:
        same(rows, one)
    assert rows.std() > 0.005
    both.load_rows(Tensor(rows + 1))
    same(both.gather_rows(), rows + 1)
    with pytest.raises(TypeError, match="XavierUniform"):
        ShardedEmbedding(10, 2, "xavier_uniform")


@check
def context_and_order():
    context()
    assert ms.get_auto_parallel_context("device_num") == 2
    assert ms.get_auto_parallel_context("global_rank") == get_rank()
    with pytest.raises(RuntimeError, match="before init"):
        ms.set_ps_context(enable_ps=True)
    groups = nn.SyncBatchNorm(2, process_groups=[[0], [1]])
    groups.set_train()
    x = Tensor(np.random.RandomState(get_rank()).randn(4, 2, 3, 3).astype(np.float32))
    assert abs(float(groups(x).mean())) < 1e-5
    with pytest.raises(ValueError, match="one of"):
        nn.SyncBatchNorm(2, process_groups=[[0, 1], [1]])


@check
def a_model_trains():
    """`Model.train` needs nothing but the context and its part of the data."""

    def trained_by_model(together):
        settings = {"parallel_mode": "data_parallel", "gradients_mean": True} if together else {}
        context(ms.GRAPH_MODE, **settings)
        ms.set_seed(5)
        net = Mlp()
        xs, ys = zip(*batches(Mlp), strict=True)
        shard = data_shard() if together else {"num_shards": 1, "shard_id": 0}
        rows = ds.NumpySlicesDataset(
            (np.concatenate(xs), np.concatenate(ys)), ["x", "y"], shuffle=False, **shard
        )
        rows = rows.batch(BATCH if together else 2 * BATCH, drop_remainder=True)
        loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        model = Model(net, loss, OPTIMIZERS["momentum"](net.trainable_params()))
        model.train(2, rows, dataset_sink_mode=False)
        context()
        return [0.0], net

    close(trained_by_model(True), trained_by_model(False))


def adaptively_added(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    along = (a * b).sum()
    return (1 - along / (2 * (a * a).sum())) * a + (1 - along / (2 * (b * b).sum())) * b


@check
def adaptive_sums_of_gradients_and_of_changes():
    drawn = np.random.RandomState(1).randn(2, 5, 3).astype(np.float32)
    single = np.array([[1.0], [3.0]], np.float32)
    wanted = adaptively_added(*drawn)
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        context(mode, parallel_mode="data_parallel")
        for kind in (nn.AdaSumByGradWrapCell, nn.AdaSumByDeltaWeightWrapCell):
            weights = [Parameter(Tensor(np.ones((5, 3), np.float32)), "a"), Parameter(Tensor([1.0]), "b")]
            optimizer = kind(Momentum(weights, 0.5, 0.9))
            for _ in range(2):
                optimizer((Tensor(drawn[get_rank()]), Tensor(single[get_rank()])))
            # the same gradients twice, with momentum: 1 and 1.9 times
            np.testing.assert_allclose(weights[0].asnumpy(), 1 - 0.5 * 2.9 * wanted, atol=1e-5)
            np.testing.assert_allclose(weights[1].asnumpy(), [1 - 0.5 * 2.9 * 2], atol=1e-5)
            both = ops.AllGather()(weights[0]).asnumpy()
            np.testing.assert_array_equal(both[:5], both[5:])
    context()


@check
def a_step_leaves_adaptive_sums_to_the_optimizer():
    context(parallel_mode="data_parallel", gradients_mean=True)
    ms.set_seed(5)
    net = nn.Dense(6, 3)
    before = net.weight.asnumpy().copy()
    x, _ = next(batches(Mlp))
    loss = nn.WithLossCell(net, nn.MSELoss())
    rows = Tensor(mine(x))
    gradient = ms.grad(loss, None, net.weight)(rows, rows[:, :3])
    parts = ops.AllGather()(gradient).asnumpy().reshape(2, 3, 6)
    step = nn.TrainOneStepCell(loss, nn.AdaSumByGradWrapCell(nn.SGD(net.trainable_params(), 0.1))).set_train()
    assert not step.reducer_flag
    Model(step).train(1, [(rows, rows[:, :3])])
    np.testing.assert_allclose(net.weight.asnumpy(), before - 0.1 * adaptively_added(*parts), atol=1e-5)
    context()


@check
def second_order_steps_share_what_they_saw():
    rates = Tensor(np.array([0.1, 0.1], np.float32))
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        context(mode, parallel_mode="data_parallel", gradients_mean=True)
        ms.set_seed(5)
        net = nn.Dense(6, 3)
        optimizer = nn.thor(net, rates, rates, 0.9, batch_size=BATCH, frequency=2)
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()
        for x, _ in batches(Mlp):
            step(Tensor(mine(x)), Tensor(mine(x)[:, :3]))
        for value in (net.weight, optimizer.matrix_a[0], optimizer.matrix_g[0]):
            both = ops.AllGather()(value).asnumpy()
            np.testing.assert_array_equal(*np.split(both, 2))
        seen = ops.AllGather()(net.matrix_a).asnumpy()
        assert np.any(seen[:6] != seen[6:])  # each saw its own rows
    context()
