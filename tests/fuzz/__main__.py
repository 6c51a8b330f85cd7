"""``python -m tests.fuzz --minutes 10``: every target in turn, with new random numbers unless --seed is given."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from . import data_targets
from .driver import Crash, limit_memory, replay, run, summary
from .known import KNOWN
from .target import Target


def every_target(group: str = "all") -> list[Target]:
    """The targets of a group: data, models or all."""
    found = data_targets.targets() if group in ("data", "all") else []
    if group in ("models", "all"):
        from . import model_targets  # it loads PyTorch

        found += model_targets.targets()
    return found


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, help="time for all targets together")
    parser.add_argument("--count", type=int, help="inputs for each target, instead of --minutes")
    parser.add_argument(
        "--sources", type=int, help="inputs for each source of files, where it is not --count"
    )
    parser.add_argument("--group", default="all", choices=("all", "data", "models"))
    parser.add_argument("--target", action="append", help="only these targets; repeat it for several")
    parser.add_argument("--seed", type=int, help="the random sequence; the time of day by default")
    parser.add_argument("--keep", type=Path, help="a folder for inputs that crash")
    given = parser.parse_args(words)
    chosen = [one for one in every_target(given.group) if not given.target or one.name in given.target]
    if not chosen:
        parser.error(f"there is no target {given.target}")
    number = int(time.time()) if given.seed is None else given.seed
    seconds = None if given.count is not None else (given.minutes or 1.0) * 60 / len(chosen)
    limit_memory()
    failed = False
    for target in chosen:
        few = given.sources is not None and target.name.startswith("source_")
        count = given.sources if few else given.count
        crashes = [*replay(target), *run(target, number, count, seconds)]
        for crash in summary(crashes).values():
            known = KNOWN.get(target.name)
            failed = failed or known is None
            _report(crash, number, known, given.keep)
    return 1 if failed else 0


def _report(crash: Crash, number: int, known: str | None, keep: Path | None) -> None:
    line = {"target": crash.target, "error": crash.error, "seed": number, "input": crash.data[:4096].hex()}
    print(json.dumps(line | ({"known": known} if known else {})), flush=True)
    if keep is not None:
        file = keep / crash.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(crash.data)


if __name__ == "__main__":
    sys.exit(main())
