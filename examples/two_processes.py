"""One training in two processes: each has half of every batch, and both end with the same weights.

Started by itself, the script starts two copies of itself with `millrace run`; with a GPU for each process nothing else
would change.

Run it with: python examples/two_processes.py
"""

import subprocess
import sys

import numpy as np

import millrace as ms
import millrace.dataset as ds
from millrace import Tensor, nn, ops
from millrace.communication import get_group_size, get_rank, init
from millrace.nn import Momentum
from millrace.parallel import GlobalBatches

ROWS, BATCH, EPOCHS = 512, 32, 4


def pipeline(num_shards, shard_id, batch_size):
    """The data of one process. Two clouds of points, one for each class."""
    draw = np.random.default_rng(1)
    label = draw.integers(0, 2, ROWS).astype(np.int32)
    point = draw.normal(0, 1, (ROWS, 2)).astype(np.float32) + 3 * label[:, None].astype(np.float32)
    rows = ds.NumpySlicesDataset((point, label), ["x", "y"], num_shards=num_shards, shard_id=shard_id)
    return rows.batch(batch_size, drop_remainder=True)


def train():
    """What every process does."""
    init()  # who am I, and where are the others?
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(1)  # the same weights to begin with
    net = nn.SequentialCell(nn.Dense(2, 16), nn.ReLU(), nn.Dense(16, 2))
    loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    step = nn.TrainOneStepCell(loss, Momentum(net.trainable_params(), 0.1, 0.9))
    batches = GlobalBatches(pipeline, BATCH, EPOCHS)
    for epoch in range(EPOCHS):
        for batch in batches:
            value = step(Tensor(batch["x"]), Tensor(batch["y"]))
        mean = ops.AllReduce()(value) / get_group_size()
        if get_rank() == 0:
            print(f"epoch {epoch}: {len(batches)} steps, loss {float(mean):.3f}")
    both = ops.AllGather()(net[0].weight.reshape(1, -1)).asnumpy()
    if get_rank() == 0:
        print(f"{get_group_size()} processes have the same weights: {bool((both == both[0]).all())}")


if __name__ == "__main__":
    if sys.argv[1:] == ["rank"]:
        train()
    else:
        again = [sys.executable, "-m", "millrace", "run", "-n", "2", __file__, "rank"]
        raise SystemExit(subprocess.run(again).returncode)
