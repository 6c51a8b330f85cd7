"""Folders of one user: what others could have put there is refused."""

import os

import pytest

from millrace._src.core.errors import OperationError, ResourceError
from millrace._src.core.io.runtime_directory import INDUCTOR, compile_cache, runtime_directory


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv(INDUCTOR, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def mode_of(path):
    return os.stat(path).st_mode & 0o777


def test_compiled_code_is_kept_in_a_folder_of_the_user(home):
    folder = compile_cache()
    assert folder == str(home / "cache" / "millrace" / "inductor")
    assert mode_of(folder) == 0o700
    assert compile_cache() == folder


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_refused(home, mode, monkeypatch):
    folder = home / "compiled"
    folder.mkdir()
    folder.chmod(mode)
    monkeypatch.setenv(INDUCTOR, str(folder))
    with pytest.raises(ResourceError, match=f"mode {mode:o}.*{INDUCTOR}"):
        compile_cache()
    folder.chmod(0o755)
    assert compile_cache() == str(folder)


def test_a_folder_of_somebody_else_is_refused(home, monkeypatch):
    compile_cache()
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.raises(ResourceError, match="only you may write to"):
        compile_cache()
    runtime = home / "millrace"
    runtime.mkdir(mode=0o700)
    with pytest.raises(OperationError, match="only you may enter"):
        runtime_directory(error=OperationError)


def test_without_a_home_compiled_code_is_kept_beside_sockets(home, monkeypatch):
    (home / "cache").write_text("no folder")
    folder = compile_cache()
    assert folder == str(home / "millrace" / "inductor")
    assert mode_of(folder) == 0o700


def test_torch_compile_uses_it(home, monkeypatch):
    torch = pytest.importorskip("torch")
    seen = []
    monkeypatch.setattr(torch, "compile", lambda function: seen.append(os.environ[INDUCTOR]) or function)
    from millrace import Tensor
    from millrace._src.runtime.graph.jit import _torch_compile

    monkeypatch.setenv(INDUCTOR, "")  # so that it is unset after the test
    assert _torch_compile(lambda x: x + 1)(Tensor([1.0])).asnumpy().tolist() == [2.0]
    assert seen == [str(home / "cache" / "millrace" / "inductor")]
