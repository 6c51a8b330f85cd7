"""Q36: weight initialisation takes long. Here each tensor is filled by one call, and only when it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Tensor, float32, nn  # noqa: E402
from millrace.common.initializer import HeNormal, Normal, TruncatedNormal, XavierUniform  # noqa: E402


class Calls(torch.utils._python_dispatch.TorchDispatchMode):
    """Counts what reaches PyTorch's kernels."""

    count = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("init", [Normal(0.02), TruncatedNormal(), XavierUniform(), HeNormal()], ids=repr)
def test_the_work_is_vectorised(init) -> None:
    """As many calls for a million elements as for ten: nothing walks over elements in Python."""
    counts = []
    for rows in (10, 1000):
        with Calls() as calls:
            Tensor(shape=(rows, 1000), dtype=float32, init=init).asnumpy()
        counts.append(calls.count)
    assert counts[0] == counts[1] < 20


def test_a_whole_resnet_50_is_built() -> None:
    """The layers of ResNet-50: 25.6 million numbers, all of them drawn."""
    cells: list[nn.Cell] = [nn.Conv2d(3, 64, 7, 2), nn.BatchNorm2d(64)]
    wide = 64
    for planes, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            cells += [
                nn.Conv2d(wide, planes, 1),
                nn.Conv2d(planes, planes, 3),
                nn.Conv2d(planes, 4 * planes, 1),
            ]
            cells += [nn.BatchNorm2d(planes), nn.BatchNorm2d(planes), nn.BatchNorm2d(4 * planes)]
            if block == 0:
                cells += [nn.Conv2d(wide, 4 * planes, 1), nn.BatchNorm2d(4 * planes)]
            wide = 4 * planes
    net = nn.CellList([*cells, nn.Dense(2048, 1000)])
    assert sum(param.size for param in net.trainable_params()) == 25_557_032
    assert all(np.std(param.asnumpy()) > 0 for param in net.trainable_params() if param.ndim == 4)
