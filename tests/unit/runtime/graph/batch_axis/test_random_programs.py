"""Random programs: where the analysis finds no mixing, other values in one row change no bit of the other rows."""

import functools
import itertools
import json

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from millrace._src.core.errors import MillraceError
from millrace._src.runtime.graph.batch_axis import find_mixing
from millrace._src.runtime.graph.program_serialization import (
    SerializedProgram,
    generalize_rows,
    store_program,
)

ROWS = (5, 7, 11)
WIDTH = (4, 6)
WEIGHTS = {
    (a, b): torch.randn(a, b, generator=torch.Generator().manual_seed(10 * a + b), dtype=torch.float64)
    for a in range(1, 25)
    for b in (2, 3, 4)
}


def weighted(t, n):
    return t @ WEIGHTS[t.shape[-1], 2 + n % 3]


def split_axis(t, dim, n):
    """One axis as two of its factors."""
    size = t.shape[dim]
    factor = next((f for f in (2 + n % 2, 2, 3) if size % f == 0), 1)
    return t.reshape(*t.shape[:dim], factor, size // factor, *t.shape[dim + 1 :])


def merge_axes(t, dim):
    return t.reshape(*t.shape[:dim], t.shape[dim] * t.shape[dim + 1], *t.shape[dim + 2 :])


def norm_last(t):
    return torch.layer_norm(t, t.shape[-1:])


def convolve(t, n):
    return torch.conv1d(t, torch.ones(3, t.shape[1], 3, dtype=t.dtype), padding=1 + n % 2)


# a tensor, an axis, another axis, a number -> a tensor
OPERATIONS = {
    "exp": lambda t, d, e, n: torch.exp(-t.abs()),
    "relu": lambda t, d, e, n: torch.relu(t),
    "square plus": lambda t, d, e, n: t * t + n,
    "tanh in place": lambda t, d, e, n: t.clone().tanh_(),
    "sum": lambda t, d, e, n: t.sum(d),
    "mean, kept": lambda t, d, e, n: t - t.mean(d, keepdim=True),
    "max": lambda t, d, e, n: t.max(d)[0],
    "argmax": lambda t, d, e, n: t.argmax(d).to(t.dtype),
    "softmax": lambda t, d, e, n: torch.softmax(t, d),
    "cumsum": lambda t, d, e, n: torch.cumsum(t, d),
    "sort": lambda t, d, e, n: torch.sort(t, d)[0],
    "flip": lambda t, d, e, n: t.flip(d),
    "roll": lambda t, d, e, n: t.roll(1 + n, d),
    "transpose": lambda t, d, e, n: t.transpose(d, e),
    "transpose, copied": lambda t, d, e, n: t.transpose(d, e).contiguous(),
    "unsqueeze": lambda t, d, e, n: t.unsqueeze(d),
    "select": lambda t, d, e, n: t.select(d, n % 2),
    "slice": lambda t, d, e, n: t.narrow(d, n % 2, t.shape[d] - 1) if n else t.narrow(d, 0, t.shape[d]),
    "split axis": lambda t, d, e, n: split_axis(t, d, n),
    "merge axes": lambda t, d, e, n: merge_axes(t, min(d, t.dim() - 2)),
    "reshape": lambda t, d, e, n: t.reshape(-1, (2, 3, 4, 6)[n % 4]),
    "reshape, rows first": lambda t, d, e, n: t.reshape(t.shape[0], -1),
    "reshape, rows last": lambda t, d, e, n: t.reshape(-1, t.shape[0]),
    "weights": lambda t, d, e, n: weighted(t, n),
    "with itself": lambda t, d, e, n: t @ t.transpose(-1, -2),
    "pairs": lambda t, d, e, n: t.unsqueeze(d) - t.unsqueeze(e),
    "cat": lambda t, d, e, n: torch.cat((t, -t), d),
    "stack": lambda t, d, e, n: torch.stack((t, t * 2), d),
    "repeat": lambda t, d, e, n: t.repeat(*(1 + (axis == d) for axis in range(t.dim()))),
    "expand": lambda t, d, e, n: t.unsqueeze(0).expand(2, *t.shape),
    "zeros": lambda t, d, e, n: torch.zeros(t.shape, dtype=t.dtype).add_(t),
    "position": lambda t, d, e, n: (
        t + torch.arange(t.shape[d], dtype=t.dtype).view(-1, *[1] * (t.dim() - 1 - d))
    ),
    "layer norm": lambda t, d, e, n: norm_last(t),
    "convolution": lambda t, d, e, n: convolve(t, n),
    "pooling": lambda t, d, e, n: torch.nn.functional.avg_pool1d(t, 2),
    "gather": lambda t, d, e, n: t.gather(d, t.argmax(d, keepdim=True)),
    "index": lambda t, d, e, n: t.index_select(d, torch.tensor([1, 0])),
    "padding": lambda t, d, e, n: torch.nn.functional.pad(t, (1, n % 2)),
    "where": lambda t, d, e, n: torch.where(t > 0, t, t.flip(d)),
    "write": lambda t, d, e, n: (
        t.clone().index_fill_(d, torch.tensor([0]), 1.0) if n else t.clone().fill_(2.0)
    ),
    "write to a view": lambda t, d, e, n: (y := t.clone(), y.select(d, 0).copy_(y.select(d, 1)), y)[2],
}

STEP = st.tuples(
    st.sampled_from(sorted(OPERATIONS)),
    st.sampled_from((0, 1, 1, 2, 2, 3)),
    st.integers(0, 3),
    st.integers(0, 3),
)
PROGRAM = st.lists(STEP, min_size=1, max_size=7)


def run(steps, x):
    """The program; steps that do not fit a shape are passed over, by its number of axes and not by the rows."""
    t = x
    for name, d, e, n in steps:
        if d < t.dim() and e < t.dim() and t.dim() < 6:
            t = OPERATIONS[name](t, d, e, n)
    return t


def analysed(steps):
    """The stored program, or None where it cannot be recorded for any number of rows."""
    programs = []
    for rows in ROWS:
        x = torch.zeros(rows, *WIDTH, dtype=torch.float64)
        try:
            programs.append((rows, *store_program(functools.partial(run, steps, x), [x], {})))
        except (RuntimeError, IndexError, KeyError, ValueError, TypeError):
            return None
    if any([c.shape for c in tensors] != [c.shape for c in programs[0][2]] for _, _, tensors in programs):
        return None
    try:
        described = generalize_rows([(rows, program) for rows, program, _ in programs])
        return SerializedProgram(json.loads(json.dumps(described)), programs[0][2])
    except MillraceError:  # it does not fit one row
        return None


def check_rows(graph, rows):
    x = torch.randn(rows, *WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(rows))
    (before,) = graph([x.clone()])
    assert before.shape[0] == rows
    for row in range(rows):
        kept = [other for other in range(rows) if other != row]
        for value in (float("nan"), float("inf"), -1e300, 0.25):
            other = x.clone()
            other[row] = value
            (after,) = graph([other])
            assert before[kept].numpy().tobytes() == after[kept].numpy().tobytes()
        (alone,) = graph([x[row : row + 1].clone()])
        torch.testing.assert_close(alone[0], before[row], rtol=1e-6, atol=1e-9, equal_nan=True)


PROFILE = settings()


@settings(max_examples=4 * PROFILE.max_examples, derandomize=PROFILE.max_examples < 1000)
@given(PROGRAM)
def test_a_program_without_mixing_keeps_rows_apart(steps):
    graph = analysed(steps)
    assume(graph is not None)
    mixing = find_mixing(graph)
    event("mixed" if mixing else "independent")
    if mixing is None:
        for rows in (2, 5):
            check_rows(graph, rows)


def test_both_answers_are_common_among_random_programs():
    counts = {"independent": 0, "mixed": 0}

    @settings(max_examples=100, derandomize=True, database=None)
    @given(PROGRAM)
    def count(steps):
        graph = analysed(steps)
        if graph is not None:
            counts["mixed" if find_mixing(graph) else "independent"] += 1

    count()
    assert counts["independent"] >= 15
    assert counts["mixed"] >= 15


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_along_every_axis(name):
    for d, e, n in itertools.product(range(3), range(3), range(2)):
        graph = analysed([(name, d, e, n)])
        if graph is not None and find_mixing(graph) is None:
            check_rows(graph, 3)
