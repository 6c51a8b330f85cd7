"""Draw a source: its call, and the columns that it gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.e2e.interop.pipelines.files import RECORDS
from tests.e2e.interop.pipelines.tree import Call

Columns = dict[str, tuple[Any, ...]]  # name -> (dtype, *shape); ("?",) where it is not known

NUMBERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMBERS += ["float16", "float32", "float64", "bool"]
TEXT = ["str", "bytes", "word"]


@dataclass
class Draft:
    """A pipeline while it is drawn: the call so far, and what is known of its rows."""

    call: Call
    columns: Columns
    ordered: bool = True
    source: bool = True  # nothing but a source yet: a sampler may be used
    batched: bool = False
    notes: set[str] = field(default_factory=set)


def sampler(draw: Random, depth: int = 0) -> str:
    """Draw a sampler whose order is certain."""
    kinds = ["sequential", "sequential", "subset", "distributed", "child"]
    kind = draw.choice(kinds if depth else [*kinds, "listed"])
    if kind == "child" and depth == 0:
        return f"below({sampler(draw, 1)}, {sampler(draw, 1)})"
    if kind == "subset":
        return f"ds.SubsetSampler({[draw.randrange(5) for _ in range(draw.randint(1, 4))]})"
    if kind == "distributed":
        shards = draw.randint(1, 4)
        rest = draw.choice(
            ["", "", f", num_samples={draw.randint(1, 5)}", f", offset={draw.randrange(shards)}"]
        )
        return f"ds.DistributedSampler({shards}, {draw.randrange(shards)}, shuffle=False{rest})"
    if kind == "listed":
        return f"Listed({[draw.randrange(4) for _ in range(draw.randint(1, 5))]})"
    start, count = draw.choice(["None", "0", "1", "3", "30"]), draw.choice(["None", "1", "4", "40"])
    return f"ds.SequentialSampler({start}, {count})"


def source(draw: Random) -> Draft:
    """Draw a source of any kind."""
    kinds = [indexed, indexed, indexed, stream, arrays, arrays, arrays, records, tfrecord, csv, lines, folder]
    return draw.choice([*kinds, pictures])(draw)


def table(draw: Random, kinds: list[str], ragged: bool) -> tuple[Columns, int]:
    columns: Columns = {}
    for name in "abcd"[: draw.choice([1, 2, 2, 3])]:
        kind = draw.choice(kinds)
        shape = draw.choice(
            [(), (), (2,), (1,), (2, 3), (-1,) if ragged else (3,), (0,) if draw.random() < 0.2 else (2,)]
        )
        columns[name] = (kind,) if kind in ("word", "int", "float") else (kind, *shape)
    return columns, draw.choice([0, 1, 2, 3, 5, 5, 7, 8]) if draw.random() < 0.5 else draw.randint(3, 9)


def _options(draw: Random) -> dict[str, str]:
    """Draw the arguments that random-access sources share."""
    roll = draw.random()
    if roll < 0.6:
        return {"shuffle": "False"}
    if roll < 0.7:
        return {"shuffle": "False", "num_samples": draw.choice(["1", "3", "20"])}
    if roll < 0.8:
        shards = draw.randint(1, 4)
        return {"shuffle": "False", "num_shards": str(shards), "shard_id": str(draw.randrange(shards))}
    return {"sampler": sampler(draw)}


def indexed(draw: Random) -> Draft:
    columns, rows = table(draw, [*NUMBERS, "int", "float", *TEXT], ragged=True)
    data = f"Indexed(table({columns}, {max(rows, 1) if draw.random() < 0.9 else rows}))"
    names = f"{list(columns)}"
    return Draft(Call("ds.GeneratorDataset", (data,), {"column_names": names} | _options(draw)), columns)


def stream(draw: Random) -> Draft:
    columns, rows = table(draw, [*NUMBERS, "int", "float", *TEXT], ragged=True)
    data = draw.choice([f"Stream(table({columns}, {rows}))", f"lambda: iter(table({columns}, {rows}))"])
    options = {"column_names": f"{list(columns)}", "shuffle": "False"}
    return Draft(Call("ds.GeneratorDataset", (data,), options), columns, source=False)


def arrays(draw: Random) -> Draft:
    columns, rows = table(draw, [*NUMBERS, *TEXT, "int", "float"], ragged=False)
    rows = rows if draw.random() < 0.1 else max(rows, 1)
    form = draw.choice(["dict", "dict", "tuple", "unnamed"])
    options = _options(draw)
    data = f"slices({columns}, {rows})"
    if form == "tuple":
        data, options = f"tuple({data}.values())", {"column_names": f"{list(columns)}"} | options
    elif form == "unnamed":
        data = f"tuple({data}.values())"
        columns = {f"column_{k}": spec for k, spec in enumerate(columns.values())}
    return Draft(Call("ds.NumpySlicesDataset", (data,), options), columns)


def records(draw: Random) -> Draft:
    columns: Columns = dict(RECORDS)
    args = [draw.choice(["folder + '/plain.rec'", "folder + '/plain.rec'", "folder + '/parts.rec0'"])]
    if draw.random() < 0.4:
        chosen = draw.sample(list(columns), draw.randint(1, 3))
        args.append(f"{chosen}")
        columns = {name: columns[name] for name in chosen}
    options = _options(draw)
    if "Listed" in options.get("sampler", "") or "below" in options.get("sampler", ""):
        options = {"shuffle": "False"}
    return Draft(Call("ds.MindDataset", tuple(args), options), columns)


def tfrecord(draw: Random) -> Draft:
    columns: Columns = {"n": ("int64", 1), "t": ("str", 1), "v": ("float32", 2)}
    options = {"shuffle": "False"}
    if draw.random() < 0.4:
        chosen = draw.sample(list(columns), draw.randint(1, 3))
        options["columns_list"] = f"{chosen}"
        columns = {name: columns[name] for name in chosen}
    if draw.random() < 0.3:
        options["num_samples"] = draw.choice(["2", "5", "30"])
    return Draft(Call("ds.TFRecordDataset", ("folder + '/rows.tfrecord'",), options), columns, source=False)


def csv(draw: Random) -> Draft:
    options = {"shuffle": "False"}
    names = ["i", "f", "w", "e"]
    if draw.random() < 0.6:
        options["column_names"] = f"{names}"
    else:
        names = ["i", "f", "w"]
    kinds = draw.choice([None, ["1", "1.0", "''", "''"], ["1.0", "''", "''", "''"]])
    if kinds:
        options["column_defaults"] = "[" + ", ".join(kinds[: len(names)]) + "]"
    if draw.random() < 0.2:
        options["num_samples"] = "4"
    columns: Columns = dict.fromkeys(names, ("?",))
    return Draft(
        Call("ds.CSVDataset", (f"folder + '/{'a' if len(names) == 4 else 'named'}.csv'",), options),
        columns,
        source=False,
    )


def lines(draw: Random) -> Draft:
    options = {"shuffle": "False"}
    if draw.random() < 0.3:
        options |= draw.choice([{"num_samples": "3"}, {"num_shards": "2", "shard_id": "1"}])
    file = draw.choice(["folder + '/a.txt'", "folder + '/b.txt'"])
    return Draft(Call("ds.TextFileDataset", (file,), options), {"text": ("str",)}, source=False)


def folder(draw: Random) -> Draft:
    options = _options(draw)
    columns: Columns = {"image": ("bytes",), "label": ("int32",)}
    if draw.random() < 0.6:
        options["decode"] = "True"
        columns["image"] = ("uint8", 6, 5, 3)
    if draw.random() < 0.2:
        options["class_indexing"] = "{'cat': 7, 'dog': 3, 'eel': 5}"
    return Draft(Call("ds.ImageFolderDataset", ("folder + '/images'",), options), columns)


def pictures(draw: Random) -> Draft:
    height, width = draw.choice([(4, 6), (8, 8), (5, 3)])
    data = f"Indexed(images({draw.randint(1, 4)}, {height}, {width}, 3))"
    columns: Columns = {"image": ("uint8", height, width, 3), "label": ("int64",)}
    options = {"column_names": "['image', 'label']"} | _options(draw)
    return Draft(Call("ds.GeneratorDataset", (data,), options), columns)
