"""What real data and real scripts showed: schema files, numbers out of range, axes of length 1, eager Compose."""

from __future__ import annotations

import numpy as np

from tests.parity.case import Case, each, table

# One record file beside one schema file; `column` is what the schema says of column a.
SCHEMA = """
import json
from tests.parity.data.sources.tf_bytes import example, records
(folder / "t.tf").write_bytes(records([example({{"a": values}}) for values in {values}]))
(folder / "s.json").write_text(json.dumps({{"datasetType": "TF", "columns": {{"a": {column}}}}}))
result = rows(ds.TFRecordDataset(str(folder / "t.tf"), schema=str(folder / "s.json"), shuffle=False))
"""


def schema(name: str, values: str, column: str, **rest: object) -> Case:
    return Case(f"schema file: {name}", SCHEMA.format(values=values, column=column), **rest)  # type: ignore[arg-type]


# Several values of bytes: joined where the column is named, filled with spaces where it is not.
BYTES = """
from tests.parity.data.sources.tf_bytes import example, records
(folder / "t.tf").write_bytes(records([example({{"a": [b"x", b"abc"], "n": [1]}})]))
result = rows(ds.TFRecordDataset(str(folder / "t.tf"), columns_list={columns}, shuffle=False))
"""
NAMED = [
    Case(f"bytes of unequal length: columns_list={columns}", BYTES.format(columns=columns))
    for columns in (None, ["a"], ["n", "a"], ["n"])
]

LOOSE = "[[1, 2], [3], []]"
SCHEMAS = [
    schema("rank 1, rows of any length", LOOSE, '{"type": "int64", "rank": 1}'),
    schema("rank 1, another type", "[[1, 300], [-5]]", '{"type": "uint8", "rank": 1}'),
    schema("rank 2 without a shape is flat", LOOSE, '{"type": "int64", "rank": 2}'),
    schema("rank 0, one value", "[[5]]", '{"type": "int64", "rank": 0}'),
    schema("rank 0, two values", "[[5, 6]]", '{"type": "int64", "rank": 0}'),
    schema("rank 0, no value", "[[]]", '{"type": "int64", "rank": 0}'),
    schema("rank 0, now one, now two", "[[5], [5, 6]]", '{"type": "int64", "rank": 0}'),
    schema("rank 0, text", '[[b"xy"]]', '{"type": "string", "rank": 0}'),
    schema("rank 0, two texts", '[[b"xy", b"z"]]', '{"type": "string", "rank": 0}'),
    schema("rank 1, texts", '[[b"xy"], [b"xy", b"z"]]', '{"type": "string", "rank": 1}'),
    schema("rank 0, a byte", '[[b"x"]]', '{"type": "uint8", "rank": 0}'),
    schema("bytes of unequal length", '[[b"xy", b"abc"], [b"x"]]', '{"type": "uint8", "rank": 1}'),
    schema("rank and shape", "[[5, 6]]", '{"type": "int64", "rank": 2, "shape": [2]}'),
    schema("rank and no axis", "[[5]]", '{"type": "int64", "rank": 1, "shape": []}'),
    schema("a length to find out", "[[5, 6]]", '{"type": "int64", "rank": 2, "shape": [-1, 1]}'),
    schema("float as int", "[[1.5, -2.7, 3e9]]", '{"type": "int32", "rank": 1}'),
    schema("float as byte", "[[1.5, -2.7, 3e9]]", '{"type": "uint8", "rank": 1}'),
    schema("int as float", "[[1, 300]]", '{"type": "float16", "rank": 1}'),
    schema("t_impl", "[[5]]", '{"type": "int64", "rank": 1, "t_impl": "flex"}'),
    schema("neither rank nor shape", LOOSE, '{"type": "int64"}', words=("rank", "column a", "value >= 0")),
    schema("rank below 0", LOOSE, '{"type": "int64", "rank": -1}', words=("rank", "column a")),
    schema(
        "an attribute nobody knows",
        LOOSE,
        '{"type": "int64", "rank": 1, "foo": 1}',
        words=("unexpected column attribute foo",),
    ),
    schema(
        "shape without rank",
        "[[5, 6]]",
        '{"type": "int64", "shape": [2]}',
        better="a shape says what the rank would",
        want=[{"a": np.array([5, 6])}],
    ),
]

ODD = "0.0, -0.0, 1.9, -1.9, 127.5, 128.0, -129.0, 255.9, 256.0, -300.7, 32768.0, 65536.0, 2147483647.0, 2147483648.0, "
ODD += "-2147483649.0, 3e9, -3e9, 4294967295.0, 4294967296.0, 5e9, 9.3e18, -9.3e18, 1.8e19, 1.9e19, 1e30, -1e30, "
ODD += "np.inf, -np.inf, np.nan"
KINDS = [
    "bool_",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
]
CASTS = [
    Case(
        f"TypeCast {source} to {kind}",
        f"with np.errstate(all='ignore'): x = np.array([{ODD}], np.{source})\n"
        f"result = ds.transforms.TypeCast(ms.{kind})(x)",
    )
    for source in ("float64", "float32", "float16")
    for kind in KINDS
]

HOT = each(
    "OneHot",
    "ds.transforms.OneHot(4)(np.array({}, np.int32))",
    "3; [3]; [[3]]; [[[3]]]; [1, 2]; [[1, 2]]; [[1], [2]]; [[[1], [0]]]",
)
HOT += table("OneHot", "two axes | ds.transforms.OneHot(4)(np.zeros((2, 2), np.int32)) => rank")

EAGER = """
from PIL import Image
pixels = np.zeros((8, 8, 3), np.uint8)
pil = Image.fromarray(pixels)
vision, T = ds.vision, ds.transforms
made = T.Compose({ops})({given})
result = [type(made).__name__, len(made)] if type(made) is tuple else type(made).__name__
"""
PIPES = {
    "ToPIL": ("[vision.ToPIL()]", "pixels"),
    "ToPIL, ToTensor": ("[vision.ToPIL(), vision.ToTensor()]", "pixels"),
    "ToPIL, function": ("[vision.ToPIL(), np.array]", "pixels"),
    "ToTensor": ("[vision.ToTensor()]", "pixels"),
    "ToTensor of a Pillow image": ("[vision.ToTensor()]", "pil"),
    "Resize": ("[vision.Resize(4)]", "pixels"),
    "Resize of a Pillow image": ("[vision.Resize(4)]", "pil"),
    "Resize of a Pillow image, ToTensor": ("[vision.Resize(4), vision.ToTensor()]", "pil"),
    "function": ("[lambda x: x]", "pixels"),
    "function of a Pillow image": ("[lambda x: x]", "pil"),
    "function, two values": ("[lambda x: (x, x)]", "pixels"),
    "RandomErasing": ("[vision.ToTensor(), vision.RandomErasing()]", "pixels"),
    "FiveCrop": ("[vision.ToPIL(), vision.FiveCrop(4)]", "pixels"),
    "Grayscale": ("[vision.Grayscale(), vision.ToTensor()]", "pil"),
    "Resize, ANTIALIAS": (
        "[vision.ToPIL(), vision.Resize(4, vision.Inter.ANTIALIAS), vision.ToTensor()]",
        "pixels",
    ),
    "nested": ("[T.Compose([vision.ToPIL()]), vision.ToTensor()]", "pixels"),
    "in RandomApply": ("[T.RandomApply([vision.ToPIL()], 1.0)]", "pixels"),
    "function in RandomApply": ("[T.RandomApply([lambda x: x], 1.0)]", "pixels"),
    "RandomOrder": ("[T.RandomOrder([vision.HorizontalFlip()])]", "pixels"),
    "two inputs": ("[lambda x, y: x]", "pixels, pixels"),
}
EAGERS = [
    Case(f"Compose: {name}", EAGER.format(ops=ops, given=given)) for name, (ops, given) in PIPES.items()
]

# The types that were promised, in sources that are read in one pass and in those that are read by number.
TYPED = []
for kind, maker in (("function", "lambda: iter({})"), ("iterable", "Stream({})"), ("indexed", "Indexed({})")):
    for name, rows, types in (
        ("right", "[(np.array([1], np.int32),)]", "[ms.int32]"),
        ("wrong", "[(np.array([1], np.int32),)]", "[ms.int64]"),
        (
            "wrong in the second row",
            "[(np.array([1], np.int32),), (np.array([1.5], np.float32),)]",
            "[ms.int32]",
        ),
        ("a Python int", "[(1,)]", "[ms.int64]"),
        ("a Python int, narrower", "[(1,)]", "[ms.int32]"),
        ("text", "[(np.array('x'),)]", "[ms.string]"),
        ("a number for text", "[(np.array(1),)]", "[ms.string]"),
    ):
        code = f"rows(gen({maker.format(rows)}, column_types={types}))"
        TYPED.append(Case(f"column_types: {kind}, {name}", code))

CASES = [*SCHEMAS, *NAMED, *CASTS, *HOT, *EAGERS, *TYPED]
