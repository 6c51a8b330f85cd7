"""The floors of pyproject.toml are the ones that `make floors` tests, those of every extra."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text()
TESTED = set(re.search(r"^FLOOR_EXTRAS := (.+)$", MAKEFILE, re.M)[1].split(","))  # type: ignore[index]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _is(pinned: str, floor: str) -> bool:
    return _numbers(pinned)[: len(_numbers(floor))] == _numbers(floor)


def test_each_floor_is_the_one_that_is_tested() -> None:
    wanted = [*PROJECT["dependencies"], *(line for name in TESTED for line in EXTRAS[name]), *EXTRAS["train"]]
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "constraints-floors.txt").read_text(), re.M))
    for line in wanted:
        found = re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line)
        if found is None:  # an extra may name another
            assert line.startswith("millrace["), line
            continue
        name, floor = found.groups()
        assert _is(pinned[name], floor), f"{name}: {floor} here, {pinned[name]} tested"


def test_every_extra_is_tested() -> None:
    """The tools of this repository are not promised to anybody, and a GPU is not there.

    `serve` brings `train`, whose oldest PyTorch is tested; the older one that `torch` allows is not. Ray Serve wants
    later releases than `serve` does; the oldest Ray is tested without it.
    """
    assert set(EXTRAS) - TESTED == {"dev", "docs", "gpu", "rayserve", "torch", "train"}
    assert {line.replace("[serve]", "") for line in EXTRAS["rayserve"]} == {*EXTRAS["ray"], "millrace"}
    assert "millrace[train]" in EXTRAS["serve"]


# Where a library is imported under another name than it is installed by.
INSTALLED_AS = {"google": "protobuf", "grpc": "grpcio", "prometheus_client": "prometheus-client"}


def test_an_error_about_a_missing_library_names_an_extra_that_brings_it() -> None:
    asked = {
        (module.partition(".")[0], extra)
        for path in (ROOT / "src").rglob("*.py")
        for module, extra in re.findall(r'require\("([\w.]+)", extra="(\w+)"', path.read_text())
    }
    asked -= {("json", "none"), ("no_such_module", "crypto")}  # examples
    asked -= {("pynvml", "gpu")}  # nvidia-smi is asked where it is missing, and nobody hears of it
    brought = {extra: {re.split(r"[=><\[]", line)[0] for line in lines} for extra, lines in EXTRAS.items()}
    wrong = {
        (module, extra) for module, extra in asked if INSTALLED_AS.get(module, module) not in brought[extra]
    }
    assert len(asked) > 10
    assert not wrong
