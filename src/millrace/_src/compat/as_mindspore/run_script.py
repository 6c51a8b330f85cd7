"""``python -m millrace.as_mindspore``: run a script, a module or a command with Millrace as ``mindspore``."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import sys
import types
from typing import Any, NoReturn

from millrace._src.core.package import PACKAGE_ROOT

from .module_map import VERSION

USAGE = """\
usage: python -m millrace.as_mindspore [-h] [-V] (SCRIPT | -m MODULE | -c COMMAND) [ARGUMENTS ...]

Run a program with "import mindspore" on Millrace, unchanged.

  SCRIPT      a Python file, or a folder or zip file with a __main__.py
  -m MODULE   run a module, as python -m does
  -c COMMAND  run a line of code
  -h, --help  show this help and exit
  -V          show the version that the program gets, and exit

Everything after SCRIPT, MODULE or COMMAND belongs to the program.

examples:
  python -m millrace.as_mindspore train.py --epochs 3
  python -m millrace.as_mindspore -c "import mindspore.dataset as ds; print(ds.GeneratorDataset)"
"""


def main(arguments: list[str]) -> None:
    """Run the program that the arguments name."""
    if not arguments:
        sys.stderr.write(USAGE)
        raise SystemExit(2)
    first, rest = arguments[0], arguments[1:]
    if first in ("-h", "--help"):
        sys.stdout.write(USAGE)
    elif first in ("-V", "--version"):
        sys.stdout.write(f"mindspore {VERSION}\n")
    elif first in ("-c", "-m") and not rest:
        _stop(f"argument expected for the {first} option")
    elif first == "-c":
        _run_command(rest[0], rest[1:])
    elif first == "-m":
        _run_module(rest[0], rest[1:])
    elif first.startswith("-") and first != "-":
        _stop(f"unknown option {first}")
    else:
        _run_script(first, rest)


def _stop(text: str) -> NoReturn:
    sys.stderr.write(f"millrace.as_mindspore: {text}\n{USAGE.splitlines()[0]}\n")
    raise SystemExit(2)


def _run_command(text: str, arguments: list[str]) -> None:
    _set_program("-c", arguments, "")
    _run(compile(text, "<string>", "exec"), {})


def _run_script(path: str, arguments: list[str]) -> None:
    importer = importlib.machinery.PathFinder.find_spec("__main__", [path])
    if importer is not None and importer.loader is not None:  # a folder or a zip file
        _set_program(path, arguments, path)
        _run_spec(importer)
        return
    full = os.path.abspath(path)
    try:
        with io.open_code(full) as file:
            text = file.read()
    except OSError as error:
        _stop(f"can't open file {path!r}: {error.strerror}")
    _set_program(path, arguments, os.path.dirname(os.path.realpath(path)))
    _run(compile(text, full, "exec"), {"__file__": full, "__cached__": None})


def _run_module(name: str, arguments: list[str]) -> None:
    _set_program("-m", arguments, os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.loader is None:
        _stop(f"no module named {name}")
    sys.argv[0] = spec.origin or name
    _run_spec(spec)


def _run_spec(spec: importlib.machinery.ModuleSpec) -> None:
    loader: Any = spec.loader
    code = loader.get_code(spec.name)
    if code is None:
        _stop(f"{spec.name} has no code to run")
    names = {
        "__file__": spec.origin,
        "__cached__": spec.cached,
        "__loader__": loader,
        "__package__": spec.parent,
    }
    # A folder's __main__ has no importable name: child processes of multiprocessing use its file.
    _run(code, names | {"__spec__": spec if spec.name != "__main__" else None})


def _set_program(program: str, arguments: list[str], folder: str) -> None:
    """Set sys.argv, the first entry of sys.path and the file name as python does."""
    sys.argv[:] = [program, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = folder
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_error


def _run(code: types.CodeType, names: dict[str, Any]) -> None:
    """Run code as the main module, which stays the main module to the end of the process."""
    module = types.ModuleType("__main__")
    vars(module).update({"__builtins__": sys.modules["builtins"]} | names)
    # keep the running module alive: its globals are cleared with it
    sys.modules["millrace.as_mindspore.__main__"] = sys.modules["__main__"]
    sys.modules["__main__"] = module
    exec(code, vars(module))


# The file that `python -m millrace.as_mindspore` runs.
_ENTRY = os.path.join(PACKAGE_ROOT, "as_mindspore", "__main__.py")


def _print_error(
    exception_type: type[BaseException], error: BaseException, trace: types.TracebackType | None
) -> None:
    """Print an error without the frames of this file, as if the program had been run directly."""
    outer = trace
    while outer is not None and outer.tb_frame.f_code.co_filename in (__file__, _ENTRY, "<frozen runpy>"):
        outer = outer.tb_next
    sys.__excepthook__(exception_type, error.with_traceback(outer), outer)
