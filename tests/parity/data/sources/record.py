"""Records what MindSpore gives for every small data set. Run it with the oracle's Python:

python -m tests.parity.data.sources.record [case ...]

Each case runs in a process of its own, because MindSpore can hang or die on damaged files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

GOLDENS = Path(__file__).parent / "goldens"
ROOT = str(Path(__file__).parents[4])
SECONDS = 120


def plain(value: Any) -> dict[str, Any]:
    return {"dtype": "str" if value.dtype.kind in "US" else str(value.dtype), "value": value.tolist()}


def rows_of(data: Any) -> list[dict[str, Any]]:
    iterator = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    return [{name: plain(value) for name, value in row.items()} for row in iterator]


def attempt(make: Any) -> Any:
    try:
        return make()
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}


def observe(kind: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    def answers(**more: Any) -> Any:
        data = kind(**(arguments | {"shuffle": False} | more))
        return {"size": data.get_dataset_size(), "rows": rows_of(data)}

    found: dict[str, Any] = {"all": attempt(answers)}
    found["num_samples=3"] = attempt(lambda: answers(num_samples=3))
    for shard in range(3):
        found[f"shard {shard} of 3"] = attempt(lambda shard=shard: answers(num_shards=3, shard_id=shard))
    found["shard 1 of 2, num_samples=2"] = attempt(lambda: answers(num_shards=2, shard_id=1, num_samples=2))
    if kind.__name__ == "TFRecordDataset":
        for shard in range(3):
            found[f"equal shard {shard} of 3"] = attempt(
                lambda shard=shard: answers(num_shards=3, shard_id=shard, shard_equal_rows=True)
            )
    data = attempt(lambda: kind(**(arguments | {"shuffle": False})))
    if not isinstance(data, dict):
        found["columns"] = attempt(data.get_col_names)
        found["types"] = attempt(lambda: [str(kind) for kind in data.output_types()])
        found["shapes"] = attempt(data.output_shapes)
    return found


def one(name: str) -> None:
    import mindspore.dataset as ds

    from tests.parity.data.sources.folders import FOLDERS

    kind, write = FOLDERS[name]
    ds.config.set_seed(1)
    ds.config.set_num_parallel_workers(1)  # with more, MindSpore takes rows of several files in turn
    with tempfile.TemporaryDirectory() as folder:
        found = observe(getattr(ds, kind), write(Path(folder)))
        print("RESULT " + json.dumps(found).replace(folder, "<folder>"))


def main(names: list[str]) -> None:
    from tests.parity.data.sources.folders import FOLDERS

    GOLDENS.mkdir(exist_ok=True)
    for name in names or FOLDERS:
        command = [sys.executable, "-m", "tests.parity.data.sources.record", "--one", name]
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, cwd=ROOT, check=False
            )
            line = next((line for line in ran.stdout.splitlines() if line.startswith("RESULT ")), None)
            found = json.loads(line[7:]) if line else {"died": ran.returncode, "text": ran.stderr[-2000:]}
        except subprocess.TimeoutExpired:
            found = {"died": "timeout"}
        path = GOLDENS / (name.replace(": ", "-").replace(" ", "_") + ".json")
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        print(name, "died" if "died" in found else "recorded", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2])
    else:
        main(sys.argv[1:])
