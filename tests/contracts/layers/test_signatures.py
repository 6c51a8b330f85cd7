"""Layers take MindSpore's arguments: names, order, defaults."""

import ast
import importlib
import inspect

import pytest

pytest.importorskip("torch")

from tests.contracts.public_api.update_runtime import listed


def theirs(text):
    """Parameter -> default, as MindSpore has them; "..." is an object, "" none."""
    spec = ast.parse(f"def f({text}): pass").body[0].args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    defaults = [""] * (len(names) - len(spec.defaults)) + [ast.unparse(d) for d in spec.defaults]
    return dict(zip(names, defaults, strict=True))


def same(default, text):
    if text == "...":
        return default is not inspect.Parameter.empty
    if text == "":
        return default is inspect.Parameter.empty
    return default == ast.literal_eval(text)


@pytest.mark.parametrize("face", ["nn", "mint.nn"])
def test_constructors(face):
    module, wrong = importlib.import_module(f"millrace.{face}"), {}
    for name, entry in listed()[face].items():
        made = getattr(module, name, None)
        if made is None or not entry.get("class") or "*" in entry["args"]:
            continue
        ours = {n: p.default for n, p in inspect.signature(made).parameters.items()}
        wanted = theirs(entry["args"])
        if list(ours) != list(wanted) or not all(same(ours[n], wanted[n]) for n in wanted):
            wrong[name] = f"{inspect.signature(made)} instead of ({entry['args']})"
    assert wrong == {}
