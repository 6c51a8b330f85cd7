"""The exceptions of MindRecord: MindSpore's names, raised where MindSpore raises them (as recorded)."""

import builtins
import json
import subprocess
import sys
from pathlib import Path

import pytest

import millrace.mindrecord
from millrace.mindrecord.common import exceptions
from tests.parity.mindrecord.error_cases import CASES

RECORDED = json.loads(
    (Path(__file__).parents[4] / "parity" / "mindrecord" / "errors_mindspore.json").read_text()
)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_same_exception_in_the_same_situation(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wanted = RECORDED[case]
    if wanted is None:
        CASES[case](millrace.mindrecord)
        return
    name, _, _ = wanted
    exception = getattr(exceptions, name, None) or getattr(builtins, name)
    if exception is FileNotFoundError:  # MindSpore lists the folder before it looks for files in it
        exception = exceptions.PathNotExistsError
    with pytest.raises(exception) as raised:
        CASES[case](millrace.mindrecord)
    if exception.__module__ == exceptions.MindRecordException.__module__:
        assert type(raised.value) is exception
    assert str(raised.value)


def test_all_of_them_can_be_imported_as_mindspores():
    names = [name for name in exceptions.__all__ if name != "MindRecordException"]
    assert len(names) == 32
    for name in names:
        exception = getattr(exceptions, name)
        assert issubclass(exception, exceptions.MindRecordException)
        assert issubclass(exception, (ValueError, TypeError, RuntimeError))
        assert getattr(millrace.mindrecord, name) is exception
    code = (
        "import millrace.as_mindspore\n"
        "from mindspore.mindrecord.common.exceptions import MRMOpenError, ParamValueError\n"
        "import mindspore.mindrecord as m\n"
        "try: m.FileWriter('a?b')\n"
        "except ParamValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "has the character '?' in it" in done.stdout
