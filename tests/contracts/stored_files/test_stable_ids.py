"""Whatever a file may name has an id of its own, which depends on no module."""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
import pytest

import millrace._src.data
import millrace.dataset as ds
from millrace._src.core import stable_ids
from millrace._src.core.public import definition_module
from millrace._src.data.plan.fingerprint.value_hash import hash_leaves
from millrace._src.data.plan.node import Node
from millrace._src.data.samplers.base import SAMPLER_TYPES, BuiltinSampler
from millrace._src.data.sources.source_traits import SourceTraits
from millrace._src.data.transforms.base import Transform
from millrace._src.data.transforms.json_names import TRANSFORMS
from millrace.dataset import audio, text, transforms, vision

FAMILIES = {Transform: ("vision", "text", "audio", "transforms"), BuiltinSampler: ("sampler",), Node: ("node",),
            SourceTraits: ("source",), ds.Dataset: ("dataset",), enum.Enum: ("enum",)}  # fmt: skip


def derived(base: type) -> list[type]:
    """Classes of the data pipeline below a base, whatever package they are in."""
    for module in pkgutil.walk_packages(millrace._src.data.__path__, f"{millrace._src.data.__name__}."):
        importlib.import_module(module.name)
    found, stack = [], [base]
    while stack:
        below = stack.pop().__subclasses__()
        stack += below
        found += [
            one for one in below if definition_module(one).startswith(f"{millrace._src.data.__name__}.")
        ]
    return found


# internal states of the engine, which no file holds
INTERNAL_ENUMS = {"Signal"}


@pytest.mark.parametrize("base", FAMILIES, ids=lambda base: base.__name__)
def test_every_class_of_a_family_has_an_id(base: type) -> None:
    found = [one for one in derived(base) if one.__name__ not in INTERNAL_ENUMS and not hidden(one)]
    ids = [stable_ids.find_id(one) for one in found]
    assert [one for one, text in zip(found, ids, strict=True) if text is None] == []
    assert {str(text).rpartition(".")[0] for text in ids} <= set(FAMILIES[base])
    assert len(set(ids)) == len(set(found)) > 5


def hidden(cls: type) -> bool:
    """A base, or a class that runs code of the user: only what is stated has an id."""
    return (
        issubclass(cls, Transform)
        and cls.user_code
        and stable_ids.find_id(cls) is None
        and cls.__name__[0] == "_"
    )


@pytest.mark.parametrize("module", [ds, vision, text, audio, transforms], ids=lambda module: module.__name__)
def test_every_public_class_and_function_has_an_id(module: Any) -> None:
    found = [getattr(module, name) for name in module.__all__]
    found = [
        one for one in found if (inspect.isroutine(one) or inspect.isclass(one)) and stable_ids.is_ours(one)
    ]
    assert [one for one in found if stable_ids.find_id(one) is None] == []
    assert len(found) > 10


@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_json_names_a_public_module_that_has_the_transform(name: str) -> None:
    module = stable_ids.public_module(TRANSFORMS[name])
    assert module.startswith("millrace.dataset.")
    public = importlib.import_module(module)
    assert getattr(public, name, TRANSFORMS[name]) is TRANSFORMS[name]


def test_ids_hold_no_module_of_ours() -> None:
    for known in {**stable_ids.paths_of_0_2_0(), **dict.fromkeys(SAMPLER_TYPES)}:
        assert not known.startswith(("millrace", "data.", "core.")), known


def test_an_id_has_one_class() -> None:
    class Other:
        __module__ = "millrace._src.data.other"

    before = stable_ids.find_id(ds.Shuffle)
    with pytest.raises(TypeError, match=r"expected an id that no other class has, got 'enum\.Shuffle'"):
        stable_ids.stable_id("enum.Shuffle")(Other)
    assert stable_ids.find_id(ds.Shuffle) == before == "enum.Shuffle"


def test_where_a_class_is_defined_changes_no_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    value = [vision.Resize((2, 3), vision.Inter.AREA), ds.SequentialSampler(1), np.float32]
    before = hash_leaves("x", value)
    moved = (vision.Resize, vision.Inter, ds.SequentialSampler)
    names = [one.__qualname__ for one in moved]
    try:
        for one in moved:
            monkeypatch.setattr(one, "__module__", "millrace.somewhere.else")
            one.__qualname__ = "Renamed"
        assert hash_leaves("x", value) == before
    finally:
        for one, name in zip(moved, names, strict=True):
            one.__qualname__ = name


def test_a_class_of_the_user_is_known_by_its_module() -> None:
    class Mine(vision.Resize):
        pass

    assert stable_ids.find_id(Mine) is None
    assert stable_ids.stored_name(Mine).module == __name__
    before = hash_leaves("x", Mine(3))
    Mine.__module__ = f"{__name__}.other"
    assert hash_leaves("x", Mine(3)) != before


def test_a_function_of_ours_is_known_by_its_public_name() -> None:
    assert stable_ids.find_id(vision.read_image) == "dataset.vision.read_image"
    assert stable_ids.find_id(vision.Resize.row) == "vision.Resize.row"
    assert stable_ids.find_id(len) is None
