"""A run that goes on with another number of processes ends where one that never stopped does."""

import json

import numpy as np
import pytest

import millrace as ms
import millrace.dataset as ds
from millrace import Tensor, nn, ops
from millrace._src.runtime.optim.momentum import Momentum
from millrace.communication import create_group, get_group_size, get_rank
from millrace.parallel import GlobalBatches, data_shard

from .check_training import Mlp, close, context, same

CHECKS = {}
ROWS, BATCH, EPOCHS = 43, 8, 3


def check(function):
    CHECKS[function.__name__] = function
    return function


def make(num_shards, shard_id, batch_size):
    rng = np.random.RandomState(2)
    data = {
        "x": rng.randn(ROWS, 6).astype(np.float32),
        "y": rng.randint(0, 3, ROWS).astype(np.int32),
        "row": np.arange(ROWS),
    }
    rows = ds.NumpySlicesDataset(data, shuffle=True, num_shards=num_shards, shard_id=shard_id)
    return rows.batch(batch_size, drop_remainder=True)


class Training:
    """A net, and what a checkpoint of it holds."""

    def __init__(self):
        ms.set_seed(4)
        self.net, self.losses, self.rows = Mlp(), [], []
        loss = nn.WithLossCell(self.net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
        self.optimizer = Momentum(self.net.trainable_params(), 0.1, 0.9)
        self.loss = loss

    def run(self, group, state, steps):
        """Some steps in a group of processes, from a state; where they stand after."""
        count = get_group_size(group)
        context(parallel_mode="data_parallel" if count > 1 else "stand_alone", gradients_mean=True)
        step = nn.TrainOneStepCell(self.loss, self.optimizer)
        batches = GlobalBatches(make, BATCH, EPOCHS, seed=9, state=state, group=group)
        done = 0
        while batches.epoch < EPOCHS and done < steps:
            for batch in batches:
                value = step(Tensor(batch["x"]), Tensor(batch["y"]))
                both = ops.AllReduce(group=group)(value)
                rows = ops.AllGather(group)(Tensor(batch["row"]))
                self.losses.append(float(both) / count)
                self.rows.append(sorted(rows.asnumpy().tolist()))
                done += 1
                if done == steps:
                    break
        batches.close()
        context()
        return json.loads(json.dumps(batches.state()))


@check
def one_two_one():
    for rank in range(2):
        create_group(f"only {rank}", [rank])
    alone = f"only {get_rank()}"
    whole = Training()
    whole.run(alone, None, 99)
    assert len(whole.losses) == EPOCHS * (ROWS // BATCH)
    assert all(len(set(rows)) == BATCH for rows in whole.rows)

    changing = Training()
    state = changing.run(alone, None, 3)
    assert (state["epoch"], state["step"]) == (0, 3)
    state = changing.run(ms.communication.GlobalComm.WORLD_COMM_GROUP, state, 6)  # over the end of an epoch
    assert (state["epoch"], state["step"]) == (1, 4)
    changing.run(alone, state, 99)
    assert changing.rows == whole.rows
    close((changing.losses, changing.net), (whole.losses, whole.net))


@check
def steps_are_equal_and_shards_are_found():
    assert data_shard() == {"num_shards": 2, "shard_id": get_rank()}
    batches = GlobalBatches(make, BATCH)
    steps = Tensor(np.array([len(batches), sum(1 for _ in batches)], np.int32))
    both = ops.AllGather()(steps).asnumpy().tolist()
    assert both == [5, 5, 5, 5]


@check
def what_cannot_go_on_is_refused():
    with pytest.raises(ValueError, match="cannot be divided among 2"):
        GlobalBatches(make, 7)
    state = GlobalBatches(make, BATCH).state()
    with pytest.raises(ValueError, match="global batches of 8 rows"):
        GlobalBatches(make, 4, state=state)
    with pytest.raises(ValueError, match="no state"):
        GlobalBatches(make, BATCH, state={"epoch": 1})
    with pytest.raises(ValueError, match="an epoch with 99 steps"):
        GlobalBatches(make, BATCH, state=state | {"steps": 99})
    with pytest.raises(ValueError, match="fewer rows"):
        GlobalBatches(make, 1000)
    with pytest.raises(ValueError, match="as they are given"):
        GlobalBatches(lambda count, shard, size: make(4 if count > 1 else 1, shard, size), BATCH)
    same(Tensor([1.0]), [1.0])
