"""Lines by number; errors as MindSpore's."""

import pickle

import pytest

from millrace.dataset.utils import LineReader


@pytest.fixture
def reader(tmp_path):
    (tmp_path / "x.txt").write_text("a\nbb\n\nlast é", encoding="utf-8")
    line_reader = LineReader(str(tmp_path / "x.txt"))
    yield line_reader
    line_reader.close()


def test_lines_by_number(reader):
    assert reader.len() == 4
    assert [reader.readline(n) for n in (4, 1, 3, 2)] == ["last é", "a", "", "bb"]
    reader.close()
    assert reader.readline(2) == "bb"
    copy = pickle.loads(pickle.dumps(reader))
    assert copy.readline(1) == "a"
    copy.close()


@pytest.mark.parametrize(
    ("line", "error"),
    [(0, ValueError), (5, ValueError), (-1, ValueError), ("x", TypeError), (True, TypeError)],
)
def test_lines_that_are_not_there(reader, line, error):
    with pytest.raises(error, match="line"):
        reader.readline(line)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(RuntimeError, match="does not exist"):
        LineReader(str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match="not a regular file"):
        LineReader(str(tmp_path))
    with pytest.raises(TypeError, match="is not string"):
        LineReader(5)
    (tmp_path / "empty").touch()
    assert LineReader(str(tmp_path / "empty")).len() == 0
