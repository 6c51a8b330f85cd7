"""Record what MindSpore 2.7.0 reads from the folders that folders.py and audio_folders.py write.

    python tests/parity/data/small_sources/record.py [part of a case's name ...]

Each class runs in a process of its own with a time limit, because the real one can hang.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.parity.data.small_sources import audio_folders, cases  # noqa: E402

GOLDENS = HERE / "goldens.json"


def name_of(case: tuple[str, Any, dict[str, Any]]) -> str:
    shown = [f"{k}={v}" for k, v in case[2].items() if "{root}" not in str(v) or k == "annotation_file"]
    return f"{case[0]}({', '.join(shown)})".replace("{root}/", "")


def all_cases() -> dict[str, tuple[str, Any, dict[str, Any]]]:
    return {name_of(case): case for case in [*cases.CASES, *audio_folders.CASES]}


def encode(value: Any) -> dict[str, Any]:
    array = np.asarray(value)
    kind = "str" if array.dtype.kind in "US" else array.dtype.name
    made: dict[str, Any] = {"type": kind, "shape": list(array.shape)}
    if array.size <= 64 and array.dtype.kind != "O":
        made["value"] = array.astype(str).tolist() if kind == "str" else array.tolist()
    else:
        made["hash"] = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:24]
    return made


def filled(root: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    return {k: v.replace("{root}", str(root)) if isinstance(v, str) else v for k, v in arguments.items()}


def read(kind: Any, maker: Any, arguments: dict[str, Any], root: Path) -> dict[str, Any]:
    maker(root)
    found: dict[str, Any] = {}
    try:
        data = kind(shuffle=False, **filled(root, arguments))
        found["size"] = data.get_dataset_size()
        found["columns"] = data.get_col_names()
        found["rows"] = [
            {name: encode(value) for name, value in row.items()}
            for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)
        ]
    except Exception as error:
        found["error"] = [type(error).__name__, str(error).replace(str(root), "{root}")[:300]]
    for question in ("num_classes", "get_class_indexing"):
        try:
            found[question] = getattr(kind(shuffle=False, **filled(root, arguments)), question)()
        except Exception as error:
            found[question] = {"error": [type(error).__name__, str(error).replace(str(root), "{root}")[:200]]}
    return found


def child(wanted: str) -> None:
    import mindspore.dataset as ds

    for name, case in all_cases().items():
        if case[0] == wanted:
            with tempfile.TemporaryDirectory() as folder:
                found = read(getattr(ds, case[0] + "Dataset"), case[1], case[2], Path(folder))
            print("GOLDEN" + json.dumps([name, found]), flush=True)


def main() -> None:
    goldens = json.loads(GOLDENS.read_text()) if GOLDENS.exists() else {}
    wanted = [c[0] for n, c in all_cases().items() if not sys.argv[1:] or any(p in n for p in sys.argv[1:])]
    for name in dict.fromkeys(wanted):
        command = [sys.executable, __file__, "--child", name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=90)
            out = done.stdout
        except subprocess.TimeoutExpired as late:
            out = (late.stdout or b"").decode()
            print(name, "hangs")
        for line in out.splitlines():
            if "GOLDEN" in line:
                case, found = json.loads(line.partition("GOLDEN")[2])
                goldens[case] = found
                print(case, found.get("size"), found.get("columns"), found.get("error", ""))
        goldens = {case: goldens[case] for case in all_cases() if case in goldens}
        GOLDENS.write_text(
            json.dumps(goldens, indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n"
        )


if __name__ == "__main__":
    child(sys.argv[2]) if sys.argv[1:2] == ["--child"] else main()
