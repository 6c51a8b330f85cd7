"""Build wheel and sdist, install each in a bare environment, run a pipeline there and check a user's types.

    python tests/e2e/packaging/smoke.py [--keep FOLDER]

What `make smoke` runs, and with it `make nightly`. Needs Python and a package index, nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
import json, sys
import numpy as np
import millrace, millrace.dataset as ds
from millrace.mindrecord import FileWriter

assert "site-packages" in millrace.__file__, millrace.__file__
assert "torch" not in sys.modules
writer = FileWriter("x.mindrecord")
writer.add_schema({"n": {"type": "int32"}, "v": {"type": "float32", "shape": [-1]}})
writer.write_raw_data([{"n": n, "v": np.arange(n % 3, dtype=np.float32)} for n in range(20)])
writer.commit()

def double(n):
    return n * 2

data = ds.MindDataset("x.mindrecord", columns_list=["n"], shuffle=True)
data = data.map(double, "n", python_multiprocessing=True, num_parallel_workers=2).batch(5)
found = sorted(int(n) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True) for n in row["n"])
assert found == [2 * n for n in range(20)], found
try:
    from millrace import nn
    nn.Dense(1, 1)
except ImportError as error:
    assert "which is not installed: pip install" in str(error), error
else:
    raise AssertionError("PyTorch is not installed here")
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=900
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def bare(folder: Path, *packages: str | Path) -> Path:
    """The Python of a fresh environment with these packages."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    if packages:
        run(python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *packages)
    return python


def built(folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist of the working tree."""
    python = bare(folder / "build", "hatchling")
    run(python, "-m", "hatchling", "build", "-d", folder / "dist", cwd=ROOT)
    (wheel,), (sdist,) = (list((folder / "dist").glob(ending)) for ending in ("*.whl", "*.tar.gz"))
    return wheel, sdist


def tried(python: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    run(python, "program.py", cwd=folder)
    assert "millrace" in run(python.parent / "millrace", "version", cwd=folder)
    run(python.parent / "millrace", "--help", cwd=folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it")
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory() as temporary:
        folder = (keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        wheel, sdist = built(folder)
        print(
            f"built {wheel.name} ({wheel.stat().st_size >> 10} KiB), {sdist.name} ({sdist.stat().st_size >> 10} KiB)"
        )
        for kind, package in (("wheel", wheel), ("sdist", sdist)):
            began = time.monotonic()
            python = bare(folder / kind, package)
            tried(python, folder / f"try-{kind}")
            print(f"{kind}: installed and tried in {time.monotonic() - began:.0f} s")
        python = folder / "wheel" / "bin" / "python"
        run(python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "mypy>=1.13")
        user = folder / "user.py"
        user.write_text((ROOT / "tests" / "typed" / "user.py").read_text())
        run(python, "-m", "mypy", "--strict", "--cache-dir", folder / "mypy", user, cwd=folder)
        print("types: a user's module is checked against the installed package")


if __name__ == "__main__":
    sys.exit(main())
