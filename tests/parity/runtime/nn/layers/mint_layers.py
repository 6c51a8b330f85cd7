"""Layers with PyTorch's arguments, in mint.nn."""

from tests.parity.runtime.nn.layers import cases_of, make

case = cases_of(__name__)
X, X1, X2, X3 = make(3, 4), make(2, 3, 9), make(2, 3, 8, 7), make(1, 2, 5, 6, 7)
for name in (
    "ReLU", "ReLU6", "SiLU", "Tanh", "Sigmoid", "SELU", "LogSigmoid", "Hardsigmoid", "Hardswish", "Mish", "GELU", "ELU",
    "Hardtanh", "Hardshrink", "Softshrink", "LogSoftmax", "GLU", "Identity", "PReLU",
):  # fmt: skip
    case(f"mint.nn.{name}", [X])
NAMED = {"text": False}  # MindSpore calls the class by another name
case("mint.nn.Softmax", [X], options=NAMED)
case("mint.nn.Softmax", [X], 0, options=NAMED)
case("mint.nn.GELU", [X], approximate="tanh")
case("mint.nn.ELU", [X], 0.5)
case("mint.nn.Threshold", [X], 0.1, 2.0)
case("mint.nn.PReLU", [make(2, 3, 4)], 3, 0.1)
case("mint.nn.Flatten", [X2], 1, 2)
case("mint.nn.Linear", [X], 4, 2)
case("mint.nn.Linear", [X], 4, 2, bias=False)
case("mint.nn.Dropout", [X])
case("mint.nn.Dropout2d", [X2], 0.3)
for count, x in ((1, X1), (2, X2), (3, X3)):
    channels = x.shape[1]
    case(f"mint.nn.Conv{count}d", [x], channels, 4, 3)
    case(f"mint.nn.Conv{count}d", [x], channels, 4, 3, 2, 1, bias=False)
    case(f"mint.nn.Conv{count}d", [x], channels, 2 * channels, 2, groups=channels, dilation=2)
    case(f"mint.nn.Conv{count}d", [x], channels, 4, 3, padding="same")
    case(f"mint.nn.Conv{count}d", [x], channels, 4, 3, padding=1, padding_mode="reflect")
    case(f"mint.nn.BatchNorm{count}d", [x], channels)
    case(f"mint.nn.BatchNorm{count}d", [x], channels, options={"train": True})
    case(
        f"mint.nn.BatchNorm{count}d",
        [x],
        channels,
        affine=False,
        track_running_stats=False,
        options={"train": True},
    )
    case(f"mint.nn.AvgPool{count}d", [x], 2)
    case(f"mint.nn.AdaptiveAvgPool{count}d", [x], 2)
    case(f"mint.nn.ConstantPad{count}d", [x], 1, 0.5)
    case(f"mint.nn.ZeroPad{count}d", [x], 1)
    case(f"mint.nn.ReflectionPad{count}d", [x], 1)
    case(f"mint.nn.ReplicationPad{count}d", [x], 1)
case("mint.nn.SyncBatchNorm", [X2], 3, options=NAMED)
case("mint.nn.ConvTranspose2d", [X2], 3, 4, 3, stride=2, padding=1, output_padding=1)
case("mint.nn.ConvTranspose2d", [X2], 3, 6, 3, groups=3, bias=False)
case("mint.nn.AdaptiveMaxPool1d", [X1], 2)
case("mint.nn.AdaptiveMaxPool1d", [X1], 2, True)
case("mint.nn.AdaptiveMaxPool2d", [X2], 2)
case("mint.nn.MaxPool2d", [X2], 2)
case("mint.nn.MaxUnpool2d", [make(1, 1, 2, 2), make(1, 1, 2, 2, dtype="int64", low=0, high=15)], 2)
case("mint.nn.GroupNorm", [make(2, 6, 4)], 3, 6)
case("mint.nn.GroupNorm", [make(2, 6, 4)], 2, 6, affine=False)
case("mint.nn.LayerNorm", [X], 4)
case("mint.nn.Embedding", [make(2, 3, dtype="int32", low=0, high=5)], 5, 4)
case("mint.nn.PixelShuffle", [make(2, 12, 3, 2)], 2)
case("mint.nn.Unfold", [X2], 3, padding=1, options=NAMED)
case("mint.nn.Fold", [make(2, 12, 12)], (4, 5), 2)
case("mint.nn.Upsample", [X2], scale_factor=2.0, options=NAMED)
case("mint.nn.UpsamplingNearest2d", [X2], size=(4, 5))
case(
    "mint.nn.UpsamplingBilinear2d",
    [X2],
    scale_factor=2.0,
    options={"better": "MindSpore fails on scale_factor on a CPU"},
)
