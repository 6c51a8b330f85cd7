"""The cases give under Millrace what real MindSpore 2.7.0 gave when goldens/ was recorded."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.parity import prelude
from tests.parity.case import NOTHING, Case
from tests.parity.data.pipelines.cases import load
from tests.parity.encode import encode, encode_error, same, same_names

# MindSpore logs where Millrace may warn; what is said there is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore")

GOLDENS = {path.stem: json.loads(path.read_text()) for path in Path(__file__).parent.glob("goldens/*.json")}
CASES = [
    pytest.param(file, case, id=f"{file}:{case.name}") for file, cases in load().items() for case in cases
]
LATER = [case for case in CASES if case.values[0] == "later"]
NOW = [case for case in CASES if case.values[0] != "later"]


def run(case: Case, folder: Path) -> dict[str, Any]:
    """Run a case under Millrace: the result, encoded, or the error, with itself under "raised"."""
    namespace = prelude.names(importlib.import_module("millrace.dataset"), folder)
    if "ms." in case.source:
        namespace["ms"] = importlib.import_module("millrace")
    try:
        exec(case.source, namespace)
    except Exception as error:
        return encode_error(error) | {"raised": error}
    return {"result": encode(namespace["result"])}


@pytest.mark.parametrize(("file", "case"), NOW)
def test_same_as_mindspore(file, case, tmp_path):
    golden = GOLDENS[file][case.name]
    assert golden["code"] == case.source, "the case has changed since it was recorded: run record.py --new"
    compare(case, run(case, tmp_path), golden)


@pytest.mark.parametrize(("file", "case"), LATER)
def test_still_to_come(file, case, tmp_path):
    """What cases/later.py holds is still missing; what has come must move to the other files."""
    with pytest.raises(AssertionError):
        compare(case, run(case, tmp_path), GOLDENS[file][case.name])


def compare(case: Case, got: dict[str, Any], golden: dict[str, Any]) -> None:
    if case.better:
        check_stated(case, got)
    elif "error" in golden:
        check_error(case, got, golden)
    else:
        assert "result" in golden, (
            f"MindSpore itself {'hangs' if 'hangs' in golden else 'crashes'}: say `better`"
        )
        assert "result" in got, f"raised {got['error']}: {got['message']}"
        assert same(got["result"], golden["result"]), (
            f"\ngot      {got['result']}\nMindSpore {golden['result']}"
        )


def check_stated(case: Case, got: dict[str, Any]) -> None:
    """Check a case where Millrace differs on purpose."""
    if case.want is not NOTHING:
        assert "result" in got, f"raised {got['error']}: {got['message']} ({case.better})"
        assert same(got["result"], encode(case.want)), f"got {got['result']} ({case.better})"
        return
    assert "error" in got, f"no error ({case.better})"
    assert isinstance(got["raised"], case.raises), f"{type(got['raised'])} ({case.better})"
    check_words(case, got)


def check_error(case: Case, got: dict[str, Any], golden: dict[str, Any]) -> None:
    """Check that the error is of MindSpore's class, and says the same where it is about an argument."""
    assert "error" in got, f"no error, MindSpore raises {golden['error']}: {golden['message']}"
    families = [kind.__name__ for kind in type(got["raised"]).__mro__]
    assert golden["error"] in families, f"got {families[0]}: {got['message']}, MindSpore: {golden['message']}"
    if case.words:
        check_words(case, got)
    elif not golden["flowing"]:
        assert same_names(str(got["raised"])) == golden["message"]


def check_words(case: Case, got: dict[str, Any]) -> None:
    said = str(got["raised"]).lower()
    missing = [word for word in case.words if word.lower() not in said]
    assert not missing, f"the error should speak of {missing}: {got['raised']}"
