"""The floors of pyproject.toml are the ones that `make floors` tests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def test_each_floor_is_the_one_that_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(line for name in ("parquet", "crypto", "audio", "text", "video", "s3") for line in extras[name]),
    ]
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "constraints-floors.txt").read_text(), re.M))
    for line in wanted:
        name, floor = re.match(r"([\w-]+)>=([\d.]+)", line).groups()  # type: ignore[union-attr]
        if name == "turbojpeg":
            continue  # there is one release
        size = len(_numbers(floor))
        assert _numbers(pinned[name])[:size] == _numbers(floor), (
            f"{name}: {floor} here, {pinned[name]} tested"
        )
