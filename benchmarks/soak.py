"""A soak: a day of opening, killing, damaging, restarting, resuming and serving, and what is held after it.

python benchmarks/soak.py --page docs/design/soak.md          # one day: benchmarks/soak.json and the page
python benchmarks/soak.py --minutes 30 --page docs/design/soak.md
python benchmarks/soak.py --turns 20 --only ask_the_server    # does the server leak?

A day is a deck of turns (`benchmarks/soaking`), dealt in a random order; when it is used up it is shuffled again. Each
turn does something, checks what came of it, and lets everything go. After a turn this process, the model server and the
cache server are measured: memory, threads, descriptors, shared memory, child processes, temporary files. Then the
server is attacked and loaded anew under load. The exit code is 1 where a turn failed, where anything that is counted
is higher at the end than after the warm-up, or where memory has grown by more than ``--grown`` MB.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:1] = [str(HERE.parent)]

from benchmarks import machine  # noqa: E402
from benchmarks.soaking import Family, Place  # noqa: E402
from benchmarks.soaking.deck import DAY, FAMILIES  # noqa: E402
from benchmarks.soaking.held import Watch, compared, objects_by_type  # noqa: E402
from benchmarks.soaking.page import page  # noqa: E402
from benchmarks.soaking.serving import Serving  # noqa: E402
from millrace import log  # noqa: E402
from tests.support.leaks import MARK  # noqa: E402


class Soak:
    """The families, each set up when the first of its turns comes."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.families: dict[type[Family], Family] = {}

    def turn(self, name: str) -> None:
        kind = next(family for family in FAMILIES if name in family.DAY)
        if kind not in self.families:
            self.families[kind] = kind(self.place)
        getattr(self.families[kind], name)()

    def processes(self) -> dict[str, int]:
        """Processes of ours that are measured, by name."""
        return {name: pid for each in self.families.values() for name, pid in each.processes().items()}

    def close(self) -> list[str]:
        """End everything; what went wrong with that."""
        failed = []
        for each in reversed(self.families.values()):
            try:
                each.close()
            except Exception:
                failed.append(f"the end of {type(each).__name__}: {traceback.format_exc(limit=3)}")
        return failed


class Run:
    """One run of the script."""

    def __init__(self, args: argparse.Namespace, place: Place, temporary: Path) -> None:
        self.args, self.place, self.soak = args, place, Soak(place)
        self.watch = Watch(temporary)
        self.samples: list[dict[str, Any]] = []
        self.turns: Counter[str] = Counter()
        self.failures: list[str] = []
        self.began = 0.0

    def all(self) -> dict[str, Any]:
        """The warm-up, the turns, the attacks; what was found."""
        names = self.args.only or list(DAY)
        found: dict[str, Any] = {"machine": machine.describe(), "date": time.strftime("%Y-%m-%d")}
        found |= {"started": time.strftime("%H:%M"), "grown": self.args.grown, "options": self._options()}
        try:
            for name in names:  # what is loaded once is loaded
                self.soak.turn(name)
            self.place.did.clear()
            self.began, before = time.monotonic(), objects_by_type()
            self._deal(names)
            found["minutes"] = round((time.monotonic() - self.began) / 60, 1)
            found["load_after"] = round(os.getloadavg()[0], 2)
            last = self._settled()
            found["held"] = compared(self.samples, last, self.args.grown)
            found["grew"] = dict((objects_by_type() - before).most_common(8))
            self._serving(found)
        finally:
            self.failures += self.soak.close()
        found["left"] = self.watch.left(90)
        flat = all(each["flat"] for things in found["held"].values() for each in things.values())
        return found | {
            "turns": {name: self.turns[name] for name in names},
            "did": dict(self.place.did),
            "failures": self.failures,
            "flat": flat and not found["left"],
            "samples": self.samples[:: max(1, len(self.samples) // 200)],
        }

    def _options(self) -> str:
        """How this run was asked for, as far as it matters."""
        args = self.args
        said = [f" --minutes {args.minutes:g}"] if args.minutes else []
        said += [f" --turns {args.turns}"] if args.turns else []
        said += [f" --only {' '.join(args.only)}"] if args.only else []
        return "".join(said)

    def _deal(self, names: list[str]) -> None:
        day = [name for name in names for _ in range(DAY[name])]
        deck: list[str] = []
        most = self.args.turns or (10**9 if self.args.minutes else len(day))
        while self.turns.total() < most and not self._late():
            if not deck:
                deck = day.copy()
                self.place.draw.shuffle(deck)
            name = deck.pop()
            try:
                self.soak.turn(name)
            except Exception:
                self.failures.append(f"{name}: {traceback.format_exc(limit=3)}")
            self.turns[name] += 1
            seconds = round(time.monotonic() - self.began, 1)
            self.samples.append({"seconds": seconds, "turn": name, **self.watch.take(self.soak.processes())})

    def _late(self) -> bool:
        return bool(self.args.minutes) and time.monotonic() - self.began > self.args.minutes * 60

    def _settled(self) -> dict[str, Any]:
        """What is held when nothing has happened for a while: libraries keep connections for half a minute."""
        deadline = time.monotonic() + 90
        while True:
            last = self.watch.take(self.soak.processes())
            table = compared(self.samples, last, self.args.grown)
            flat = all(each["flat"] for things in table.values() for each in things.values())
            if flat or time.monotonic() > deadline:
                return last
            time.sleep(0.5)

    def _serving(self, found: dict[str, Any]) -> None:
        served = self.soak.families.get(Serving)
        if not isinstance(served, Serving):
            return
        for name, count in (("hostile", self.args.hostile), ("reloads", self.args.reloads)):
            try:
                found[name] = getattr(served, name)(count, self.args.grown)
            except Exception:
                self.failures.append(f"{name}: {traceback.format_exc(limit=3)}")
                continue
            self.failures += [f"{name}: {words}" for words in found[name]["failed"]]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--minutes", type=float, default=0.0, help="end after so long, in place of one day's turns"
    )
    parser.add_argument("--turns", type=int, default=0, help="end after so many turns")
    parser.add_argument("--only", nargs="+", choices=list(DAY), metavar="TURN", help="only these turns")
    parser.add_argument(
        "--small", action="store_true", help="turns with fewer pipelines and requests: does it run?"
    )
    parser.add_argument(
        "--hostile", type=int, default=10_000, help="hostile requests to the server, at the end"
    )
    parser.add_argument(
        "--reloads", type=int, default=20, help="reloads of the server under load, at the end"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--grown", type=float, default=25.0, help="MB that memory may have grown by after the warm-up"
    )
    parser.add_argument("--out", type=Path, default=HERE / "soak.json")
    parser.add_argument("--page", type=Path, help="write the page of the documentation there")
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    log.set_level("error")  # a pipeline that is never read is no news here
    os.environ[MARK] = str(os.getpid())  # a process that outlives who started it is still known as ours
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        work, temporary = Path(folder, "work"), Path(folder, "tmp")
        work.mkdir()
        temporary.mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        results = Run(args, Place(work, args.seed, args.small), temporary).all()
        tempfile.tempdir = None
    args.out.write_text(json.dumps(results, indent=1) + "\n")
    if args.page:
        args.page.write_text(page(results))
    print(json.dumps({name: value for name, value in results.items() if name != "samples"}, indent=1))
    return 0 if results["flat"] and not results["failures"] else 1


if __name__ == "__main__":
    sys.exit(main())
