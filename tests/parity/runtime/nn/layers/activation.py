"""Activation layers."""

from tests.parity.runtime.nn.layers import cases_of, make

case = cases_of(__name__)

X = make(3, 4)
for name in (
    "ReLU", "ReLU6", "SiLU", "Tanh", "Tanhshrink", "Sigmoid", "Softsign", "LogSigmoid", "HSigmoid", "HSwish",
    "Mish", "FastGelu", "GELU", "ELU", "CELU", "LeakyReLU", "Hardtanh", "SoftShrink", "HShrink", "Softmax",
    "LogSoftmax", "Softmin", "GLU",
):  # fmt: skip
    case(name, [X])
case("SeLU", [X], options={"grads": False})  # MindSpore's gradient is not that of its function
case("ReLU", [make(3, dtype="int32", low=-3, high=3)])
case("Softmax", [make(2, 3, 4)], 1)
case("Softmax", [make(2, 3, 4)], axis=0)
case("Softmax", [X], axis="a")
case("Softmax", [X], axis=2)
case("LogSoftmax", [make(2, 3, 4)], axis=0)
case("LogSoftmax", [X], axis=1.5)
case("LogSoftmaxExt", [X], dim=0)
case("LogSoftmaxExt", [X])
case("Softmin", [make(2, 3, 4)], axis=1)
case("Softmax2d", [make(2, 3, 4, 4)])
case("Softmax2d", [X])
ANY = {"better": "MindSpore's kernel takes alpha 1.0 only"}
case("ELU", [X], alpha=0.5, options=ANY)
case("ELU", [X], 1.0)
case("ELU", [X], alpha=2.0, options=ANY)
case("CELU", [X], alpha=2.0)
case("CELU", [X], alpha=0.0)
case("GELU", [X], approximate=False)
case("GELU", [X], False)
case("GELU", [X], approximate=1)
case("LeakyReLU", [X], 0.01)
case("LeakyReLU", [X], alpha=1)
case("LeakyReLU", [X], alpha="a")
case("Hardtanh", [X], -0.5, 0.7)
case("Hardtanh", [X], min_val=1.0, max_val=0.0)
case("SoftShrink", [X], 0.8)
case("HShrink", [X], lambd=0.2)
case("HShrink", [X], lambd="a")
case("Threshold", [X], 0.1, 20)
case("Threshold", [X], threshold=0.5, value=-1.5)
case("Threshold", [X], "a", 1)
case("GLU", [make(2, 4, 6)], axis=1)
case("PReLU", [make(2, 3, 4, 4)])
case("PReLU", [make(2, 3, 4, 4)], 3)
case("PReLU", [make(2, 3)], channel=3, w=0.1)
case("PReLU", [make(2, 3)], channel=3, w=make(3))
case("PReLU", [make(2, 3)], channel=3, w=[0.1, 0.2, 0.3])
case("PReLU", [make(2, 3)], channel=0)
case("PReLU", [make(2, 3)], channel=3, w=make(2))
case("PReLU", [make(2, 3)], channel=3, w="a")
case("PReLUExt", [make(2, 3, 4)], 3)
case("PReLUExt", [make(2, 3)], num_parameters=1, init=0.5)
case("RReLU", [X], options={"train": True, "random": True, "grads": False})
case("RReLU", [X], lower=0.2, upper=0.2, options={"random": True, "grads": False})
case("RReLU", [X], lower=0.5, upper=0.2)
case("RReLU", [X], lower="a")
case("LRN", [make(2, 4, 3, 3)])
case("LRN", [make(2, 4, 3, 3)], depth_radius=1, bias=2.0, alpha=0.5, beta=0.75)
case("LRN", [make(2, 4, 3, 3)], norm_region="WITHIN_CHANNEL")
