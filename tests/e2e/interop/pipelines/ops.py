"""Draw the steps of a pipeline, one after another, and what it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.e2e.interop.pipelines.maps import UNKNOWN, function, transform
from tests.e2e.interop.pipelines.sources import NUMBERS, Columns, Draft, sampler, source
from tests.e2e.interop.pipelines.tree import Call, Case

GETTERS = ["get_dataset_size", "get_batch_size", "get_repeat_count", "output_shapes", "output_types"]
GETTERS += ["get_col_names", "num_classes"]


def draw_case(seed: int) -> Case:
    """Return the pipeline of this number: always the same one."""
    draw = Random(f"pipeline {seed}")
    draft = _grow(draw, source(draw), draw.choice([0, 1, 1, 2, 2, 3, 4]))
    # shapes are those of the first row, and after a shuffle nobody knows which one that is
    known = [name for name in GETTERS if draft.ordered or name != "output_shapes"]
    asked = tuple(name for name in known if draw.random() < 0.35)
    epochs = draw.choice([1, 1, 1, 2])
    return Case(draft.call, epochs, draw.random() < 0.15, asked, draft.ordered)


def _grow(draw: Random, draft: Draft, steps: int) -> Draft:
    for _ in range(steps):
        choices = UNORDERED if not draft.ordered else STEPS
        draft = draw.choice(choices)(draw, draft)
    return draft


def _then(draft: Draft, name: str, *args: str, tail: str = "", **options: str) -> Draft:
    call = Call(name, args, options, (draft.call,), tail)
    return replace(draft, call=call, source=False, columns=dict(draft.columns))


def _column(draw: Random, draft: Draft) -> str:
    return draw.choice(list(draft.columns)) if draw.random() < 0.96 else "other"


def map_(draw: Random, draft: Draft) -> Draft:
    name = _column(draw, draft)
    operation, count, spec = transform(draw, draft.columns.get(name, UNKNOWN))
    outputs = [name] if count == 1 else [f"{name}{k}" for k in range(count)]
    roll = draw.random()
    options: dict[str, str] = {}
    if roll < 0.2 and count == 1:
        outputs = ["new"]
    if outputs != [name]:
        options["output_columns"] = f"{outputs}"
    if roll > 0.97:
        options, outputs = {}, [name]
    made = _then(draft, "map", operation, f"[{name!r}]", **options)
    made.columns = _replaced(draft.columns, [name], outputs)
    made.columns.update(dict.fromkeys(outputs, spec))
    return made


def map_several(draw: Random, draft: Draft) -> Draft:
    """Map a function over two columns."""
    if len(draft.columns) < 2:
        return map_(draw, draft)
    chosen = draw.sample(list(draft.columns), 2)
    operation, outputs = draw.choice(
        [("swap", chosen), ("first", ["new"]), ("length", ["new"]), ("even", ["new"])]
    )
    if operation != "swap" and draw.random() < 0.2:
        operation = "[swap, " + operation + "]"
    made = _then(draft, "map", operation, f"{chosen}", output_columns=f"{outputs}")
    made.columns = _replaced(draft.columns, chosen, outputs)
    return made


def _replaced(columns: Columns, gone: list[str], new: list[str]) -> Columns:
    """Put the new columns where the first of the old ones was."""
    made: Columns = {}
    for name, spec in columns.items():
        if name == gone[0]:
            made.update(dict.fromkeys(new, UNKNOWN))
        elif name not in gone:
            made.setdefault(name, spec)
    return made


NARROW = ["same_batch", "batch_number", "one_more", "stacked"]
WIDE = ["same_batches", "first_of_two", "two_more"]


def batch(draw: Random, draft: Draft) -> Draft:
    size = draw.choice(["1", "2", "2", "3", "4", "10", "sizes"])
    options = {"drop_remainder": "True"} if draw.random() < 0.3 else {}
    columns = dict.fromkeys(draft.columns, UNKNOWN)
    roll = draw.random()
    if roll < 0.3:
        wide = len(columns) > 1 and draw.random() < 0.5
        mapped = draw.choice(WIDE if wide else NARROW)
        chosen = draw.sample(list(columns), 2 if wide else 1)
        options |= {"per_batch_map": mapped, "input_columns": f"{chosen}"}
        outputs = chosen
        if mapped in ("one_more", "two_more"):
            outputs = [*chosen, *["more", "most"][: len(chosen)]]
        elif mapped == "first_of_two":
            outputs = ["one"]
        if outputs != chosen or draw.random() < 0.2:
            options["output_columns"] = f"{outputs}"
        columns = _replaced(columns, chosen, outputs)
    made = _then(draft, "batch", size, **options)
    made.columns, made.batched = columns, True
    return made


def padded_batch(draw: Random, draft: Draft) -> Draft:
    pads = {}
    for name, (kind, *shape) in draft.columns.items():
        if kind in NUMBERS and draw.random() < 0.8:
            goal = draw.choice([[4] * len(shape), [None] * len(shape), [2] * len(shape), None])
            pads[name] = (goal, draw.choice([0, 1, -1, 0.5]))
    options = {"drop_remainder": "True"} if draw.random() < 0.3 else {}
    if pads or draw.random() < 0.5:
        options["pad_info"] = f"{pads}"
    made = _then(draft, "padded_batch", draw.choice(["2", "3", "5"]), **options)
    made.columns, made.batched = dict.fromkeys(draft.columns, UNKNOWN), True
    return made


def buckets(draw: Random, draft: Draft) -> Draft:
    name = draw.choice(list(draft.columns))
    options = {}
    if len(draft.columns[name]) < 2 or draw.random() < 0.5:
        options["element_length_function"] = "rows_long"
    if draw.random() < 0.3:
        options["drop_remainder"] = "True"
    if draw.random() < 0.3:
        options["pad_to_bucket_boundary"] = "True"
    if draw.random() < 0.5:
        options["pad_info"] = f"{ {name: ([None] * (len(draft.columns[name]) - 1), 0)} }"
    bounds = draw.choice(["[1, 3]", "[2]", "[1, 2, 3]"])
    sizes = "[2, 1, 3, 2]" if bounds.count(",") == 2 else "[2, 3, 1]" if "," in bounds else "[3, 2]"
    made = _then(draft, "bucket_batch_by_length", f"[{name!r}]", bounds, sizes, **options)
    made.columns = dict.fromkeys(draft.columns, UNKNOWN)
    return made


def repeat(draw: Random, draft: Draft) -> Draft:
    if draw.random() < 0.3:
        return _then(_then(draft, "repeat"), "take", draw.choice(["3", "7", "11"]))
    return _then(draft, "repeat", draw.choice(["1", "2", "3", "0"]))


def skip(draw: Random, draft: Draft) -> Draft:
    return _then(draft, "skip", draw.choice(["0", "1", "2", "4", "20"]))


def take(draw: Random, draft: Draft) -> Draft:
    return _then(draft, "take", draw.choice(["1", "2", "3", "5", "50", "-1"]))


def shuffle(draw: Random, draft: Draft) -> Draft:
    made = _then(draft, "shuffle", draw.choice(["2", "3", "100"]))
    return replace(made, ordered=False)


def zip_(draw: Random, draft: Draft) -> Draft:
    others = [
        _renamed(draw, _grow(draw, source(draw), draw.choice([0, 0, 1])), "xy"[k])
        for k in range(draw.choice([1, 1, 2]))
    ]
    parts = [draft, *(other for other in others if other.ordered)]
    if len(parts) == 1:
        return rename(draw, draft)
    columns = {name: spec for part in parts for name, spec in part.columns.items()}
    call = Call("ds.zip", (), {}, tuple(part.call for part in parts))
    ordered = all(part.ordered for part in parts)
    return Draft(call, columns, ordered, source=False)


def _renamed(draw: Random, draft: Draft, letter: str) -> Draft:
    if draw.random() < 0.05:
        return draft
    old, new = list(draft.columns), [f"{letter}{k}" for k in range(len(draft.columns))]
    made = _then(draft, "rename", f"{old}", f"{new}")
    made.columns = dict(zip(new, draft.columns.values()))
    return made


def concat(draw: Random, draft: Draft) -> Draft:
    """Join the pipeline with itself further on, or with something else."""
    if draw.random() < 0.7:
        other = draft.call if draw.random() < 0.5 else Call("take", ("2",), {}, (draft.call,))
        made = Draft(
            Call("concat", (other.text(),), {}, (draft.call,)), dict(draft.columns), draft.ordered, False
        )
    else:
        other_draft = source(draw)
        made = Draft(
            Call("concat", (other_draft.call.text(),), {}, (draft.call,)),
            dict(draft.columns),
            draft.ordered,
            False,
        )
    if draw.random() < 0.25:
        made = _then(made, "skip", "1")
    return made


def rename(draw: Random, draft: Draft) -> Draft:
    old = _column(draw, draft)
    new = draw.choice(["r", "s", *draft.columns])
    made = _then(draft, "rename", f"[{old!r}]", f"[{new!r}]")
    made.columns = {new if name == old else name: spec for name, spec in draft.columns.items()}
    return made


def project(draw: Random, draft: Draft) -> Draft:
    chosen = draw.sample(list(draft.columns), draw.randint(1, len(draft.columns)))
    if draw.random() < 0.05:
        chosen.append("other")
    made = _then(draft, "project", f"{chosen}")
    made.columns = {name: draft.columns.get(name, UNKNOWN) for name in chosen}
    return made


def filter_(draw: Random, draft: Draft) -> Draft:
    name = _column(draw, draft)
    numeric = draft.columns.get(name, UNKNOWN)[0] in NUMBERS
    choices = ["even", "marked", "even", "never"] + (["light", "light"] if numeric else [])
    options = {"input_columns": f"[{name!r}]"} if draw.random() < 0.8 else {}
    return _then(draft, "filter", draw.choice(choices), **options)


def flat_map(draw: Random, draft: Draft) -> Draft:
    made = _then(draft, "flat_map", "spread")
    made.columns = {"s": UNKNOWN} | {f"s{k}": UNKNOWN for k in range(len(draft.columns) - 1)}
    return made


def split(draw: Random, draft: Draft) -> Draft:
    sizes = draw.choice(["[0.5, 0.5]", "[2, 1]", "[0.2, 0.3, 0.5]", "[1, 2]", "[0.1, 0.9]"])
    return _then(draft, "split", sizes, "randomize=False", tail=f"[{draw.choice([0, 1])}]")


def use_sampler(draw: Random, draft: Draft) -> Draft:
    if not draft.source and draw.random() < 0.9:
        return split(draw, draft)
    made = _then(draft, "sampled", sampler(draw))
    return replace(made, source=True)


def whole_row(draw: Random, draft: Draft) -> Draft:
    """Map without naming columns."""
    made = _then(draft, "map", function(draw)[0])
    made.columns = {next(iter(draft.columns)): UNKNOWN, **dict(list(draft.columns.items())[1:])}
    return made


Step = Callable[[Random, Draft], Draft]
UNORDERED: list[Step] = [map_, rename, project, filter_, map_several, repeat]
STEPS: list[Step] = [
    map_,
    map_,
    map_,
    map_several,
    batch,
    batch,
    batch,
    padded_batch,
    buckets,
    repeat,
    repeat,
]
STEPS += [
    skip,
    take,
    shuffle,
    zip_,
    concat,
    rename,
    project,
    filter_,
    flat_map,
    split,
    use_sampler,
    use_sampler,
]
STEPS += [whole_row]
