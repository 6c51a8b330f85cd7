"""Layers that join several."""

from tests.nn.cases import array, case

X = array(2, 3, 6, 6)
case("Conv2dBnAct", [X], 3, 4, 3)
case("Conv2dBnAct", [X], 3, 4, 3, has_bn=True, activation="relu", train=True)
case("Conv2dBnAct", [X], 3, 4, 3, stride=2, pad_mode="pad", padding=1, has_bias=True, activation="leakyrelu", alpha=0.1)
case("Conv2dBnAct", [X], 3, 4, 3, has_bn=True, momentum=0.9, eps=1e-3)
case("DenseBnAct", [array(4, 3)], 3, 2)
case("DenseBnAct", [array(4, 3)], 3, 2, has_bn=True, activation="relu", train=True)
case("DenseBnAct", [array(4, 3)], 3, 2, has_bias=False, activation="leakyrelu")
