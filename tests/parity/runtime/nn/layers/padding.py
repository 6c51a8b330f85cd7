"""Padding, up-sampling."""

from tests.parity.runtime.nn.layers import cases_of, make

case = cases_of(__name__)

SHAPES = {1: (2, 3, 5), 2: (2, 3, 4, 5), 3: (1, 2, 4, 5, 4)}
for count, shape in SHAPES.items():
    x, pads = make(*shape), tuple(range(2 * count))[:2] * count
    for kind in ("Reflection", "Replication"):
        case(f"{kind}Pad{count}d", [x], 1)
        case(f"{kind}Pad{count}d", [x], pads)
        case(f"{kind}Pad{count}d", [x[0]], pads)
        case(f"{kind}Pad{count}d", [x], -1)
        case(f"{kind}Pad{count}d", [x], "a")
        case(f"{kind}Pad{count}d", [x], (1, 2, 3))
        few = {"better": "MindSpore wants 3 axes"} if kind == "Replication" and count == 1 else {}
        case(f"{kind}Pad{count}d", [make(3)], 1, options=few)
    case(f"ConstantPad{count}d", [x], 1, 0.5)
    case(f"ConstantPad{count}d", [x], pads, 2)
    case(f"ConstantPad{count}d", [x], (-1, 1, 0, 1, 2, 0)[: 2 * count], -1.0)
    case(f"ConstantPad{count}d", [x], "a", 1)
    case(f"ConstantPad{count}d", [x], 1, "a")
case("ZeroPad2d", [make(2, 3, 4, 5)], (1, 2, 0, 1))
case("ZeroPad2d", [make(2, 3, 4, 5)], 2)
case("ZeroPad2d", [make(2, 3, 4, 5)], -1)
case("Upsample", [make(1, 2, 3, 4)], size=(6, 8))
case("Upsample", [make(1, 2, 3, 4)], scale_factor=2.0, recompute_scale_factor=True)
case("Upsample", [make(1, 2, 3, 4)], size=(5, 7), mode="bilinear", align_corners=True)
case("Upsample", [make(1, 2, 3, 4)], size=(5, 7), mode="bilinear", align_corners=False)
case("Upsample", [make(1, 2, 3, 4)], size=(5, 7), mode="bicubic")
case("Upsample", [make(1, 2, 3)], size=(6,), mode="linear")
case("Upsample", [make(1, 2, 3, 4)], size=(6, 8), mode="area")
case("Upsample", [make(1, 2, 3, 4)])
case("Upsample", [make(1, 2, 3, 4)], size=(5, 7), mode="x")
