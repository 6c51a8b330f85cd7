"""Draw a map: a transform or a function that fits a column, now and then one that does not."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.e2e.interop.pipelines.sources import NUMBERS, TEXT

Spec = tuple[Any, ...]
UNKNOWN: Spec = ("?",)


def transform(draw: Random, spec: Spec) -> tuple[str, int, Spec]:
    """Return an operation for one column, the number of columns it gives, and what it gives."""
    kind, *shape = spec
    if draw.random() < 0.08:  # whether it fits or not
        kind, shape = draw.choice([*NUMBERS, *TEXT]), [2]
    if kind == "uint8" and len(shape) == 3 and draw.random() < 0.8:
        return draw.choice(PICTURE), 1, UNKNOWN
    if kind in TEXT or kind == "?":
        return draw.choice(["as_list", "word", "length", "number", "first"]), 1, UNKNOWN
    if draw.random() < 0.35:
        return function(draw)
    return native(draw, kind, len(shape))


def function(draw: Random) -> tuple[str, int, Spec]:
    chosen = draw.choice(
        ["plus_one", "pair", "length", "as_list", "number", "word", "fails_on_two", "first", "nothing"]
    )
    made: dict[str, Spec] = {"length": ("int32", 1), "number": ("float64",), "word": ("str",)}
    return chosen, 2 if chosen == "pair" else 1, made.get(chosen, UNKNOWN)


def native(draw: Random, kind: str, rank: int) -> tuple[str, int, Spec]:
    chosen = draw.choice(
        ["cast", "fill", "mask", "slice", "pad", "double", "join", "unique", "hot", "compose"]
    )
    if chosen == "cast":
        target = draw.choice(NUMBERS)
        return f"transforms.TypeCast(types.{target if target != 'bool' else 'bool_'})", 1, UNKNOWN
    if chosen == "fill":
        return f"transforms.Fill({draw.choice(['3', '1.5', '0', 'True'])})", 1, UNKNOWN
    if chosen == "mask":
        relation = draw.choice(["EQ", "NE", "LT", "GT", "LE", "GE"])
        return f"transforms.Mask(transforms.Relational.{relation}, {draw.choice([0, 2, 3])})", 1, UNKNOWN
    if chosen == "slice":
        part = draw.choice(
            ["0", "[0]", "slice(0, 2)", "slice(None, None, 2)", "[-1, 0]", "Ellipsis", "None", "slice(5, 9)"]
        )
        return f"transforms.Slice({part})", 1, UNKNOWN
    if chosen == "pad":
        lengths = [draw.choice([1, 3, 5, None]) for _ in range(max(rank, 1))]
        value = draw.choice(["", ", 0", ", 7", ", 1.5"])
        return f"transforms.PadEnd({lengths}{value})", 1, UNKNOWN
    if chosen == "double":
        return "transforms.Duplicate()", 2, UNKNOWN
    if chosen == "join":
        more = f"np.array([9, 8], dtype=np.{kind})" if kind in NUMBERS and kind != "bool" else "None"
        return (
            f"transforms.Concatenate(0, {draw.choice([more, 'None'])}, {draw.choice([more, 'None'])})",
            1,
            UNKNOWN,
        )
    if chosen == "unique":
        return "transforms.Unique()", 3, UNKNOWN
    if chosen == "hot":
        rate = draw.choice(["", ", 0.1"])
        return f"transforms.OneHot({draw.choice([3, 40, 120])}{rate})", 1, UNKNOWN
    return "transforms.Compose([transforms.TypeCast(types.float32), plus_one])", 1, UNKNOWN


PICTURE = [
    "vision.Resize((4, 4))",
    "vision.Resize(3)",
    "vision.Resize((6, 2), vision.Inter.NEAREST)",
    "vision.CenterCrop((2, 3))",
    "vision.CenterCrop(9)",
    "vision.Crop((1, 0), (2, 2))",
    "vision.HWC2CHW()",
    "vision.Rescale(1 / 255, 0.5)",
    "vision.Normalize([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])",
    "vision.Normalize([0.1, 0.2, 0.3], [0.4, 0.5, 0.6], is_hwc=False)",
    "vision.Pad(1)",
    "vision.Pad([1, 2], fill_value=(1, 2, 3))",
    "vision.Pad([1, 0, 2, 1], padding_mode=vision.Border.EDGE)",
    "vision.Invert()",
    "vision.Equalize()",
    "vision.AutoContrast()",
    "vision.GaussianBlur(3)",
    "vision.HorizontalFlip()",
    "vision.VerticalFlip()",
    "vision.RandomHorizontalFlip(1.0)",
    "vision.Rotate(90)",
    "vision.ToTensor()",
    "vision.ConvertColor(vision.ConvertMode.COLOR_RGB2BGR)",
    "vision.ConvertColor(vision.ConvertMode.COLOR_RGB2GRAY)",
    "vision.AdjustBrightness(1.5)",
    "vision.AdjustContrast(0.5)",
    "vision.Posterize(3)",
    "vision.Solarize((20, 200))",
    "vision.Decode()",
    "[vision.Resize((4, 4)), vision.HWC2CHW(), transforms.TypeCast(types.float32)]",
    "[vision.ToPIL(), vision.Resize((3, 3)), vision.ToTensor()]",
    "vision.SlicePatches(2, 2)",
]
