"""The pages: RESULTS.md, DETAILS.md, the plots and the README's table, made from the results file alone.

python benchmarks/report.py                                   # write them again
python benchmarks/report.py --note docs/design/<note>.md      # fill the table of a dated design note
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILE = "scoreboard.json"
sys.path[:1] = [str(HERE.parent)]

from benchmarks import details_page, gpu_page, readme_page, results_page, scaling_page  # noqa: E402
from benchmarks.bars import Others, Results, judged, table  # noqa: E402
from benchmarks.marks import filled  # noqa: E402

__all__ = ["as_json", "fill_note", "others", "write"]

BEGIN, END = "<!-- results: filled by benchmarks/report.py --note -->", "<!-- end of results -->"
README = HERE.parent / "README.md"


def others(folder: Path) -> Others:
    """What was measured on other machines and is kept beside the results."""
    return Others(scaling_page.load(folder), gpu_page.load(folder))


def write(results: Results, folder: Path) -> list[Path]:
    """The pages and plots into the folder, and with the results of the repository its README; gives their paths."""
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    beside = others(folder)
    plots = details_page.plots(results, beside)
    for old in (folder / "plots").glob("*.svg"):
        if old.stem not in plots:
            old.unlink()
    made = {folder / "plots" / f"{name}.svg": drawn for name, drawn in plots.items()}
    made[folder / "RESULTS.md"] = results_page.page(results, beside)
    made[folder / "DETAILS.md"] = details_page.page(results, beside)
    if folder.resolve() == HERE:
        made[README] = readme_page.fill(README.read_text(), results, beside)
    for path, text in made.items():
        path.write_text(text)
    return list(made)


def as_json(results: Results) -> str:
    """The results as they are kept: a round to a line, five digits of each number."""
    short = json.loads(json.dumps(results), parse_float=lambda text: float(f"{float(text):.5g}"))
    text = json.dumps(short, indent=1)
    # a measurement is an object or a list without others in it
    return (
        re.sub(r"\{[^{}\[\]]*\}|\[[^{}\[\]]*\]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text)
        + "\n"
    )


def fill_note(text: str, results: Results) -> str:
    """The note with its table made anew from the results; everything outside the two marks stays."""
    inside = [*results_page.head(results, "../../benchmarks/"), "", *results_page.glance(results)]
    inside += [*table(judged(results, Others())), "", "Not first:", "", *results_page.not_first(results)]
    return filled(text, BEGIN, END, inside)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the page from the results file; measures nothing.")
    parser.add_argument("--out", type=Path, default=HERE, help=f"folder that holds {FILE}")
    parser.add_argument("--note", type=Path, help="fill the table of this design note instead")
    args = parser.parse_args()
    source = args.out / FILE
    if not source.exists():
        raise SystemExit(f"{source} is not there: run `make bench` first")
    results = json.loads(source.read_text())
    if args.note is not None:
        args.note.write_text(fill_note(args.note.read_text(), results))
        print(args.note)
        return
    for path in write(results, args.out):
        print(path)


if __name__ == "__main__":
    main()
