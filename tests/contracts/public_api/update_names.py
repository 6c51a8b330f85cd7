"""Write the lists that pin the public surface: `python -m tests.contracts.public_api.update_names`, from the root.

not_yet.json may only shrink. `--allow-growth` is for the one case where it must grow: MindSpore's list
itself changed. Methods that a class still lacks on the day it arrives are not growth: the class's own
line goes in their place.
"""

import argparse
import json
import sys

from tests.support import public_surface as surface


def write(name, value):
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    path = surface.DATA / name
    changed = not path.exists() or path.read_text() != text
    path.write_text(text)
    print(f"{'wrote' if changed else 'same '} {path.relative_to(surface.DATA.parents[1])}")


def grown(missing, listed):
    """Return names that are missing now and were not: lost, unless their class has only just arrived."""
    found = []
    for module, names in missing.items():
        before = set(listed.get(module, ()))
        found += [f"{module}.{n}" for n in names if n not in before and n.partition(".")[0] not in before]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--allow-growth", action="store_true", help="let not_yet.json grow")
    options = parser.parse_args()

    missing = surface.missing_names()
    if (surface.DATA / "not_yet.json").exists() and not options.allow_growth:
        lost = grown(missing, surface.load("not_yet.json"))
        if lost:
            sys.exit("not_yet.json may only shrink, and these are gone:\n  " + "\n  ".join(lost))
    write("not_yet.json", missing)
    write("public_names.json", surface.public_names())
    write("extra_parameters.json", surface.extra_parameters())


if __name__ == "__main__":
    main()
