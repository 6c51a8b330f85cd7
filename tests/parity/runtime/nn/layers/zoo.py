"""Whole nets, narrow ones where gradients are written down."""

from tests.e2e.networks.resnet import resnet, resnet18, resnet50
from tests.parity.runtime.nn.layers import layer, make


@layer("ResNet-18", make(2, 3, 32, 32), train=True, grads=False, tolerance=1e-4)
def _(ms):
    return resnet18(ms, 10, width=8, small=True)


@layer("ResNet-50", make(2, 3, 64, 64), train=True, grads=False, tolerance=1e-4)
def _(ms):
    return resnet50(ms, 10, width=4)


@layer("ResNet-50 at rest", make(1, 3, 64, 64), grads=False, tolerance=1e-4)
def _(ms):
    return resnet50(ms, 10, width=4)


@layer("ResNet with gradients", make(2, 3, 16, 16), train=True, tolerance=1e-4)
def _(ms):
    return resnet(ms, (1, 1), False, 5, width=4)


@layer("ResNet of bottlenecks with gradients", make(2, 3, 16, 16), train=True, tolerance=1e-4)
def _(ms):
    return resnet(ms, (1, 1), True, 5, width=4)
