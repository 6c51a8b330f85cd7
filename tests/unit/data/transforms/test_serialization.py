"""Transforms from JSON: those of the table, with arguments that their constructors take, and nothing else."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millrace._src.data.transforms
import millrace.dataset as ds
from millrace._src.core.errors import ArgumentValueError, MillraceError, PlanError
from millrace._src.core.public import definition_module
from millrace._src.data.transforms.json_names import REFUSED, TRANSFORMS
from millrace._src.data.transforms.serialization import transform_from_json
from millrace._src.data.transforms.tensor_operation import TensorOperation
from millrace.dataset import audio, text, transforms, vision
from tests.support.mutations import HOSTILE, mutated_json

SAVED: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "fixtures" / "json" / "transforms_0.2.0.json").read_text()
)
GENERIC = "millrace.data.transforms.generic"
# Bases: they compute nothing by themselves.
BASES = {
    "AudioTensorOperation",
    "BiquadOperation",
    "Composite",
    "ImageTensorOperation",
    "MaskingOperation",
    "RandomMaskOperation",
    "StringOperation",
    "TextTensorOperation",
    "Tokenizer",
}


def transform_classes() -> set[type[TensorOperation]]:
    package = millrace._src.data.transforms
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    classes, stack = set(), [TensorOperation]
    while stack:
        stack += (below := stack.pop().__subclasses__())
        classes.update(below)
    return {one for one in classes if definition_module(one).startswith(f"{package.__name__}.")}


def test_the_table_is_complete() -> None:
    names = {one.__name__ for one in transform_classes() if not one.__name__.startswith("_")}
    assert names == set(TRANSFORMS) | set(REFUSED) | BASES
    assert not set(TRANSFORMS) & (set(REFUSED) | BASES)


def test_every_public_transform_is_in_the_table_or_refused_with_a_reason() -> None:
    for module in (audio, text, transforms, vision):
        for name, value in vars(module).items():
            if inspect.isclass(value) and issubclass(value, TensorOperation):
                listed = TRANSFORMS.get(value.__name__)
                assert listed is value or REFUSED.get(value.__name__), name


def test_no_class_of_the_table_runs_code_of_the_user() -> None:
    assert [one.__name__ for one in TRANSFORMS.values() if one.user_code] == []


def without_modules(saved: Any) -> Any:
    if isinstance(saved, dict):
        return {key: without_modules(value) for key, value in saved.items() if key != "python_module"}
    return [without_modules(value) for value in saved] if isinstance(saved, list) else saved


@pytest.mark.parametrize("name", sorted(SAVED))
def test_what_version_0_2_0_wrote_is_read(name: str) -> None:
    operation = transform_from_json(SAVED[name])
    assert type(operation) is TRANSFORMS[SAVED[name]["tensor_op_name"]]
    # the module is the public one now, at every depth
    assert without_modules(json.loads(operation.to_json())) == without_modules(SAVED[name])
    assert "millrace._src.data." not in operation.to_json()


def test_members_of_enumerations_come_back_as_members() -> None:
    resize = vision.Resize((4, 5), vision.Inter.NEAREST)
    again = transform_from_json(json.loads(resize.to_json()))
    assert again.interpolation is vision.Inter.NEAREST
    assert transform_from_json(json.loads(vision.Erase(1, 1, 2, 2, 7).to_json())).value == (7,)


def test_bytes_come_back_as_bytes() -> None:
    assert transform_from_json(json.loads(transforms.Fill(b"ab").to_json())).fill_value == b"ab"


def test_words_of_a_vocabulary_are_words_whatever_they_are() -> None:
    lookup = text.Lookup(text.Vocab.from_list(["millrace", "tensor_op_name"]), "millrace")
    again = transform_from_json(json.loads(lookup.to_json()))
    assert again(np.array(["tensor_op_name"])).tolist() == lookup(np.array(["tensor_op_name"])).tolist()


# --- code of the user -----------------------------------------------------------------------------------------------


def plugin(tmp_path: Path) -> dict[str, Any]:
    """A Plugin as JSON whose Python file leaves a trace when it runs."""
    code = tmp_path / "trace.py"
    code.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndef run(x): return x\n")
    return json.loads(transforms.Plugin(str(code), "run").to_json())


WRAPPERS: dict[str, Any] = {
    "alone": lambda inner: inner,
    "Compose": lambda inner: of("Compose", "compose", transforms=[inner]),
    "RandomApply": lambda inner: of("RandomApply", "compose", transforms=[inner], prob=1.0),
    "RandomChoice": lambda inner: of("RandomChoice", "compose", transforms=[inner]),
    "RandomOrder": lambda inner: of("RandomOrder", "compose", transforms=[inner]),
    "UniformAugment": lambda inner: of("UniformAugment", "vision.augment", transforms=[inner], num_ops=1),
    "RandomSelectSubpolicy": lambda inner: of(
        "RandomSelectSubpolicy", "vision.augment", policy=[[[inner, 1.0]]]
    ),
    "BoundingBoxAugment": lambda inner: of("BoundingBoxAugment", "vision.boxes", transform=inner, ratio=1.0),
    "twice": lambda inner: of(
        "Compose", "compose", transforms=[of("Compose", "compose", transforms=[inner])]
    ),
    "as a number": lambda inner: of("Fill", "generic", fill_value=inner),
    "in a dict": lambda inner: of("MFCC", "audio.cepstra", melkwargs={"n_fft": inner}),
}


def of(name: str, module: str, **arguments: Any) -> dict[str, Any]:
    return {
        "tensor_op_name": name,
        "python_module": f"millrace.data.transforms.{module}",
        "tensor_op_params": arguments,
    }


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_plugin_is_refused_wherever_it_stands(wrapper: str, tmp_path: Path) -> None:
    saved = WRAPPERS[wrapper](plugin(tmp_path))
    with pytest.raises(ArgumentValueError, match="runs a Python file"):
        transform_from_json(saved)
    pipeline = ds.serialize(ds.RandomDataset(total_rows=2).map(transforms.Duplicate(), "c0", ["c0", "b"]))
    pipeline["operations"] = [saved]
    with pytest.raises(PlanError, match="runs a Python file"):
        ds.deserialize(pipeline)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("wrapper", ["alone", "Compose"])
def test_an_archive_does_not_name_a_plugin(wrapper: str, tmp_path: Path) -> None:
    from millrace._src.serve.row_transforms import steps_from_json

    with pytest.raises(ArgumentValueError, match="runs a Python file"):
        steps_from_json({"x": [WRAPPERS[wrapper](plugin(tmp_path))]}, "`pre`")
    assert not (tmp_path / "ran").exists()


class Fill(TensorOperation):  # the name of a transform of ours
    """A transform of the user."""

    def row(self, x: Any) -> Any:
        raise AssertionError("code of the user ran")


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("Fill", __name__),
        ("Fill", "os"),
        ("system", "os"),
        ("__init__", GENERIC),
        ("Operation", "millrace.data.transforms.operation"),
        ("Composite", "millrace.data.transforms.compose"),
        ("importlib", GENERIC),
        ("PythonTokenizer", "millrace.data.transforms.text.tokenizers"),
        ("Fill", f"{GENERIC}.Fill"),
        ("Ｆill", GENERIC),
        ("fill", GENERIC),
        (["Fill"], GENERIC),
        ("Fill", None),
        (None, None),
    ],
)
def test_nothing_outside_of_the_table_is_built(name: Any, module: Any) -> None:
    with pytest.raises(ArgumentValueError, match="cannot be rebuilt"):
        transform_from_json(
            {"tensor_op_name": name, "python_module": module, "tensor_op_params": {"fill_value": 1}}
        )


def test_no_module_is_loaded_by_a_name_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "side_effect_of_json"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in ("side_effect_of_json", "millrace.data.transforms.side_effect_of_json", "antigravity"):
        with pytest.raises(ArgumentValueError):
            transform_from_json({"tensor_op_name": "Fill", "python_module": module})
    assert not {"side_effect_of_json", "antigravity"} & set(sys.modules)


@pytest.mark.parametrize("field", ["row", "_function", "__class__", "rows", "random", "user_code", "_device"])
def test_a_field_that_is_no_argument_is_refused(field: str) -> None:
    saved = json.loads(vision.CenterCrop(4).to_json())
    saved["tensor_op_params"][field] = json.loads(vision.HWC2CHW().to_json())
    with pytest.raises(ArgumentValueError, match="no argument"):
        transform_from_json(saved)


# --- damage -----------------------------------------------------------------------------------------------------------


def test_damaged_transforms_raise_one_class_of_error() -> None:
    rng = random.Random(27)
    names, refused = sorted(SAVED), 0
    for _ in range(3000):
        saved = mutated_json(SAVED[rng.choice(names)], rng)
        try:
            transform_from_json(saved)
        except ArgumentValueError:
            refused += 1
    assert refused > 1000


@pytest.mark.parametrize("name", sorted(SAVED))
def test_every_argument_is_checked_against_hostile_values(name: str) -> None:
    """A value that is accepted gives a transform that can be written again."""
    for field in SAVED[name]["tensor_op_params"]:
        for value in HOSTILE:
            saved = json.loads(json.dumps(SAVED[name]))
            saved["tensor_op_params"][field] = value
            try:
                transform_from_json(saved).to_json()
            except ArgumentValueError:
                pass


@pytest.mark.parametrize(
    "document",
    [
        *("", "[", "[]", "null", "1", '"x"', "{", "\ud800"),
        '{"size": 4, "size": 5}',
        f'{{"size": {"9" * 5000}}}',
        "[" * 10**5,
    ],
    ids=lambda document: ascii(document[:12]),
)
def test_damaged_arguments_of_from_json(document: str) -> None:
    with pytest.raises(MillraceError):
        vision.CenterCrop.from_json(document)


def test_an_array_is_not_larger_than_the_limit() -> None:
    saved = json.loads(transforms.Concatenate(0, append=np.array(["a"])).to_json())
    saved["tensor_op_params"]["append"] = {"millrace": "array", "dtype": "<U268435455", "value": ["a"] * 8}
    with pytest.raises(ArgumentValueError, match="at most"):
        transform_from_json(saved)
